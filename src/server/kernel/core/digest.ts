import { sha256 as sha256Now } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { isObject } from "./model.ts";

/** JSON text with sorted members: equal for values that differ only in their order. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_key, one: unknown) =>
    isObject(one)
      ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );

/** SHA-256 of a text's UTF-8. */
export async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

/** SHA-256 of a text's UTF-8, in hex. */
export const hexDigest = async (text: string): Promise<string> => (await sha256(text)).toHex();

/** SHA-256 of a text's UTF-8 in hex, synchronously. */
export const hexDigestNow = (text: string): string => sha256Now(utf8ToBytes(text)).toHex();
