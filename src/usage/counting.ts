import { waitUntil } from "cloudflare:workers";
import { namespaceOf } from "../env.ts";
import { report } from "../errors.ts";
import { limits } from "../limits.ts";
import { Counts, type CountedRun, type Stored } from "./counts.ts";
import type { UsageObject } from "./usage-object.ts";

/** The one object with the counters of a server; undefined where the binding USAGE is missing. */
export function usageOf(env: object): (() => DurableObjectStub<UsageObject>) | undefined {
  const objects = namespaceOf<UsageObject>(env, "USAGE");
  return objects && (() => objects.getByName("usage"));
}

/**
 * Counts runs in this isolate, and sends the counters `limits.usageMs` after the first one. What is not sent when an
 * isolate ends is lost: a call never waits for it, and never fails by it.
 */
export function countingIn(
  env: object,
): { count(run: CountedRun): void; stored(stored: Stored): void } | undefined {
  const usage = usageOf(env);
  if (usage === undefined) return undefined;
  const counts = new Counts(limits.usageNames);
  let dueAt = 0;
  const send = async () => {
    await scheduler.wait(limits.usageMs);
    const taken = counts.take();
    dueAt = 0;
    if (taken) await usage().add(taken);
  };
  const plan = () => {
    // A request whose context was cancelled sends nothing: then a later one does.
    const now = Date.now();
    if (now < dueAt) return;
    dueAt = now + 2 * limits.usageMs;
    waitUntil(send().catch(report));
  };
  return {
    count(run) {
      counts.add(run);
      plan();
    },
    stored(stored) {
      counts.setStored(stored);
      plan();
    },
  };
}
