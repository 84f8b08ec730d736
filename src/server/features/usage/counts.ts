/** Counters of runs, and their sums. */
import { usageName } from "../../kernel/observe/usage-name.ts";
import {
  BUCKETS,
  DIMENSIONS,
  noSums,
  OTHERS,
  type CountedError,
  type CountedRefusals,
  type CountedRun,
  type Dimension,
  type EndedCall,
  type StoredSize,
  type Sums,
  type WaitStatus,
} from "../../kernel/observe/counted.ts";
import { limits } from "../../kernel/core/limits.ts";

/** The bucket of a time: the first is for less than a millisecond, the others for at most 2^(n/2) ms. */
const bucketOf = (ms: number): number =>
  ms < 1 ? 0 : Math.min(BUCKETS - 1, 1 + Math.floor(2 * Math.log2(ms)));

export function addRun(sums: Sums, { outcome, ms, fuel }: CountedRun): void {
  sums.runs++;
  if (outcome === "waits") sums.waits++;
  else if (outcome !== "returned") sums.errors++;
  sums.fuel += fuel;
  sums.times[bucketOf(ms)]!++;
}

export function addSums(to: Sums, more: Sums): void {
  to.runs += more.runs;
  to.errors += more.errors;
  to.waits += more.waits;
  to.fuel += more.fuel;
  for (const [nth, count] of more.times.entries()) to.times[nth]! += count;
}

/** The totals of one servlet, tool or caller. */
interface NamedSums {
  by: Dimension;
  name: string;
  sums: Sums;
}

/** The totals of one tool, for metrics. */
export interface ToolCounts {
  servlet: string;
  tool: string;
  sums: Sums;
  /** Total duration of its runs. */
  ms: number;
  /** The number of runs by outcome; there are few outcomes. */
  outcomes: Record<string, number>;
}

/** Maximum number of tools with metrics of their own; the others share one entry. */
export const METRIC_TOOLS = 1000;

export function addTool(to: ToolCounts, more: ToolCounts): void {
  addSums(to.sums, more.sums);
  to.ms += more.ms;
  for (const [outcome, count] of Object.entries(more.outcomes))
    to.outcomes[outcome] = (to.outcomes[outcome] ?? 0) + count;
}

/** The increments that an isolate sends to the counters. */
export interface CountsBatch {
  total: Sums;
  named: NamedSums[];
  errors: CountedError[];
  stored: StoredSize[];
  waiting: WaitStatus[];
  /** Refused requests; absent in a batch of an older version. */
  refused?: CountedRefusals[];
  /** The last ended calls, in order of their ends; absent in a batch of an older version. */
  calls?: EndedCall[];
  /** Runs by tool; empty if metrics are not exported, and absent in a batch of an older version. */
  tools?: ToolCounts[];
}

/** Maximum ended calls in one batch, the newest: 1 MB with the longest names and errors. */
const PASSED_CALLS = 500;

/** Longest name of a caller whose calls are logged. A longer name cannot be cut: its beginning may be another caller's name. */
const CALLER_CHARACTERS = 1000;

/**
 * The counters of one isolate since the last batch. `most` is the maximum number of names in each dimension. With
 * `hasMetrics`, runs are also counted by tool for metrics.
 */
export class Counts {
  readonly #most: number;
  #total = noSums();
  #named = newNames();
  #errors = new Map<string, CountedError>();
  #stored = new Map<string, StoredSize>();
  #waiting = new Map<string, WaitStatus>();
  #refused = new Map<string, number>();
  #calls: EndedCall[] = [];
  readonly #hasMetrics: boolean;
  #tools = new Map<string, ToolCounts>();

  constructor(most: number, hasMetrics = false) {
    this.#most = most;
    this.#hasMetrics = hasMetrics;
  }

  add(given: CountedRun): void {
    const run = { ...given, ...briefly(given), tool: usageName(given.tool) };
    addRun(this.#total, run);
    for (const by of DIMENSIONS) addRun(this.#sumsOf(by, run[by]), run);
    if (this.#hasMetrics) this.#addToTool(run);
    const { servlet, tool, outcome, message, caller, task = null, call } = run;
    if (call && given.caller.length <= CALLER_CHARACTERS)
      this.#addCall({ servlet, tool, caller: given.caller, outcome, ...call });
    if (message === undefined) return;
    const error = { servlet, tool, outcome, message, caller, task };
    this.#addError({ ...error, count: 1, last: Date.now() });
  }

  /** Adds the batch of another isolate. */
  addAll({
    total,
    named,
    errors,
    stored,
    waiting,
    refused = [],
    calls = [],
    tools = [],
  }: CountsBatch): void {
    this.addRefused(refused);
    for (const one of tools) addTool(this.#toolOf(one), one);
    addSums(this.#total, total);
    for (const { by, name, sums } of named) addSums(this.#sumsOf(by, name), sums);
    for (const error of errors) this.#addError(error);
    for (const one of stored) this.setStored(one);
    for (const one of waiting) this.setWaiting(one);
    for (const one of calls) this.#addCall(one);
  }

  #addCall(call: EndedCall): void {
    if (this.#calls.length >= 2 * PASSED_CALLS) this.#calls = this.#calls.slice(-PASSED_CALLS);
    this.#calls.push(call);
  }

  /** The number of names is not limited here: they come from the server, and there are few. */
  addRefused(refused: readonly CountedRefusals[]): void {
    for (const { name, count } of refused)
      this.#refused.set(name, (this.#refused.get(name) ?? 0) + count);
  }

  #addError(error: CountedError): void {
    const { servlet, tool, outcome, message } = error;
    const key = [servlet, tool, outcome, message].join("\n");
    const { count = 0 } = this.#errors.get(key) ?? {};
    if (count === 0 && this.#errors.size >= this.#most) return;
    this.#errors.set(key, { ...error, count: count + error.count });
  }

  /**
   * Ignores an object above the limit: it is counted when it next stores something. An object that has nothing stored
   * any more may never send another size.
   */
  setStored(stored: StoredSize): void {
    const { object, bytes } = stored;
    if (bytes === 0 || this.#stored.has(object) || this.#stored.size < this.#most)
      this.#stored.set(object, { ...stored, ...briefly(stored) });
  }

  setWaiting(waiting: WaitStatus): void {
    if (this.#waiting.has(waiting.task) || this.#waiting.size < limits.waitingTasks)
      this.#waiting.set(waiting.task, { ...waiting, ...briefly(waiting) });
  }

  /** Returns the counts since the last batch, and resets them; undefined if there are none. */
  take(): CountsBatch | undefined {
    const total = this.#total;
    const stored = [...this.#stored.values()];
    this.#stored = new Map();
    const waiting = [...this.#waiting.values()];
    this.#waiting = new Map();
    const refused = [...this.#refused].map(([name, count]) => ({ name, count }));
    this.#refused = new Map();
    const others = [stored, waiting, refused];
    if (total.runs === 0 && others.every(({ length }) => length === 0)) return undefined;
    const named = DIMENSIONS.flatMap((by) =>
      [...this.#named[by]].map(([name, sums]): NamedSums => ({ by, name, sums })),
    );
    this.#total = noSums();
    this.#named = newNames();
    const errors = [...this.#errors.values()];
    this.#errors = new Map();
    const calls = this.#calls.slice(-PASSED_CALLS);
    this.#calls = [];
    const tools = [...this.#tools.values()];
    this.#tools = new Map();
    return { total, named, errors, stored, waiting, refused, calls, tools };
  }

  #addToTool(run: CountedRun): void {
    const { outcome, ms } = run;
    const counts = this.#toolOf(run);
    addRun(counts.sums, run);
    counts.ms += ms;
    counts.outcomes[outcome] = (counts.outcomes[outcome] ?? 0) + 1;
  }

  #toolOf({ servlet, tool }: Pick<ToolCounts, "servlet" | "tool">): ToolCounts {
    const key = `${servlet}\n${tool}`;
    if (!this.#tools.has(key) && this.#tools.size >= METRIC_TOOLS && servlet !== OTHERS)
      return this.#toolOf({ servlet: OTHERS, tool: OTHERS });
    return this.#tools.getOrInsertComputed(key, () => ({
      servlet,
      tool,
      sums: noSums(),
      ms: 0,
      outcomes: {},
    }));
  }

  #sumsOf(by: Dimension, given: string): Sums {
    const known = this.#named[by];
    const name = known.has(given) || known.size < this.#most ? given : OTHERS;
    return known.getOrInsertComputed(name, noSums);
  }
}

const briefly = ({ servlet, caller }: Pick<CountedRun, "servlet" | "caller">) => ({
  servlet: usageName(servlet),
  caller: usageName(caller),
});

const newNames = (): Record<Dimension, Map<string, Sums>> => ({
  servlet: new Map(),
  tool: new Map(),
  caller: new Map(),
});
