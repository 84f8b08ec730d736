/** `node:crypto`, as far as servlets support it: hashes, HMAC, random values and comparison, all synchronous. */
import { Buffer } from "node:buffer";
import { hmac } from "@noble/hashes/hmac.js";
import { md5, ripemd160, sha1 } from "@noble/hashes/legacy.js";
import { sha224, sha256, sha384, sha512 } from "@noble/hashes/sha2.js";
import { sha3_256, sha3_512 } from "@noble/hashes/sha3.js";

const HASHES = {
  md5,
  ripemd160,
  sha1,
  sha224,
  sha256,
  sha384,
  sha512,
  "sha3-256": sha3_256,
  "sha3-512": sha3_512,
};

type Data = string | Uint8Array | ArrayBuffer | DataView;

const bytesOf = (data: Data, encoding?: string): Uint8Array =>
  typeof data === "string"
    ? Buffer.from(data, encoding)
    : ArrayBuffer.isView(data)
      ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
      : new Uint8Array(data);

function hashOf(name: string) {
  const found = HASHES[name.toLowerCase().replace("sha-", "sha") as keyof typeof HASHES];
  if (found !== undefined) return found;
  throw new Error(
    `A servlet has no hash "${name}": take one of ${Object.keys(HASHES).join(", ")}.`,
  );
}

/** An incremental hash or HMAC. */
class Digest {
  readonly #of: { update(data: Uint8Array): unknown; digest(): Uint8Array };

  constructor(of: { update(data: Uint8Array): unknown; digest(): Uint8Array }) {
    this.#of = of;
  }
  update(data: Data, encoding?: string): this {
    this.#of.update(bytesOf(data, encoding));
    return this;
  }
  digest(encoding?: string): unknown {
    const bytes = Buffer.from(this.#of.digest());
    return encoding === undefined ? bytes : bytes.toString(encoding);
  }
}

export const createHash = (name: string): Digest => new Digest(hashOf(name).create());
export const createHmac = (name: string, key: Data): Digest =>
  new Digest(hmac.create(hashOf(name), bytesOf(key)));
export const hash = (name: string, data: Data, encoding = "hex"): unknown =>
  createHash(name).update(data).digest(encoding);
export const getHashes = (): string[] => Object.keys(HASHES);

/** Compares in a time that depends only on the length. */
export function timingSafeEqual(a: Data, b: Data): boolean {
  const [left, right] = [bytesOf(a), bytesOf(b)];
  if (left.length !== right.length) {
    throw new RangeError("Input buffers must have the same byte length");
  }
  let different = 0;
  for (const [at, byte] of left.entries()) different |= byte ^ right[at]!;
  return different === 0;
}

type Callback<T> = (error: null, value: T) => void;

export function randomBytes(size: number, callback?: Callback<Uint8Array>): Uint8Array {
  const bytes = Buffer.from(globalThis.crypto.getRandomValues(new Uint8Array(size)));
  if (callback) queueMicrotask(() => callback(null, bytes));
  return bytes;
}

/** A random integer from `low` (0 by default), below `high`; their difference has at most 48 bits. */
export function randomInt(first: number, second?: number): number {
  const [low, high] = second === undefined ? [0, first] : [first, second];
  const range = high - low;
  const most = Math.floor(2 ** 48 / range) * range;
  for (;;) {
    const value = randomBytes(6).reduce((sum, byte) => sum * 256 + byte, 0);
    if (value < most) return low + (value % range);
  }
}

export function randomFillSync<T extends ArrayBufferView>(view: T): T {
  const bytes = new Uint8Array(view.buffer as ArrayBuffer, view.byteOffset, view.byteLength);
  globalThis.crypto.getRandomValues(bytes);
  return view;
}

export const randomUUID = (): string => globalThis.crypto.randomUUID();
export const getRandomValues = <T extends Uint8Array<ArrayBuffer>>(view: T): T =>
  globalThis.crypto.getRandomValues<T>(view);
export const webcrypto = globalThis.crypto;
export const subtle: unknown = globalThis.crypto.subtle;

export default {
  createHash,
  createHmac,
  hash,
  getHashes,
  timingSafeEqual,
  webcrypto,
  randomBytes,
  randomInt,
  randomFillSync,
  randomUUID,
  getRandomValues,
  get subtle() {
    return globalThis.crypto.subtle;
  },
};
