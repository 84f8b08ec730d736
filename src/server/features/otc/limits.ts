/** Limits of Open Tool Calling. */
import { addLimits } from "../../kernel/core/limits.ts";
export { limits } from "../../kernel/core/limits.ts";

declare module "../../kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  internal: {
    /** How long the outcome of a call with a `call_id` is stored for retries. */
    callRecordMs: 3_600_000,
  },
});
