/** What the server counts for its operators. */

/** The number of refused requests with one status and error code. */
export interface CountedRefusals {
  /** Status and code: `429 too_many`. */
  name: string;
  count: number;
}

/** An ended call, without its arguments and its result. */
export interface EndedCall {
  servlet: string;
  /** The tool or prompt; for a resource, the export that read it. */
  tool: string;
  /** The principal's full name, which decides who may see the call. */
  caller: string;
  /** `returned`; any other value is an error. */
  outcome: string;
  /** When the call began, in Unix ms. */
  at: number;
  /** Duration from start to end, including waits. */
  ms: number;
  /** The id of the call's task; null if the call was not a task. */
  task: string | null;
  /** The beginning of the error message that the caller got; empty for a call that succeeded. */
  error: string;
}

/** A run of a servlet that has ended. */
export interface CountedRun {
  servlet: string;
  /** The tool or prompt, or the export if it has no name. */
  tool: string;
  caller: string;
  /** `returned` or `waits`; any other value is an error. */
  outcome: string;
  /** Duration of the run. */
  ms: number;
  fuel: number;
  /** The error message for operators; empty if the servlet wrote the error for its caller only. */
  message?: string;
  /** The id of the failed task; absent if the run did not fail or was not of a task. */
  task?: string;
  /** The call that ended with this run; absent if the call continues, and for runs that list or complete. */
  call?: Pick<EndedCall, "at" | "ms" | "task" | "error">;
}

/** The size of the servlet state in one Durable Object. */
export interface StoredSize {
  object: string;
  servlet: string;
  /** Empty for state that all callers share. */
  caller: string;
  bytes: number;
}

/** Whether a call is waiting: for an answer, for a point in time, or for memory. */
export interface WaitStatus {
  /** The id of its task. */
  task: string;
  /** Empty if unknown. */
  servlet: string;
  tool: string;
  caller: string;
  /** When its stored data is deleted, in Unix ms; 0 if the call is not waiting. */
  until: number;
}

/** Counts runs, stored bytes, waiting calls and refused requests. */
export interface Counting {
  count(run: CountedRun): void;
  stored(stored: StoredSize): void;
  waiting(waiting: WaitStatus): void;
  refused(refused: readonly CountedRefusals[]): void;
}

/** An error of runs, and the number of its occurrences. */
export interface CountedError {
  servlet: string;
  tool: string;
  outcome: string;
  message: string;
  count: number;
  /** When it last occurred, in Unix ms. `caller` and `task` are those of that call. */
  last: number;
  caller: string;
  task: string | null;
}

/** The columns by which runs are counted. */
export const DIMENSIONS = ["servlet", "tool", "caller"] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** Totals of a set of runs. */
export interface Sums {
  runs: number;
  errors: number;
  /** Runs that stopped to wait: for an answer, a time, or room. */
  waits: number;
  fuel: number;
  /** The number of runs in each bucket of time: see `bucketOf`. */
  times: number[];
}

/** Two buckets for each doubling, from 1 ms to twelve minutes. */
export const BUCKETS = 40;

export const noSums = (): Sums => ({
  runs: 0,
  errors: 0,
  waits: 0,
  fuel: 0,
  times: Array.from({ length: BUCKETS }, () => 0),
});

/** A quantile of the runs' times in ms, to within a factor of 1.4; undefined without runs. */
export function timeOf({ times, runs }: Sums, part: number): number | undefined {
  let left = part * runs;
  if (runs === 0) return undefined;
  for (const [nth, count] of times.entries()) {
    left -= count;
    if (left <= 0) return nth === 0 ? 1 : 2 ** (nth / 2);
  }
  return 2 ** (BUCKETS / 2);
}

/** The name under which names above the limit are counted together. */
export const OTHERS = "(others)";

/** The spans of time that Usage shows, and the steps of their charts, in ms. */
export const SPANS = {
  hour: { ms: 3_600_000, step: 60_000 },
  day: { ms: 86_400_000, step: 3_600_000 },
  month: { ms: 30 * 86_400_000, step: 86_400_000 },
} as const;
export type UsageSpan = keyof typeof SPANS;

/** The counts of one span. */
export interface Report {
  /** In order of time; steps without runs are absent. `start` in Unix ms. */
  steps: { start: number; sums: Sums }[];
  total: Sums;
  /**
   * The most used names, by runs. Bytes are those stored now (none by tool); `waiting` counts the calls that wait now.
   */
  named: { name: string; sums: Sums; bytes: number; waiting: number }[];
  /** Bytes that are stored now by servlets that keep state. */
  bytes: number;
  /** Calls that wait now. */
  waiting: number;
  /** Refused requests, the most frequent kind first. */
  refused: CountedRefusals[];
}
