/** Limits of calls whose client carries their state. */
import { addLimits } from "../../kernel/core/limits.ts";
export { limits } from "../../kernel/core/limits.ts";

declare module "../../kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  internal: {
    /** Maximum size of a sealed state that a client carries; a larger one is stored. */
    carriedStateBytes: 16 * 1024,
    /**
     * The lease of a request that sends a POST for a carried call; it is renewed three times as often. Without a
     * lease the request is presumed dead.
     */
    sendingMs: 10_000,
    /** Time that a retry waits for that request (longer than the lease), and its poll interval. */
    resumeWaitMs: 15_000,
    resumePollMs: 500,
  },
});
