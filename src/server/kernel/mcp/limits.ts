/** Limits of MCP messages. */
import { addLimits } from "../core/limits.ts";
export { limits } from "../core/limits.ts";

declare module "../core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  public: {
    /** Items on one page of a list. Some clients never ask for a second page. */
    pageItems: 500,
    /** How long clients may cache lists from the bundle, which change only with a deployment. */
    listTtlMs: 300_000,
  },
  internal: {
    /** Messages in one legacy batch. */
    batchMessages: 50,
  },
});
