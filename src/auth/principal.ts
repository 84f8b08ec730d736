import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { Fault } from "../errors.ts";
import { ANONYMOUS, type Principal } from "../model.ts";
import { networkOf } from "./origin.ts";

/** One API key, which is known by its hash alone. */
interface ApiKey {
  name: string;
  /** SHA-256. */
  hash: Uint8Array<ArrayBuffer>;
  scopes?: readonly string[];
  /** Unix time in ms. */
  expires?: number;
}

/** The token in `Authorization: Bearer`; undefined where there is none. */
export const bearerIn = (authorization: string | null): string | undefined =>
  /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];

/** The principal of a request without proof: with the network that it comes from, where that is known. */
export function anonymousAt({ headers }: Request): Principal {
  const address = headers.get("cf-connecting-ip");
  return address === null ? ANONYMOUS : { ...ANONYMOUS, address: networkOf(address) };
}

/** The holder of a token. */
export interface Known {
  principal: Principal;
  /** Unix time in ms, from which on it is nobody's; Infinity where there is none. */
  expires: number;
}

/**
 * Whose key this is; undefined where it is nobody's. All keys are looked at, each for the same time, so
 * how long it takes says nothing. Throws `unauthorized` for a key that has expired.
 */
export function ownerOf(token: string, keys: readonly ApiKey[]): Known | undefined {
  const hash = new Uint8Array(sha256(utf8ToBytes(token)));
  let found: ApiKey | undefined;
  for (const key of keys) if (crypto.subtle.timingSafeEqual(key.hash, hash)) found = key;
  if (found === undefined) return undefined;
  const { name, scopes, expires = Infinity } = found;
  if (expires <= Date.now()) {
    throw new Fault(
      "unauthorized",
      `The API key ${name} has expired: npm run keys -- create another.`,
    );
  }
  return { principal: { name, ...(scopes && { scopes }) }, expires };
}
