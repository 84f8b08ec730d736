import { namespaceOf } from "../env.ts";
import { limits } from "../limits.ts";
import type { Resumed, Resumption, Sealing, Vault } from "../mcp/exchange.ts";
import { StoredResumption } from "./resumption.ts";
import type { States } from "./states.ts";
import { sealerOf, type Sealer } from "./vault.ts";

/** The vault of a Worker with these bindings; undefined where it has not got them. */
export function vaultOf(env: object): Vault | undefined {
  const sealer = sealerOf(env);
  const states = namespaceOf<States>(env, "STATES");
  return sealer && states && new StateVault(sealer, states);
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What a sealed text begins with: it is all there, or an object's id stands for it. */
const HERE = 0;
const STORED = 1;
const STORED_ONCE = 2;

/** States that clients carry: sealed into a string while they are small, else kept in an object of their own. */
class StateVault implements Vault {
  readonly #sealer: Sealer;
  readonly #states: DurableObjectNamespace<States>;

  constructor(sealer: Sealer, states: DurableObjectNamespace<States>) {
    this.#sealer = sealer;
    this.#states = states;
  }

  async seal(text: string, { until, once, keep }: Sealing): Promise<string> {
    const packed = await through(
      new Uint8Array(encoder.encode(text)),
      new CompressionStream("deflate-raw"),
    );
    const content = await this.#sealer.seal(marked(HERE, packed));
    if (!once && content.length <= limits.carriedStateBytes) return write(content);
    await keep();
    const id = this.#states.newUniqueId();
    await this.#states.get(id).put(content, until);
    const pointer = marked(once ? STORED_ONCE : STORED, encoder.encode(id.toString()));
    return write(await this.#sealer.seal(pointer));
  }

  async open(sealed: string): Promise<string | undefined> {
    const opened = await this.#opened(sealed);
    if (opened === undefined) return undefined;
    if (opened[0] === HERE) return unpacked(opened);
    const stored = await this.#stored(opened).read();
    const content = stored && (await this.#sealer.open(new Uint8Array(stored)));
    return content && unpacked(content);
  }

  resumption(sealed: string, by: Resumed): Resumption {
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

  /** The object that this is the pointer to. */
  #stored(pointer: Uint8Array) {
    return this.#states.get(this.#states.idFromString(decoder.decode(pointer.subarray(1))));
  }
}

const unpacked = async (bytes: Uint8Array<ArrayBuffer>): Promise<string> =>
  decoder.decode(await through(bytes.subarray(1), new DecompressionStream("deflate-raw")));

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
