/** Limits of calls that servlets make. */
import { addLimits } from "../../kernel/core/limits.ts";
export { limits } from "../../kernel/core/limits.ts";

declare module "../../kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  internal: {
    /** Maximum depth of nested calls; deeper ones are usually loops. */
    innerDepth: 3,
    /** Calls in one run, nested ones included: enough to page through a long list and look up each item. */
    innerCalls: 1000,
    /** Calls of one batch that run at once: a request has at most six connections open. */
    innerTogether: 6,
  },
});
