import { limits } from "../limits.ts";
import type { Principal } from "../model.ts";
import type { Known } from "./principal.ts";

/**
 * Whose tokens have been verified in this isolate, so that a call costs no hash and no signature. How long
 * it takes to look one up says nothing: V8 hashes strings by a seed of its own.
 */
export class TokenMemory {
  readonly #known = new Map<string, Known>();

  get(token: string, url: string): Principal | undefined {
    const key = keyOf(token, url);
    const found = this.#known.get(key);
    if (found === undefined || found.expires > Date.now()) return found?.principal;
    this.#known.delete(key);
    return undefined;
  }

  /** Where there is no room, the oldest goes. */
  set(token: string, url: string, { principal, expires }: Known): void {
    const [oldest] = this.#known.keys();
    if (this.#known.size >= limits.tokenMemory && oldest !== undefined) this.#known.delete(oldest);
    const ends = Math.min(expires, Date.now() + limits.tokenMemoryMs);
    this.#known.set(keyOf(token, url), { principal, expires: ends });
  }
}

/** A token is good for one resource alone, which the URL's origin tells. */
const keyOf = (token: string, url: string): string =>
  `${token} ${url.slice(0, url.indexOf("/", "https://".length))}`;
