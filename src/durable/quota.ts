import { DurableObject } from "cloudflare:workers";

const MINUTE = 60_000;

/**
 * Counts the calls of one caller, in memory: an object is evicted only after a pause in which its buckets have
 * refilled. Each bucket holds a minute's calls and refills steadily.
 */
export class Quota extends DurableObject {
  readonly #buckets = new Map<string, { left: number; at: number }>();

  /** Counts a call of this tool (empty for any call) and returns 0; if none is left, counts nothing and returns the wait in ms. */
  take(tool: string, perMinute: number): number {
    const now = Date.now();
    const { left, at } = this.#buckets.get(tool) ?? { left: perMinute, at: now };
    const full = Math.min(perMinute, left + ((now - at) * perMinute) / MINUTE);
    const isThere = full >= 1;
    this.#buckets.set(tool, { left: isThere ? full - 1 : full, at: now });
    return isThere ? 0 : ((1 - full) * MINUTE) / perMinute;
  }
}
