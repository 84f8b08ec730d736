/** Limits of counters. */
import { addLimits } from "../../kernel/core/limits.ts";
export { limits } from "../../kernel/core/limits.ts";

declare module "../../kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  internal: {
    /**
     * Names of servlets, tools and callers with counters of their own in each minute, hour and day: with 600 bytes
     * each, counters take 20 MB at most.
     */
    usageNames: 100,
    /** Different errors of servlets that operators are shown. */
    shownErrors: 50,
  },
});
