import { report } from "../../kernel/core/errors.ts";
import { nearestCopy } from "../../kernel/storage/copies.ts";
import type { Act, UsageEnv } from "./usage-object.ts";

/** Returns the Durable Object with the server's counters; undefined if the binding USAGE is missing. */
export const usageOf = ({ USAGE }: UsageEnv) => USAGE && (() => USAGE.getByName(COUNTERS));

/** Makes the function that records operators' actions in the audit log. It never throws: the action was performed. */
export function actRecorder(
  env: UsageEnv,
): (by: string, how: Act["how"], what: string) => Promise<void> {
  const usage = usageOf(env);
  return async (by, how, what) => {
    try {
      await usage?.().addAct({ by, how, what });
    } catch (error) {
      report(error);
    }
  };
}

/** The copy of the `Usage` object to which this isolate sends its counts. */
export const nearestUsage = (env: UsageEnv) => env.USAGE && nearestCopy(env.USAGE, COUNTERS, env);

const COUNTERS = "usage";
