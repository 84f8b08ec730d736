/** Limits of tasks. */
import { addLimits } from "../../kernel/core/limits.ts";
export { limits } from "../../kernel/core/limits.ts";

declare module "../../kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  internal: {
    /** Poll interval announced to clients of tasks. */
    taskPollMs: 1000,
    /** How long a new task's first response waits for its first run. */
    firstRunMs: 100,
    /**
     * Runs of tasks that begin at once in one isolate: after a restart hundreds are due, and must leave room for
     * requests. A run has begun when it waits for something or has taken `startMs`.
     */
    startsAtOnce: 4,
    startMs: 5000,
    /** Consecutive runs of a task that may die without a new answer. */
    maxRuns: 6,
    /** Delay before the second run; it doubles with each further run. */
    rerunMs: 1000,
    /** Delay before a task notifies an unreachable session again. */
    ownerMs: 10_000,
    /** Sessions that are notified of one task's progress: its own and others that wait for its result. */
    taskSessions: 8,
    /** How long `get_result` waits for a call: clients give up after a minute, some after 30 seconds. */
    resultWaitMs: 25_000,
    /** How long the journal of an ended call is kept for its timeline. */
    endedJournalMs: 3_600_000,
  },
});
