/** `crypto.subtle`: the host computes its ciphers and hashes. */
import { hostFor } from "../host.ts";
import { bufferOf, decodeUtf8, joinedBytes } from "./bytes.ts";

type Source = ArrayBuffer | ArrayBufferView;
type Hash = "SHA-1" | "SHA-256" | "SHA-384" | "SHA-512";
export type Name = string | { readonly name: string };
type Usage = "sign" | "verify" | "encrypt" | "decrypt" | "wrapKey" | "unwrapKey";

interface Algorithm {
  name: string;
  hash?: { name: Hash };
  length: number;
}

interface GcmParams {
  name: string;
  iv: Source;
  additionalData?: Source;
  tagLength?: number;
}

/** Block sizes of hashes in bytes; also the default lengths of generated HMAC keys. */
const BLOCKS: Readonly<Record<Hash, number>> = {
  "SHA-1": 64,
  "SHA-256": 64,
  "SHA-384": 128,
  "SHA-512": 128,
};
const CONSTRUCTING = Symbol("constructing");

const fault = (name: string, message: string) => new DOMException(message, name);

const missing = (what: string) =>
  fault(
    "NotSupportedError",
    `crypto.subtle has no ${what} in a servlet: it has digest, HMAC and AES-GCM, with keys as "raw" or "jwk". For others there are the packages @noble/curves, @noble/ciphers and @noble/hashes.`,
  );

/** https://www.w3.org/TR/webcrypto/#cryptokey-interface */
export class CryptoKey {
  readonly type = "secret";
  readonly extractable: boolean;
  readonly algorithm: Readonly<Algorithm>;
  readonly usages: readonly Usage[];
  readonly #bytes: Uint8Array;

  constructor(
    token: symbol,
    bytes: Uint8Array,
    algorithm: Algorithm,
    extractable: boolean,
    usages: readonly Usage[],
  ) {
    if (token !== CONSTRUCTING) throw new TypeError("Illegal constructor");
    this.#bytes = bytes;
    this.algorithm = algorithm;
    this.extractable = extractable;
    this.usages = usages;
  }

  static content(key: CryptoKey): Uint8Array {
    return key.#bytes;
  }
}

/** Calls the host: `head` describes the operation; the parts are concatenated. */
function asked(head: object, ...parts: Uint8Array[]): ArrayBuffer {
  const answer = __host.crypto(JSON.stringify(head), joinedBytes(parts).buffer);
  if (new Uint8Array(answer)[0] === 0) return answer.slice(1);
  const { name, message } = JSON.parse(decodeUtf8(new Uint8Array(answer, 1), true)) as Error;
  throw fault(name, message);
}

const nameOf = (given: Name) => (typeof given === "string" ? given : given.name).toUpperCase();

function hashOf(given: Name | undefined): Hash {
  const name = given === undefined ? "" : nameOf(given);
  if (Object.hasOwn(BLOCKS, name)) return name as Hash;
  throw missing(`hash "${name}"`);
}

const copyOf = (source: Source): Uint8Array => bufferOf(source).slice();

function algorithmOf(
  given: Name & { hash?: Name; length?: number },
  bits: number | undefined,
): Algorithm {
  const name = nameOf(given);
  if (name === "HMAC") {
    const hash = hashOf(given.hash);
    return { name, hash: { name: hash }, length: given.length ?? bits ?? BLOCKS[hash] * 8 };
  }
  if (name !== "AES-GCM") throw missing(`algorithm "${name}"`);
  const length = bits ?? given.length ?? 0;
  if (length === 128 || length === 192 || length === 256) return { name, length };
  throw fault("DataError", `A key of AES-GCM has 128, 192 or 256 bits, not ${length}.`);
}

function demand(key: CryptoKey, given: Name, usage: Usage): void {
  const name = nameOf(given);
  if (!(key instanceof CryptoKey)) throw new TypeError("The key is not a CryptoKey.");
  if (name !== key.algorithm.name) {
    if (name !== "HMAC" && name !== "AES-GCM") throw missing(`algorithm "${name}"`);
    throw fault("InvalidAccessError", `The key is one of ${key.algorithm.name}, not of ${name}.`);
  }
  if (!key.usages.includes(usage)) {
    throw fault("InvalidAccessError", `The key was not made to ${usage}: name that in its usages.`);
  }
}

function gcm(what: "encrypt" | "decrypt", params: GcmParams, key: CryptoKey, data: Source) {
  demand(key, params, what);
  const [secret, iv] = [CryptoKey.content(key), bufferOf(params.iv)];
  const more =
    params.additionalData === undefined ? new Uint8Array() : bufferOf(params.additionalData);
  const { tagLength = 128 } = params;
  const head = { what, key: secret.length, iv: iv.length, more: more.length, tagLength };
  return asked(head, secret, iv, more, bufferOf(data));
}

function mac(key: CryptoKey, data: Source): ArrayBuffer {
  const secret = CryptoKey.content(key);
  const head = { what: "sign", hash: key.algorithm.hash?.name, key: secret.length };
  return asked(head, secret, bufferOf(data));
}

const unsupported = (what: string) => async (): Promise<never> => {
  throw missing(what);
};

/** https://www.w3.org/TR/webcrypto/#subtlecrypto-interface, with the algorithms that `missing` lists. */
export class SubtleCrypto {
  async digest(algorithm: Name, data: Source): Promise<ArrayBuffer> {
    return asked({ what: "digest", hash: hashOf(algorithm) }, bufferOf(data));
  }

  async sign(algorithm: Name, key: CryptoKey, data: Source): Promise<ArrayBuffer> {
    demand(key, algorithm, "sign");
    return mac(key, data);
  }

  async verify(algorithm: Name, key: CryptoKey, signature: Source, data: Source): Promise<boolean> {
    demand(key, algorithm, "verify");
    const [mine, given] = [new Uint8Array(mac(key, data)), bufferOf(signature)];
    // Constant time, wherever they differ.
    const differing = mine.reduce((sum, byte, at) => sum | (byte ^ (given[at] ?? 256)), 0);
    return differing === 0 && given.length === mine.length;
  }

  async encrypt(params: GcmParams, key: CryptoKey, data: Source): Promise<ArrayBuffer> {
    return gcm("encrypt", params, key, data);
  }

  async decrypt(params: GcmParams, key: CryptoKey, data: Source): Promise<ArrayBuffer> {
    return gcm("decrypt", params, key, data);
  }

  async generateKey(
    algorithm: Name & { hash?: Name; length?: number },
    extractable: boolean,
    usages: readonly Usage[],
  ): Promise<CryptoKey> {
    const made = algorithmOf(algorithm, undefined);
    const bytes = hostFor("crypto.subtle").random(Math.ceil(made.length / 8));
    return new CryptoKey(CONSTRUCTING, new Uint8Array(bytes), made, extractable, [...usages]);
  }

  async importKey(
    format: string,
    data: Source | { readonly kty?: string; readonly k?: string },
    algorithm: Name & { hash?: Name; length?: number },
    extractable: boolean,
    usages: readonly Usage[],
  ): Promise<CryptoKey> {
    let bytes: Uint8Array;
    if (format === "raw" && (data instanceof ArrayBuffer || ArrayBuffer.isView(data))) {
      bytes = copyOf(data);
    } else if (format === "jwk" && "k" in data && data.kty === "oct") {
      bytes = Uint8Array.fromBase64(String(data.k), { alphabet: "base64url" });
    } else {
      throw missing(`import of keys as "${format}"`);
    }
    if (bytes.length === 0) throw fault("DataError", "The key is empty.");
    const made = algorithmOf(algorithm, bytes.length * 8);
    return new CryptoKey(CONSTRUCTING, bytes, made, extractable, [...usages]);
  }

  async exportKey(format: string, key: CryptoKey): Promise<ArrayBuffer | object> {
    if (!key.extractable) throw fault("InvalidAccessError", "The key is not extractable.");
    const bytes = CryptoKey.content(key);
    if (format === "raw") return bytes.slice().buffer;
    if (format !== "jwk") throw missing(`export of keys as "${format}"`);
    const { hash, length } = key.algorithm;
    return {
      kty: "oct",
      k: bytes.toBase64({ alphabet: "base64url", omitPadding: true }),
      alg: hash === undefined ? `A${length}GCM` : `HS${hash.name.slice(4)}`,
      key_ops: [...key.usages],
      ext: true,
    };
  }

  deriveBits = unsupported("deriveBits");
  deriveKey = unsupported("deriveKey");
  wrapKey = unsupported("wrapKey");
  unwrapKey = unsupported("unwrapKey");
}

export const subtle = /* @__PURE__ */ new SubtleCrypto();
