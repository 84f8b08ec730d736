/** Limits of calls that servlets make. */
import { addLimits } from "../../kernel/core/limits.ts";
export { limits } from "../../kernel/core/limits.ts";

declare module "../../kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  internal: {
    /** Calls that servlets make within each other: deeper ones go round in circles more often than not. */
    innerDepth: 3,
    /** Calls that servlets make in one run of a call, those within each other too: pages of a long list, each item of which is looked up. */
    innerCalls: 1000,
    /** Calls made together that run at once: a request has at most six connections open. */
    innerTogether: 6,
  },
});
