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
    /** Timeout of an inner call for the state of its servlet if an outer call holds another state. */
    innerTurnMs: 5000,
    /** How long an export or import of a state may stall, since it holds the state. */
    stateStallMs: 30_000,
    /**
     * Reserve above `callerStateBytes` for calls that add nothing to files: a caller that has used up everything can
     * still read and delete data, and a servlet can start, though its memory grows by some pages for that. One scope
     * gets at most 1 MiB of it, and scopes without state share half of it.
     */
    callerReserveBytes: 64 * 1024 * 1024,
    /**
     * Time for the request that made a call to answer the object in which its guest runs, since other calls wait
     * meanwhile. Longer than `resumeWaitMs`.
     */
    hookMs: 30_000,
    /**
     * Endings that one scope stores for tasks whose object died before it received them, and their bytes: such a task
     * asks again within minutes, and at most `queuedCalls` are pending at once.
     */
    endings: 1000,
    /** Memory of the instances that objects of one isolate cache between calls; others are loaded again. */
    keptInstanceBytes: 32 * 1024 * 1024,
  },
});
