import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { Fault } from "../core/errors.ts";
import { ANONYMOUS, type Principal } from "../core/model.ts";
import { networkOf } from "./origin.ts";

/** An API key, known by its hash only. */
export interface KnownKey {
  name: string;
  /** SHA-256. */
  hash: Uint8Array<ArrayBuffer>;
  scopes?: readonly string[];
  /** Unix time in ms. */
  expires?: number;
}

/** The token in `Authorization: Bearer`, if there is one. */
export const bearerIn = (authorization: string | null): string | undefined =>
  /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];

/** The principal of a request without credentials, with its network if known. */
export function anonymousAt({ headers }: Request): Principal {
  const address = headers.get("cf-connecting-ip");
  return address === null ? ANONYMOUS : { ...ANONYMOUS, address: networkOf(address) };
}

/** The holder of a token. */
export interface Known {
  principal: Principal;
  /** Unix time in ms when the token expires; Infinity if never. */
  expires: number;
  /** The hash of an API key, in hex. */
  key?: string;
  /** True if the token was made for the profile whose endpoint it was sent to. */
  isForProfile?: boolean;
}

/**
 * The owner of a key; undefined for an unknown key. All keys are compared in constant time, so that the time taken
 * reveals nothing. Throws `unauthorized` for an expired key.
 */
export function ownerOf(token: string, keys: readonly KnownKey[]): Known | undefined {
  const hash = new Uint8Array(sha256(utf8ToBytes(token)));
  let found: KnownKey | undefined;
  for (const key of keys) if (crypto.subtle.timingSafeEqual(key.hash, hash)) found = key;
  if (found === undefined) return undefined;
  const { name, scopes, expires = Infinity } = found;
  if (expires <= Date.now()) {
    throw new Fault(
      "unauthorized",
      `The API key ${name} has expired. Make another with npm run keys -- create.`,
    );
  }
  return { principal: { name, ...(scopes && { scopes }) }, expires, key: found.hash.toHex() };
}
