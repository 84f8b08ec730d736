import { namespaceOf, readSettings } from "../env.ts";
import { limits } from "../limits.ts";
import type { Sealing, Vault } from "../mcp/exchange.ts";
import { again } from "./again.ts";
import type { Key, KeyRing } from "./key-ring.ts";
import type { States } from "./states.ts";

/** The vault of a Worker with these bindings; undefined where it has not got them. */
export function vaultOf(env: object): Vault | undefined {
  const sealer = sealerOf(env);
  const states = namespaceOf<States>(env, "STATES");
  return sealer && states && new StateVault(sealer, states);
}

/** What seals for a Worker with these bindings; undefined where it has no key ring. */
export function sealerOf(env: object): Sealer | undefined {
  const rings = namespaceOf<KeyRing>(env, "KEY_RING");
  if (rings === undefined) return undefined;
  // Not before it is needed: while the Worker starts, nothing can be reached.
  const ring = () => rings.getByName("ring");
  const { STATE_KEY: secret } = readSettings(env);
  const own = secret && { id: SECRET, bytes: new Uint8Array(Uint8Array.fromHex(secret)) };
  return new Sealer({
    current: () => own || again(async () => ring().current()),
    byId: (id) => (own && id === SECRET ? own : again(async () => ring().byId(id))),
  });
}

/** The number of the key that the Worker's secret is; the ring's own begin with 1. */
const SECRET = 0;

interface Keys {
  current(): Promise<Key> | Key;
  byId(id: number): Promise<Key | undefined> | Key | undefined;
}

interface Opener {
  id: number;
  key: CryptoKey;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const IV = 12;
const HEAD = 4 + IV;

/** What a sealed text begins with: it is all there, or an object's id stands for it. */
const HERE = 0;
const STORED = 1;
const STORED_ONCE = 2;

/**
 * Seals with AES-256-GCM under the key ring's keys: key number, nonce, ciphertext. Keys are kept in the
 * isolate.
 */
export class Sealer {
  readonly #keys: Keys;
  #current: (Opener & { until: number }) | undefined;
  readonly #known = new Map<number, Opener>();

  constructor(keys: Keys) {
    this.#keys = keys;
  }

  async seal(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
    if (this.#current === undefined || this.#current.until < Date.now()) {
      const { id, bytes: key } = await this.#keys.current();
      this.#current = { ...(await this.#remember({ id, bytes: key })), until: Date.now() + HOUR };
    }
    const { id, key } = this.#current;
    const iv = crypto.getRandomValues(new Uint8Array(IV));
    const sealed = new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv }, key, bytes));
    const whole = new Uint8Array(HEAD + sealed.length);
    new DataView(whole.buffer).setUint32(0, id);
    whole.set(iv, 4);
    whole.set(sealed, HEAD);
    return whole;
  }

  /** Undefined for what was not sealed here, was altered, or is too old. */
  async open(sealed: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (sealed.length <= HEAD) return undefined;
    const id = new DataView(sealed.buffer, sealed.byteOffset).getUint32(0);
    let opener = this.#known.get(id);
    if (opener === undefined) {
      const found = await this.#keys.byId(id);
      if (found === undefined) return undefined;
      opener = await this.#remember(found);
    }
    try {
      const iv = sealed.subarray(4, HEAD);
      const body = sealed.subarray(HEAD);
      return new Uint8Array(await crypto.subtle.decrypt({ name: "AES-GCM", iv }, opener.key, body));
    } catch {
      return undefined;
    }
  }

  async #remember({ id, bytes }: Key): Promise<Opener> {
    const key = await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, [
      "encrypt",
      "decrypt",
    ]);
    this.#known.set(id, { id, key });
    return { id, key };
  }
}

const HOUR = 3_600_000;

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

  async spend(sealed: string): Promise<boolean> {
    const opened = await this.#opened(sealed);
    return opened?.[0] === STORED_ONCE && (await this.#stored(opened).spend());
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
