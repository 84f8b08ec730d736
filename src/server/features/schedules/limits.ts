/** Limits of schedules. */
import { addLimits } from "../../kernel/core/limits.ts";
export { limits } from "../../kernel/core/limits.ts";

declare module "../../kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  public: {
    /** Schedules that one caller may have at once. */
    schedules: 100,
    /** The shortest time between two runs of one schedule, in ms. */
    scheduleMs: 60_000,
  },
  internal: {
    /** Bytes of a schedule with its arguments, as JSON. */
    scheduleBytes: 16 * 1024,
    /** How far ahead a run may be scheduled: ten years. The platform sets no alarms after the year 2189. */
    scheduleAheadMs: 10 * 366 * 86_400_000,
    /** Runs of each schedule that are remembered. */
    shownRuns: 10,
    /** Due times that are counted as missed. */
    missedRuns: 1000,
    /** Delay before a run that could not begin is tried again; it doubles up to an hour. */
    runRetryMs: 10_000,
    /** Runs in a row that were refused, before the schedule is paused. */
    refusedRuns: 10,
    /** The pause of an owner between two runs that are due: workerd looks for requests only when it is idle. */
    makingPauseMs: 2,
  },
});
