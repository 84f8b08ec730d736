import { limits } from "./limits.ts";
import type { CallerQuota } from "../../kernel/core/model.ts";
import { partsOf, release, valuesIn } from "../../kernel/core/parts.ts";
import { StoredResumption, type Resumed } from "./resumption.ts";
import type { States } from "./states.ts";
import { openParts, sealPart, Unreadable, type Sealer } from "../../kernel/storage/vault.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** First byte of a sealed text: followed by the content, or by the id of the `States` object that has it. */
const HERE = 0;
const STORED = 1;
const STORED_ONCE = 2;

/** Options of `StateVault.seal`. */
interface Sealing extends Pick<CallerQuota, "countStored"> {
  /** Unix time in ms. */
  until: number;
  /** True if the state is single use: it may be resumed with one set of answers only. */
  once: boolean;
}

/**
 * Seals states that clients carry, so that only this deployment can read them: small ones into a string, others
 * into an object whose id is sealed.
 */
export class StateVault {
  readonly #sealer: Sealer;
  readonly #states: DurableObjectNamespace<States>;

  constructor(sealer: Sealer, states: DurableObjectNamespace<States>) {
    this.#sealer = sealer;
    this.#states = states;
  }

  /** Seals JSON values. */
  async seal(values: readonly unknown[], { until, once, countStored }: Sealing): Promise<string> {
    const id = this.#states.newUniqueId();
    let nth = 0;
    for (const { bytes, isLast } of partsOf(values)) {
      if (nth === 0) {
        const small = isLast && !once ? await this.#carried(bytes) : undefined;
        if (small !== undefined) return small;
      }
      await countStored();
      const sealed = await sealPart(this.#sealer, bytes, { nth, isLast });
      await this.#states.get(id).put(nth, sealed, until);
      release(sealed);
      nth++;
    }
    const pointer = marked(once ? STORED_ONCE : STORED, encoder.encode(id.toString()));
    return write(await this.#sealer.seal(pointer));
  }

  /** The sealed text with its content; undefined if it is too large for a client to carry. */
  async #carried(bytes: Uint8Array<ArrayBuffer>): Promise<string | undefined> {
    const packed = await through(bytes, new CompressionStream("deflate-raw"));
    if (packed.length > limits.carriedStateBytes) return undefined;
    return write(await this.#sealer.seal(marked(HERE, packed)));
  }

  /** The sealed values; undefined if the text was not sealed here, was altered or has expired. */
  async open(sealed: string): Promise<unknown[] | undefined> {
    const opened = await this.#opened(sealed);
    if (opened === undefined) return undefined;
    if (opened[0] === HERE) return valuesIn(unpacked(opened));
    const object = this.#stored(opened);
    const places = await object.places();
    if (places.length === 0) return undefined;
    async function* parts() {
      for (const place of places) yield new Uint8Array(await object.read(place));
    }
    try {
      return await valuesIn(openParts(this.#sealer, parts(), places.length));
    } catch (error) {
      if (error instanceof Unreadable) return undefined;
      throw error;
    }
  }

  resumption(sealed: string, by: Resumed): StoredResumption {
    return new StoredResumption(by, async () => {
      const opened = await this.#opened(sealed);
      if (opened?.[0] === STORED_ONCE) return this.#stored(opened);
      return this.#states.getByName(await by.name());
    });
  }

  async #opened(sealed: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const bytes = read(sealed);
    return bytes && this.#sealer.open(bytes);
  }

  /** The object that a pointer names. */
  #stored(pointer: Uint8Array) {
    return this.#states.get(this.#states.idFromString(decoder.decode(pointer.subarray(1))));
  }
}

async function* unpacked(bytes: Uint8Array<ArrayBuffer>) {
  yield await through(bytes.subarray(1), new DecompressionStream("deflate-raw"));
}

function marked(mark: number, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(1 + bytes.length);
  whole[0] = mark;
  whole.set(bytes, 1);
  return whole;
}

async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: CompressionStream | DecompressionStream,
): Promise<Uint8Array<ArrayBuffer>> {
  const passed = new Response(new Blob([bytes]).stream().pipeThrough(stream));
  return new Uint8Array(await passed.arrayBuffer());
}

const write = (bytes: Uint8Array): string =>
  bytes.toBase64({ alphabet: "base64url", omitPadding: true });

function read(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return new Uint8Array(Uint8Array.fromBase64(text, { alphabet: "base64url" }));
  } catch {
    return undefined;
  }
}
