import { limits } from "../core/limits.ts";
import type { Known } from "./principal.ts";

/**
 * Owners of tokens that this isolate has verified, so that a call costs no hash and no signature. The time of a
 * look-up reveals nothing: V8 hashes strings with a random seed.
 */
export class TokenMemory {
  readonly #known = new Map<string, Known>();

  get(token: string, url: string): Known | undefined {
    const key = keyOf(token, url);
    const found = this.#known.get(key);
    if (found === undefined || found.expires > Date.now()) return found;
    this.#known.delete(key);
    return undefined;
  }

  /** Above the limit, drops the oldest. */
  set(token: string, url: string, known: Known): void {
    const [oldest] = this.#known.keys();
    if (this.#known.size >= limits.tokenMemory && oldest !== undefined) this.#known.delete(oldest);
    const ends = Math.min(known.expires, Date.now() + limits.tokenMemoryMs);
    this.#known.set(keyOf(token, url), { ...known, expires: ends });
  }

  /** Forgets the tokens that begin so. */
  forget(prefix: string): void {
    for (const key of this.#known.keys()) if (key.startsWith(prefix)) this.#known.delete(key);
  }
}

/** A token is valid for one resource, identified by the URL's origin. */
const keyOf = (token: string, url: string): string =>
  `${token} ${url.slice(0, url.indexOf("/", "https://".length))}`;
