import { DurableObject } from "cloudflare:workers";

/** What one call counts towards. */
export interface Count {
  /** A name of what is counted, such as a tool's. */
  what: string;
  perMinute: number;
}

const MINUTE = 60_000;

/**
 * Counts the calls of one caller, in memory: an object that was not needed for so long that it has gone
 * would have nothing to count. Each count is a bucket that holds a minute's calls and fills steadily.
 */
export class Quota extends DurableObject {
  readonly #buckets = new Map<string, { left: number; at: number }>();

  /** Takes one call out of all of them, or, where one is empty, none; gives how long to wait then, in ms. */
  async take(counts: readonly Count[]): Promise<number> {
    const now = Date.now();
    const filled = counts.map(({ what, perMinute }) => {
      const { left, at } = this.#buckets.get(what) ?? { left: perMinute, at: now };
      const full = Math.min(perMinute, left + ((now - at) * perMinute) / MINUTE);
      return { what, left: full, waitMs: full >= 1 ? 0 : ((1 - full) * MINUTE) / perMinute };
    });
    const waitMs = Math.max(0, ...filled.map((bucket) => bucket.waitMs));
    for (const { what, left } of filled) {
      this.#buckets.set(what, { left: waitMs > 0 ? left : left - 1, at: now });
    }
    return waitMs;
  }
}
