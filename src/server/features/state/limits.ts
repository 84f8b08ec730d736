/** Limits of the states of servlets. */
import { addLimits } from "../../kernel/core/limits.ts";
export { limits } from "../../kernel/core/limits.ts";

declare module "../../kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  public: {
    /** Calls that wait for the state of one servlet in one scope. */
    queuedCalls: 100,
    /**
     * Memory and files of all servlets that are stored for one caller, each scope rounded up to a MiB. Scopes that all
     * callers share are not counted.
     */
    callerStateBytes: 1024 * 1024 * 1024,
    /** How long the state of a servlet in a session is stored after its last call. */
    sessionStateMs: 7 * 24 * 3_600_000,
    /** How long the state of an anonymous caller is stored after its last call. */
    anonymousStateMs: 7 * 24 * 3_600_000,
  },
  internal: {
    /** How long a call inside waits for the state of its servlet while calls around it hold the state of theirs: others may wait for that. */
    innerTurnMs: 5000,
    /** How long an export or import of a state may stand still: it holds the state. */
    stateStallMs: 30_000,
    /**
     * Above `callerStateBytes`, for calls that add nothing to files: also where a caller has used up everything, what is
     * there can be read and deleted, and a servlet can begin, though its memory grows by some pages for that. One scope
     * gets 1 MiB of it at most, and scopes that keep nothing yet get half of it in all.
     */
    callerReserveBytes: 64 * 1024 * 1024,
    /**
     * How long the request that has made a call may take to answer the object in which its guest runs: others wait
     * meanwhile. Longer than `resumeWaitMs`.
     */
    hookMs: 30_000,
    /**
     * Endings that one scope keeps for tasks whose object died before it heard of them, and their bytes: such a task
     * asks again within minutes, and no more than `queuedCalls` are on their way at once.
     */
    endings: 1000,
    /** Memory of the instances that objects of one isolate keep between calls; others are loaded again. */
    keptInstanceBytes: 32 * 1024 * 1024,
  },
});
