/** Limits of what is counted. */
import { addLimits } from "../../kernel/core/limits.ts";
export { limits } from "../../kernel/core/limits.ts";

declare module "../../kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  internal: {
    /**
     * Names of servlets, tools and callers that are counted by themselves in each minute, hour and day: with 600 bytes
     * each, counters take 20 MB at most.
     */
    usageNames: 100,
    /** Different errors of servlets that operators are shown. */
    shownErrors: 50,
  },
});
