/** Ciphers, hashes and encodings that QuickJS leaves to the platform. */
import { textIn } from "../core/text.ts";
import { limits } from "./limits.ts";
import type { Json } from "../core/model.ts";
import { GuestError, type Guest } from "./guest.ts";

/** Additional cost of a hash, a cipher or an encoding of any size: the platform makes a key or a decoder for it. */
const CRYPTO_FUEL = 20_000;

const encoder = new TextEncoder();

const bytesIn = (guest: Guest, body: bigint, who: string): Uint8Array<ArrayBuffer> =>
  guest.bytesWithin(limits.httpBytes, body, `The data given to ${who}`) as Uint8Array<ArrayBuffer>;

/** The first bytes, as many as the member `name` says, and the rest. */
function split(bytes: Uint8Array<ArrayBuffer>, asked: Json, name: string) {
  const count = asked[name];
  if (typeof count !== "number" || !Number.isSafeInteger(count) || count < 0) {
    throw new GuestError(`crypto_call expects a count of bytes as "${name}".`);
  }
  return [bytes.subarray(0, count), bytes.subarray(count)] as const;
}

type Operation = (asked: Json, bytes: Uint8Array<ArrayBuffer>) => Promise<ArrayBuffer>;

const cipher =
  (what: "encrypt" | "decrypt"): Operation =>
  async (asked, bytes) => {
    const [secret, afterSecret] = split(bytes, asked, "key");
    const [iv, afterIv] = split(afterSecret, asked, "iv");
    const [additionalData, data] = split(afterIv, asked, "more");
    const key = await crypto.subtle.importKey("raw", secret, "AES-GCM", false, [what]);
    const tagLength = Number(asked["tagLength"] ?? 128);
    return crypto.subtle[what]({ name: "AES-GCM", iv, additionalData, tagLength }, key, data);
  };

const operations: Readonly<Record<string, Operation>> = {
  digest: ({ hash }, bytes) => crypto.subtle.digest(textIn(hash), bytes),
  async sign(asked, bytes) {
    const [secret, data] = split(bytes, asked, "key");
    const algorithm = { name: "HMAC", hash: textIn(asked["hash"]) };
    const key = await crypto.subtle.importKey("raw", secret, algorithm, false, ["sign"]);
    return crypto.subtle.sign("HMAC", key, data);
  },
  encrypt: cipher("encrypt"),
  decrypt: cipher("decrypt"),
};

/**
 * Performs `{what, …}` with these bytes: `digest` with a `hash`; `sign`, an HMAC, with a `hash` and a key of `key`
 * bytes before the data; `encrypt` and `decrypt`, AES-GCM, with `key`, `iv` and `more` (additional authenticated data)
 * as byte counts before the data, and `tagLength` in bits. Returns a byte 0 and the result, or a byte 1 and `{name,
 * message}`.
 */
export async function cryptoCall(guest: Guest, head: bigint, body: bigint): Promise<bigint> {
  const asked = guest.json(head, "crypto_call");
  const what = textIn(asked["what"]);
  const operation = Object.hasOwn(operations, what) ? operations[what] : undefined;
  if (operation === undefined) throw new GuestError("crypto_call expects an operation as `what`.");
  guest.pay(CRYPTO_FUEL);
  try {
    const bytes = bytesIn(guest, body, "crypto_call");
    return guest.putAnswer(0, new Uint8Array(await operation(asked, bytes)));
  } catch (error) {
    if (error instanceof GuestError || !(error instanceof Error)) throw error;
    const { name, message } = error;
    return guest.putAnswer(1, encoder.encode(JSON.stringify({ name, message })));
  }
}

/**
 * Decodes these bytes: `{label, fatal?, ignoreBOM?, stream?}`; with `stream`, an incomplete character at their end is
 * omitted. Returns a byte 0 and UTF-8, or a byte 1 if the bytes are invalid in the encoding.
 */
export function decodeText(guest: Guest, head: bigint, body: bigint): bigint {
  const asked = guest.json(head, "decode_text");
  guest.pay(CRYPTO_FUEL);
  const bytes = bytesIn(guest, body, "decode_text");
  let text: string;
  try {
    const { label, fatal, ignoreBOM, stream } = asked;
    const decoder = new TextDecoder(textIn(label), {
      fatal: fatal === true,
      ignoreBOM: ignoreBOM === true,
    });
    text = decoder.decode(bytes, { stream: stream === true });
  } catch {
    return guest.putAnswer(1, new Uint8Array());
  }
  return guest.putAnswer(0, encoder.encode(text));
}
