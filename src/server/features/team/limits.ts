/** Limits of a team's sign-in. */
import { addLimits } from "../../kernel/core/limits.ts";
export { limits } from "../../kernel/core/limits.ts";

declare module "../../kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  public: {
    /**
     * How long a check of a member at the provider is valid: somebody who leaves the team loses access within this time.
     */
    memberCheckMs: 10 * 60_000,
    /** How long the last check stays valid while the provider does not answer. */
    memberHoldMs: 4 * 3_600_000,
  },
  internal: {
    /** Pause between two attempts to ask a provider that does not answer. */
    memberRetryMs: 60_000,
    /**
     * How long an isolate remembers a member's access: once an operator has ended it, calls are refused within this
     * time.
     */
    memberMemoryMs: 10_000,
    /** Past sign-ins that are stored for each member. */
    memberSignIns: 20,
    /** Members on one page of the console. Each costs a request to the object of that person. */
    shownMembers: 50,
  },
});
