import { PART } from "../core/parts.ts";
import { textBytes } from "../core/shape.ts";

/** Counts the stored bytes of one object: calls `count` for each further MiB. */
export class StoredBytes {
  readonly #count: () => Promise<void>;
  #bytes: number;

  /** `known` has already been counted. */
  constructor(count: () => Promise<void>, known: unknown) {
    this.#count = count;
    this.#bytes = textBytes(known);
  }

  /** Throws as `count` does; nothing more may be stored then. */
  async add(value: unknown): Promise<void> {
    const more = textBytes(value);
    for (let full = PART - (this.#bytes % PART); full <= more; full += PART) await this.#count();
    this.#bytes += more;
  }
}
