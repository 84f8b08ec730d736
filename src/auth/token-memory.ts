import { limits } from "../limits.ts";
import type { Principal } from "../model.ts";

/** Whose tokens have been verified in this isolate, by the tokens' hashes. */
export class TokenMemory {
  readonly #known = new Map<string, { principal: Principal; until: number }>();

  /** What a token is remembered by: it holds for one resource alone. */
  static async keyOf(token: string, resource: string): Promise<string> {
    const bytes = new TextEncoder().encode(token);
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    return `${String.fromCharCode(...digest)}${resource}`;
  }

  get(key: string): Principal | undefined {
    const found = this.#known.get(key);
    if (found === undefined || found.until > Date.now()) return found?.principal;
    this.#known.delete(key);
    return undefined;
  }

  /** `until` is Unix time in ms. Where there is no room, the oldest goes. */
  set(key: string, principal: Principal, until: number): void {
    const [oldest] = this.#known.keys();
    if (this.#known.size >= limits.tokenMemory && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(key, { principal, until });
  }
}
