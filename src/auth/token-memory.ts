import { limits } from "../limits.ts";
import type { Principal } from "../model.ts";

/** Whose a token is. */
export interface Known {
  principal: Principal;
  /** Unix time in ms. */
  expires: number;
}

/** Whose tokens have been verified in this isolate, by the tokens' hashes. */
export class TokenMemory {
  readonly #known = new Map<string, Known>();

  /** What a token is remembered by: it is good for one resource alone, which its URL tells. */
  static async keyOf(token: string, url: string): Promise<string> {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
    return `${String.fromCharCode(...new Uint8Array(digest))}${url}`;
  }

  get(key: string): Principal | undefined {
    const found = this.#known.get(key);
    if (found === undefined || found.expires > Date.now()) return found?.principal;
    this.#known.delete(key);
    return undefined;
  }

  /** For so many ms at most. Where there is no room, the oldest goes. */
  set(key: string, { principal, expires }: Known, ms: number): void {
    const [oldest] = this.#known.keys();
    if (this.#known.size >= limits.tokenMemory && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(key, { principal, expires: Math.min(expires, Date.now() + ms) });
  }
}
