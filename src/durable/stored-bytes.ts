import { PART } from "../parts.ts";
import { textBytes } from "../shape.ts";

/** Counts the bytes that are stored for one thing: calls `keep` for each further MiB. */
export class StoredBytes {
  readonly #keep: () => Promise<void>;
  #bytes: number;

  /** `known` is counted already. */
  constructor(keep: () => Promise<void>, known: unknown) {
    this.#keep = keep;
    this.#bytes = textBytes(known);
  }

  /** Throws what `keep` throws; nothing more may be stored then. */
  async add(value: unknown): Promise<void> {
    const more = textBytes(value);
    for (let full = PART - (this.#bytes % PART); full <= more; full += PART) await this.#keep();
    this.#bytes += more;
  }
}
