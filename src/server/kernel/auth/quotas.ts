import { countedBy } from "../core/callers.ts";
import type { Attempts, AttemptsEnv } from "./attempts.ts";
import { Fault } from "../core/errors.ts";
import { limits } from "./limits.ts";
import { PART } from "../core/parts.ts";

/** A counter and its limit. */
export interface Count {
  counter: DurableObjectStub<Attempts>;
  most: number;
}

/**
 * The counters of one kind of action of a caller, the wider network first: an action that its counter rejects creates
 * no further counter.
 */
export function countsOf(
  counters: DurableObjectNamespace<Attempts>,
  { action, caller, most }: { action: string; caller: string; most: number },
): Count[] {
  return countedBy(caller)
    .toReversed()
    .map(({ key, shares }) => ({
      counter: counters.getByName(`${action} ${key}`),
      most: most * shares,
    }));
}

/** Counts attempts in each. If one counter is used up, counts in none and returns the wait in ms, else 0. */
export async function takeAll(counts: readonly Count[], ms: number, attempts = 1): Promise<number> {
  for (const [at, { counter, most }] of counts.entries()) {
    const waitMs = await counter.take(most, ms, attempts);
    if (waitMs === 0) continue;
    await giveBackAll(counts.slice(0, at), attempts);
    return waitMs;
  }
  return 0;
}

export async function giveBackAll(counts: readonly Count[], attempts = 1): Promise<void> {
  await Promise.all(counts.map(({ counter }) => counter.giveBack(attempts)));
}

const DAY = 86_400_000;

/** Counts stored objects by caller, if ATTEMPTS is bound: one for each, and one more for each whole MiB. */
export function storageQuota({
  ATTEMPTS: counters,
}: AttemptsEnv): (caller: string | undefined, bytes?: number) => Promise<void> {
  return async (caller, bytes = 0) => {
    if (counters === undefined || caller === undefined) return;
    const most = limits.keptPerDay;
    const counts = countsOf(counters, { action: "kept", caller, most });
    const waitMs = await takeAll(counts, DAY, 1 + Math.floor(bytes / PART));
    if (waitMs > 0)
      throw tooMany(waitMs, `stored sessions, tasks, states and calls per day (limit ${most})`);
  };
}

export function tooMany(waitMs: number, counted: string): Fault {
  const retryAfter = Math.ceil(waitMs / 1000);
  const seconds = retryAfter === 1 ? "1 second" : `${retryAfter} seconds`;
  const message = `Too many ${counted}. Retry in ${seconds}.`;
  return new Fault("too_many", message, { data: { retryAfter } });
}
