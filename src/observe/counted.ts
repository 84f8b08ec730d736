/** What the server counts for those who operate it. */

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
  /** The tool or prompt, or the export where it has no name. */
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
  /** Empty if it is not known. */
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
