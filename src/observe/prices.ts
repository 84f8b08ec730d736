import type { Sums } from "./counts.ts";

/**
 * Prices of the platform in US dollars, as its pages say on this date.
 * https://developers.cloudflare.com/workers/platform/pricing/, https://developers.cloudflare.com/durable-objects/platform/pricing/
 */
export const PRICES = {
  date: "23 November 2026",
  /** The paid plan, per month. */
  base: 5,
  /** Each further million above what the plan includes, in millions. */
  requests: { name: "Requests to the Worker", included: 10, price: 0.3 },
  cpuMs: { name: "Milliseconds of CPU", included: 30, price: 0.02 },
  objectRequests: { name: "Requests to Durable Objects", included: 1, price: 0.15 },
  objectGbS: { name: "GB-seconds of Durable Objects", included: 0.4, price: 12.5 },
} as const;

/**
 * The cost of a run besides its guest's fuel, as measured here: a millisecond of the host's CPU. A run that waits takes
 * ten requests to objects, which keep 128 MB for about ten seconds in all.
 */
export const PER_RUN = { cpuMs: 1, objectRequests: 0.1 };
const PER_WAIT = { objectRequests: 10, objectGbS: 1.3 };
/** About how much fuel a guest uses in a millisecond of CPU. */
const FUEL_PER_MS = 1_000_000;

/** A line of the estimate. */
export interface Charge {
  name: string;
  /** In millions. */
  amount: number;
  included: number;
  /** US dollars per further million. */
  price: number;
  dollars: number;
}

/** The bill of a month with these runs, without storage and without what other Workers of the account use. */
export function estimate({ runs, waits, fuel }: Sums): { charges: Charge[]; dollars: number } {
  const used = {
    requests: runs,
    cpuMs: runs * PER_RUN.cpuMs + fuel / FUEL_PER_MS,
    objectRequests: runs * PER_RUN.objectRequests + waits * PER_WAIT.objectRequests,
    objectGbS: waits * PER_WAIT.objectGbS,
  };
  const charges = (["requests", "cpuMs", "objectRequests", "objectGbS"] as const).map((kind) => {
    const { name, included, price } = PRICES[kind];
    const amount = used[kind] / 1_000_000;
    return { name, amount, included, price, dollars: Math.max(0, amount - included) * price };
  });
  const dollars = PRICES.base + charges.reduce((sum, one) => sum + one.dollars, 0);
  return { charges, dollars };
}
