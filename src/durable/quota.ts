import { DurableObject } from "cloudflare:workers";

const MINUTE = 60_000;

/**
 * Counts the calls of one caller, in memory: an object that was not needed for so long that it has gone
 * would have nothing to count. Each count is a bucket that holds a minute's calls and fills steadily.
 */
export class Quota extends DurableObject {
  readonly #buckets = new Map<string, { left: number; at: number }>();

  /** Takes a call of this name, or, where there is none left, none; gives how long to wait then, in ms. */
  take(what: string, perMinute: number): number {
    const now = Date.now();
    const { left, at } = this.#buckets.get(what) ?? { left: perMinute, at: now };
    const full = Math.min(perMinute, left + ((now - at) * perMinute) / MINUTE);
    const isThere = full >= 1;
    this.#buckets.set(what, { left: isThere ? full - 1 : full, at: now });
    return isThere ? 0 : ((1 - full) * MINUTE) / perMinute;
  }
}
