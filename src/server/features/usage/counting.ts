import { waitUntil } from "cloudflare:workers";
import { report } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { Counts, type CountsBatch } from "./counts.ts";
import type { Counting } from "../../kernel/observe/counted.ts";

/** Counts in an isolate, and in a copy of the counters. */
interface IsolateCounting extends Counting {
  /** Adds the batch of another isolate. */
  taken(taken: CountsBatch): void;
}

/**
 * Counts runs in this isolate, and sends the counts `limits.usageMs` after the first one. If the isolate ends before that,
 * the counts are lost; no call waits for them or fails because of them. With `hasMetrics`, runs are also counted by tool.
 */
export function countingIn(
  usage: (() => { add(taken: CountsBatch): Promise<void> }) | undefined,
  hasMetrics = false,
): IsolateCounting | undefined {
  if (usage === undefined) return undefined;
  const counts = new Counts(limits.usageNames, hasMetrics);
  let dueAt = 0;
  const send = async () => {
    await scheduler.wait(limits.usageMs);
    const taken = counts.take();
    dueAt = 0;
    if (taken) await usage().add(taken);
  };
  const plan = () => {
    // If this request is cancelled before it sends, a later request sends the counts. The clock may be set back.
    const now = Date.now();
    const mostMs = 2 * limits.usageMs;
    if (now < dueAt && dueAt <= now + mostMs) return;
    dueAt = now + mostMs;
    waitUntil(send().catch(report));
  };
  const planned =
    <T>(count: (counted: T) => void) =>
    (counted: T) => {
      count(counted);
      plan();
    };
  return {
    count: planned((run) => counts.add(run)),
    taken: planned((taken) => counts.addAll(taken)),
    stored: planned((stored) => counts.setStored(stored)),
    waiting: planned((waiting) => counts.setWaiting(waiting)),
    refused: planned((refused) => counts.addRefused(refused)),
  };
}
