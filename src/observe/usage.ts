import { report } from "../core/errors.ts";
import { nearestCopy } from "../storage/copies.ts";
import type { Act, UsageEnv } from "./usage-object.ts";

/** The one object with the counters of a server; undefined where the binding USAGE is missing. */
export const usageOf = ({ USAGE }: UsageEnv) => USAGE && (() => USAGE.getByName(COUNTERS));

/** Notes what operators do; does nothing where the binding USAGE is missing. What was done stays done where it cannot be noted. */
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

/** The copy of it that this isolate sends its counters to. */
export const nearestUsage = (env: UsageEnv) => env.USAGE && nearestCopy(env.USAGE, COUNTERS, env);

const COUNTERS = "usage";
