import type { KeyRing } from "./key-ring.ts";
import type { Settings } from "../settings/env.ts";
import { release, type ValuePart } from "../core/parts.ts";
import { isRecent } from "../core/recent.ts";
import { retry } from "../core/retry.ts";
import type { Key } from "./key-ring.ts";

interface KeyRingEnv {
  KEY_RING?: DurableObjectNamespace<KeyRing>;
}

/** The sealer of a Worker with these bindings; undefined without KEY_RING. */
export function sealerOf(
  { STATE_KEY: secret }: Settings,
  { KEY_RING: rings }: KeyRingEnv,
): Sealer | undefined {
  if (rings === undefined) return undefined;
  // Lazy: Durable Objects cannot be reached while the Worker starts.
  const ring = () => rings.getByName("ring");
  const own = secret && { id: SECRET, bytes: new Uint8Array(Uint8Array.fromHex(secret)) };
  return new Sealer({
    current: () => own || retry(async () => ring().current()),
    lasting: () => (own ? own.bytes : retry(async () => ring().lasting())),
    byId: (id) => (own && id === SECRET ? own : retry(async () => ring().byId(id))),
  });
}

/** Key number of STATE_KEY; the key ring numbers its keys from 1. */
const SECRET = 0;

interface Keys {
  current(): Promise<Key> | Key;
  byId(id: number): Promise<Key | undefined> | Key | undefined;
  lasting(): Promise<Uint8Array<ArrayBuffer>> | Uint8Array<ArrayBuffer>;
}

interface Opener {
  id: number;
  key: CryptoKey;
}

const IV = 12;

/** Bytes of key number and nonce at the beginning of sealed data; no two sealed values share them. */
export const SEALED_HEAD = 4 + IV;

/** Seals with AES-256-GCM under the key ring's keys: key number, nonce, ciphertext. Keys are cached in the isolate. */
export class Sealer {
  readonly #keys: Keys;
  #current: (Opener & { at: number }) | undefined;
  readonly #known = new Map<number, Opener>();
  #lasting: Uint8Array<ArrayBuffer> | undefined;

  constructor(keys: Keys) {
    this.#keys = keys;
  }

  /** A `place` is authenticated with the data: to open it, the same must be given. */
  async seal(bytes: Uint8Array, place?: string): Promise<Uint8Array<ArrayBuffer>> {
    if (this.#current === undefined || !isRecent(this.#current.at, HOUR)) {
      const at = Date.now();
      const { id, bytes: key } = await this.#keys.current();
      this.#current = { ...(await this.#remember({ id, bytes: key })), at };
    }
    const { id, key } = this.#current;
    const iv = crypto.getRandomValues(new Uint8Array(IV));
    const sealed = new Uint8Array(await crypto.subtle.encrypt(cipher(iv, place), key, bytes));
    const whole = new Uint8Array(SEALED_HEAD + sealed.length);
    new DataView(whole.buffer).setUint32(0, id);
    whole.set(iv, 4);
    whole.set(sealed, SEALED_HEAD);
    release(sealed);
    return whole;
  }

  /** Undefined for data that was not sealed here, was altered, or whose key has expired. */
  async open(
    sealed: Uint8Array<ArrayBuffer>,
    place?: string,
  ): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (sealed.length <= SEALED_HEAD) return undefined;
    const id = new DataView(sealed.buffer, sealed.byteOffset).getUint32(0);
    let opener = this.#known.get(id);
    if (opener === undefined) {
      const found = await this.#keys.byId(id);
      if (found === undefined) return undefined;
      opener = await this.#remember(found);
    }
    try {
      const iv = sealed.subarray(4, SEALED_HEAD);
      const body = sealed.subarray(SEALED_HEAD);
      return new Uint8Array(await crypto.subtle.decrypt(cipher(iv, place), opener.key, body));
    } catch {
      return undefined;
    }
  }

  /** Seals a value for a URL, a form or a cookie: JSON, in base64url. */
  async sealText(value: unknown, place: string): Promise<string> {
    return textOf(await this.seal(encoder.encode(JSON.stringify(value)), place));
  }

  /** The value that `sealText` sealed for this place; undefined as for `open`, and for invalid base64url. */
  async openText(sealed: string, place: string): Promise<unknown> {
    let bytes: Uint8Array<ArrayBuffer>;
    try {
      bytes = Uint8Array.fromBase64(sealed, { alphabet: "base64url" });
    } catch {
      return undefined;
    }
    // With other trailing bits, spaces or padding, one value would have many texts.
    if (textOf(bytes) !== sealed) return undefined;
    const opened = await this.open(bytes, place);
    return opened && (JSON.parse(new TextDecoder().decode(opened)) as unknown);
  }

  /** The key of one scope for data that does not expire: HMAC-SHA-256 of its name under the lasting key. */
  async scopeKey(scope: string): Promise<Uint8Array> {
    const lasting = (this.#lasting ??= await this.#keys.lasting());
    const key = await crypto.subtle.importKey(
      "raw",
      lasting,
      { name: "HMAC", hash: "SHA-256" },
      false,
      ["sign"],
    );
    return new Uint8Array(
      await crypto.subtle.sign("HMAC", key, encoder.encode(`state of ${scope}`)),
    );
  }

  /** A sealer for data of one scope that does not expire. */
  lasting(scope: string): Sealer {
    const key = async () => ({ id: 1, bytes: new Uint8Array(await this.scopeKey(scope)) });
    return new Sealer({ current: key, byId: key, lasting: async () => (await key()).bytes });
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

const textOf = (sealed: Uint8Array): string =>
  sealed.toBase64({ alphabet: "base64url", omitPadding: true });

const encoder = new TextEncoder();

const cipher = (iv: Uint8Array<ArrayBuffer>, place: string | undefined) => ({
  name: "AES-GCM",
  iv,
  ...(place !== undefined && { additionalData: encoder.encode(place) }),
});

/** The position of a part in a sealed value. */
export interface PartPosition {
  nth: number;
  isLast: boolean;
}

/**
 * Seals a part of a value with its position, so that missing or swapped parts are detected. A value of one part is
 * sealed without it.
 */
export const sealPart = (sealer: Sealer, part: Uint8Array, place: PartPosition) =>
  sealer.seal(part, placeText(place));

/** Seals all parts of a value, as `partsOf` makes them. */
export async function sealParts(
  sealer: Sealer,
  parts: Iterable<ValuePart>,
): Promise<Uint8Array<ArrayBuffer>[]> {
  const sealed: Uint8Array<ArrayBuffer>[] = [];
  for (const { bytes, isLast } of parts) {
    sealed.push(await sealPart(sealer, bytes, { nth: sealed.length, isLast }));
  }
  return sealed;
}

/** Opens all parts of a value, and releases their buffers. Throws `Unreadable`. */
export async function* openParts(
  sealer: Sealer,
  sealed: Iterable<Uint8Array<ArrayBuffer>> | AsyncIterable<Uint8Array<ArrayBuffer>>,
  count: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let nth = 0;
  for await (const part of sealed) {
    const opened = await sealer.open(part, placeText({ nth, isLast: nth === count - 1 }));
    release(part);
    if (opened === undefined) throw new Unreadable();
    yield opened;
    nth++;
  }
}

const placeText = ({ nth, isLast }: PartPosition): string | undefined =>
  nth === 0 && isLast ? undefined : `${isLast ? "last " : ""}part ${nth}`;

/** Thrown for stored data that can never be opened again: the key that sealed it is gone. */
export class Unreadable extends Error {
  override name = "Unreadable";
  constructor() {
    super("Stored data can no longer be opened: the key that sealed it is gone.");
  }
}

const HOUR = 3_600_000;
