/**
 * Public prices of Cloudflare, in dollars, and what a month of the Workers Paid plan includes.
 *
 * https://developers.cloudflare.com/workers/platform/pricing/
 * https://developers.cloudflare.com/durable-objects/platform/pricing/
 * https://developers.cloudflare.com/dynamic-workers/pricing/
 * https://developers.cloudflare.com/containers/pricing/
 */
export const PRICES_OF = "30 November 2026";

/** The plan itself, for a month. */
export const PLAN_DOLLARS = 5;

interface Price {
  dollars: number;
  /** How much of it costs that. */
  per: number;
  included: number;
}

const MILLION = 1e6;
const HOUR_S = 3600;

export const PRICES = {
  requests: { dollars: 0.3, per: MILLION, included: 10 * MILLION },
  cpuMs: { dollars: 0.02, per: MILLION, included: 30 * MILLION },
  objectRequests: { dollars: 0.15, per: MILLION, included: MILLION },
  objectGBs: { dollars: 12.5, per: MILLION, included: 400_000 },
  rowsRead: { dollars: 0.001, per: MILLION, included: 25_000 * MILLION },
  rowsWritten: { dollars: 1, per: MILLION, included: 50 * MILLION },
  storedGBMonths: { dollars: 0.2, per: 1, included: 5 },
  /** Each Worker that is loaded, on each day. Announced; Cloudflare does not bill it yet. */
  dynamicWorkers: { dollars: 0.002, per: 1, included: 1000 },
  containerMemoryGiBs: { dollars: 2.5, per: MILLION, included: 25 * HOUR_S },
  containerCpuS: { dollars: 20, per: MILLION, included: 375 * 60 },
  containerDiskGBs: { dollars: 0.07, per: MILLION, included: 200 * HOUR_S },
} satisfies Record<string, Price>;

/** How much is used in a month of what has a price. */
export type BilledUse = Partial<Record<keyof typeof PRICES, number>>;

/** Memory that each Durable Object is billed for while it is active, whatever it takes. */
export const OBJECT_GB = 0.128;

/** The price of a use beyond what the plan includes, in dollars. */
export const dollarsFor = (use: BilledUse): number =>
  dollarsOf(use, ({ dollars, per }, used) => (used * dollars) / per);

/** The bill of a month in which nothing else is used, in dollars. */
export const billOf = (use: BilledUse): number =>
  PLAN_DOLLARS +
  dollarsOf(
    use,
    ({ dollars, per, included }, used) => (Math.max(0, used - included) * dollars) / per,
  );

/** An amount of dollars, to the cent. */
export const dollars = (amount: number): string =>
  amount.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

function dollarsOf(use: BilledUse, of: (price: Price, used: number) => number): number {
  const all = Object.entries(use) as [keyof typeof PRICES, number][];
  return all.reduce((sum, [name, used]) => sum + of(PRICES[name], used), 0);
}

/** A type of container. https://developers.cloudflare.com/containers/platform/limits/ */
export interface ContainerType {
  name: string;
  memoryGiB: number;
  cpus: number;
  diskGB: number;
}

/** From the smallest on. */
export const CONTAINER_TYPES: readonly ContainerType[] = [
  { name: "lite", memoryGiB: 0.25, cpus: 1 / 16, diskGB: 2 },
  { name: "basic", memoryGiB: 1, cpus: 1 / 4, diskGB: 4 },
  { name: "standard-1", memoryGiB: 4, cpus: 1 / 2, diskGB: 8 },
];
