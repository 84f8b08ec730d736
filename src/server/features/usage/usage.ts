import { report } from "../../kernel/core/errors.ts";
import { nearestCopy } from "../../kernel/storage/copies.ts";
import type { Act, UsageEnv } from "./usage-object.ts";

/** Returns the Durable Object with the server's counters; undefined if the binding USAGE is missing. */
export const usageOf = ({ USAGE }: UsageEnv) => USAGE && (() => USAGE.getByName(COUNTERS));

/** Records an operator's action in the audit log, if the binding USAGE exists. Never throws: the action has already been performed. */
export function actsIn(
  env: UsageEnv,
): (by: string, how: Act["how"], what: string) => Promise<void> {
  const usage = usageOf(env);
  return async (by, how, what) => {
    try {
      await usage?.().acted({ by, how, what });
    } catch (error) {
      report(error);
    }
  };
}

/** The copy of the `Usage` object to which this isolate sends its counts. */
export const nearestUsage = (env: UsageEnv) => env.USAGE && nearestCopy(env.USAGE, COUNTERS, env);

const COUNTERS = "usage";
