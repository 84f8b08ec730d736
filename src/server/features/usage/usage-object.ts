import {
  type CountedError,
  type Dimension,
  type Report,
  SPANS,
  type StoredSize,
  type Sums,
  type UsageSpan,
  type WaitStatus,
  noSums,
} from "../../kernel/observe/counted.ts";
import { usageName } from "../../kernel/observe/usage-name.ts";
import { DurableObject } from "cloudflare:workers";
import { limits } from "./limits.ts";
import { beginningOf, printable } from "../../kernel/core/text.ts";
import { Alarm } from "../../kernel/storage/alarm.ts";
import { originalOf } from "../../kernel/storage/copies.ts";
import { isDue } from "../../kernel/storage/tables.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";
import {
  CallLog,
  type CallNames,
  type CallPage,
  type CallQuery,
} from "../../kernel/observe/call-log.ts";
import { countingIn } from "./counting.ts";
import { Metrics, metricsFrom } from "./metrics.ts";
import { CountRows } from "./count-rows.ts";
import { addSums, type CountsBatch } from "./counts.ts";

/** Objects of servlet state whose sizes are stored: the largest ones, 2 MB of rows. */
const USAGE_OBJECTS = 10_000;

/** Limits of the audit log: age, number of entries, and characters of an entry. 600 KB of rows. */
const ACTS_MS = 90 * 86_400_000;
const ACTS = 1000;
const ACT_CHARACTERS = 300;

/** An entry of the audit log: an operator's action. */
export interface Act {
  /** When, in Unix ms. */
  at: number;
  /** The operator's name. */
  by: string;
  /** On a page, by a command, or by an agent's tool. */
  how: "page" | "command" | "agent";
  /** As a sentence. */
  what: string;
}

/** The value of the dimension column for refused requests, which are not runs. */
const REFUSED = "refused";

const TABLE = `
CREATE TABLE IF NOT EXISTS failures (servlet TEXT NOT NULL, tool TEXT NOT NULL, outcome TEXT NOT NULL, message TEXT NOT NULL,
  count INTEGER NOT NULL, last INTEGER NOT NULL, caller TEXT NOT NULL, task TEXT, PRIMARY KEY (servlet, tool, outcome, message)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS stored (object TEXT PRIMARY KEY, servlet TEXT NOT NULL, caller TEXT NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS waiting (task TEXT PRIMARY KEY, servlet TEXT NOT NULL, tool TEXT NOT NULL, caller TEXT NOT NULL,
  until INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS forgotten (name TEXT PRIMARY KEY, until INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS acts (at INTEGER NOT NULL, by TEXT NOT NULL, how TEXT NOT NULL, what TEXT NOT NULL);`;

/** The binding of the class below. */
export interface UsageEnv {
  USAGE?: DurableObjectNamespace<Usage>;
}

/**
 * The statistics of a server for operators: the counters of all isolates by minute, hour, day, each kept for the span
 * that shows it; the last errors and calls; and the audit log.
 */
export class Usage extends DurableObject<UsageEnv> {
  readonly #sql = this.ctx.storage.sql;
  /** In a copy: passes counters on to the original. */
  readonly #counting: ReturnType<typeof countingIn>;
  readonly #counts: CountRows;
  readonly #calls: CallLog;
  /** Absent in copies, and if metrics are not exported. */
  readonly #metrics: Metrics | undefined;
  readonly #alarm = new Alarm(this.ctx.storage);

  constructor(
    state: DurableObjectState,
    env: UsageEnv,
    { sealer }: { sealer: Sealer | undefined } = { sealer: undefined },
  ) {
    super(state, env);
    const original = originalOf(state.id.name);
    if (original !== undefined) this.#counting = countingIn(() => env.USAGE!.getByName(original));
    else {
      this.#sql.exec(TABLE);
      const target = metricsFrom(env);
      this.#metrics = target && new Metrics(this.#sql, target);
    }
    this.#counts = new CountRows(this.#sql);
    this.#calls = new CallLog(this.#sql, sealer);
  }

  async add(taken: CountsBatch): Promise<void> {
    if (this.#counting !== undefined) return this.#counting.taken(taken);
    const { total, named, errors, stored, waiting, refused = [], calls = [] } = taken;
    const writeCalls = await this.#calls.prepare(calls);
    const now = Date.now();
    const isKnown = this.#known();
    this.ctx.storage.transactionSync(() => {
      this.#counts.add(now, [
        { by: "", name: "", sums: total },
        ...refused.map(({ name, count }) => ({
          by: REFUSED,
          name,
          sums: { ...noSums(), runs: count },
        })),
        ...named.filter(({ by, name }) => by !== "caller" || isKnown(name)),
      ]);
      const isOfKnown = ({ caller }: { caller: string }) => isKnown(caller);
      this.#setStored(stored.filter(isOfKnown));
      this.#setWaiting(waiting.filter(isOfKnown), now);
      for (const one of errors.filter(isOfKnown)) {
        const { servlet, tool, outcome, message, count, last, caller, task } = one;
        this.#sql.exec(
          `INSERT INTO failures VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
           count = count + excluded.count, last = excluded.last, caller = excluded.caller, task = excluded.task`,
          servlet,
          tool,
          outcome,
          message,
          count,
          last,
          caller,
          task,
        );
      }
      // Errors of a clock that was ahead would be the newest, and displace all others.
      const kept = [now - SPANS.month.ms, now + SPANS.day.ms];
      this.#sql.exec("DELETE FROM failures WHERE last NOT BETWEEN ? AND ?", ...kept);
      this.#keepMost("failures", "servlet, tool, outcome, message", "last", limits.shownErrors);
      writeCalls((caller) => isKnown(usageName(caller)));
      this.#metrics?.add(taken, now);
    });
    if (this.#metrics === undefined) return;
    // The clock may have been set back since the alarm was set.
    const next = now + this.#metrics.intervalMs;
    if (!(await this.#alarm.isPlanned(next + limits.clockSlackMs))) await this.#alarm.set(next);
  }

  /** Exports metrics at each interval after the first count, even without changes: a gap would look like an outage. */
  override alarm(info?: AlarmInvocationInfo): Promise<void> {
    return this.#alarm.ring(info, async (now) => {
      if (this.#metrics === undefined) return;
      await this.#alarm.set(now + this.#metrics.intervalMs);
      await this.#metrics.send(now, {
        bytes: this.#bytesBy("servlet"),
        waiting: this.#waitingBy("servlet"),
      });
    });
  }

  #setStored(stored: readonly StoredSize[]): void {
    for (const { object, servlet, caller, bytes } of stored) {
      const row = [object, servlet, caller, bytes];
      if (bytes === 0) this.#sql.exec("DELETE FROM stored WHERE object = ?", object);
      else this.#sql.exec("INSERT OR REPLACE INTO stored VALUES (?, ?, ?, ?)", ...row);
    }
    if (isDue(stored.length, USAGE_OBJECTS))
      this.#keepMost("stored", "object", "bytes", USAGE_OBJECTS);
  }

  #setWaiting(waiting: readonly WaitStatus[], now: number): void {
    for (const { task, servlet, tool, caller, until } of waiting) {
      const row = [task, servlet, tool, caller, until];
      if (until === 0) this.#sql.exec("DELETE FROM waiting WHERE task = ?", task);
      else this.#sql.exec("INSERT OR REPLACE INTO waiting VALUES (?, ?, ?, ?, ?)", ...row);
    }
    if (!isDue(waiting.length, limits.waitingTasks)) return;
    this.#sql.exec("DELETE FROM waiting WHERE until <= ?", now);
    this.#keepMost("waiting", "task", "until", limits.waitingTasks);
  }

  /** Keeps the `count` rows of a table with this key that have the largest values in `column`, and deletes the others. */
  #keepMost(table: string, key: string, column: string, count: number): void {
    const others = `SELECT ${key} FROM ${table} ORDER BY ${column} DESC LIMIT -1 OFFSET ?`;
    this.#sql.exec(`DELETE FROM ${table} WHERE (${key}) IN (${others})`, count);
  }

  /** The errors of servlets, the newest first. */
  async errors(): Promise<CountedError[]> {
    return this.#sql
      .exec<CountedError & Record<string, SqlStorageValue>>(
        "SELECT * FROM failures ORDER BY last DESC",
      )
      .toArray();
  }

  /** The calls that match the query, and the filterable values of the calls of all callers or of one. */
  async calls(query: CallQuery, caller?: string): Promise<CallPage & { names: CallNames }> {
    return { ...(await this.#calls.list(query)), names: this.#calls.names(caller) };
  }

  /** The number of calls that are waiting now, of this servlet, tool or caller. */
  async waitingOf(by: Dimension, name: string): Promise<number> {
    return this.#sql
      .exec<{ count: number }>(
        `SELECT COUNT(*) AS count FROM waiting WHERE until > ? AND ${by} = ?`,
        Date.now(),
        name,
      )
      .one().count;
  }

  /** The sizes of servlet state for this caller, the largest first; some seconds old, and of the largest objects only. */
  async storedFor(caller: string): Promise<{ servlet: string; bytes: number }[]> {
    return this.#sql
      .exec<{ servlet: string; bytes: number }>(
        "SELECT servlet, SUM(bytes) AS bytes FROM stored WHERE caller = ? GROUP BY servlet ORDER BY 2 DESC LIMIT ?",
        usageName(caller),
        limits.usageNames,
      )
      .toArray();
  }

  /** Deletes the counters and calls of this caller; the totals stay. */
  async forget(caller: string): Promise<void> {
    const name = usageName(caller);
    // Isolates may still send counts of this caller.
    const until = Date.now() + 4 * limits.usageMs;
    this.#sql.exec("INSERT OR REPLACE INTO forgotten VALUES (?, ?)", name, until);
    this.#counts.forget("caller", name);
    for (const table of ["failures", "stored", "waiting"])
      this.#sql.exec(`DELETE FROM ${table} WHERE caller = ?`, name);
    this.#calls.forget(caller);
  }

  /** False for a caller who was forgotten a short time ago. */
  #known(): (name: string) => boolean {
    this.#sql.exec("DELETE FROM forgotten WHERE until < ?", Date.now());
    const rows = this.#sql.exec<{ name: string }>("SELECT name FROM forgotten").toArray();
    const forgotten = new Set(rows.map(({ name }) => name));
    return (name) => !forgotten.has(name);
  }

  /** Adds an entry to the audit log. */
  async addAct({ by, how, what }: Omit<Act, "at">): Promise<void> {
    const now = Date.now();
    const [name, sentence] = [by, what].map((text) => beginningOf(printable(text), ACT_CHARACTERS));
    this.#sql.exec("INSERT INTO acts VALUES (?, ?, ?, ?)", now, name!, how, sentence!);
    this.#keepMost("acts", "rowid", "rowid", ACTS);
    this.#sql.exec("DELETE FROM acts WHERE at < ?", now - ACTS_MS);
  }

  /** The audit log, the newest entry first. */
  async acts(): Promise<Act[]> {
    return this.#sql
      .exec<Act & Record<string, SqlStorageValue>>("SELECT * FROM acts ORDER BY rowid DESC")
      .toArray();
  }

  async report(span: UsageSpan, by: Dimension): Promise<Report> {
    const since = Date.now() - SPANS[span].ms;
    const rows = (of: string) => this.#counts.list(span, of, since);
    const steps = rows("").map(({ start, sums }) => ({ start, sums }));
    const total = noSums();
    for (const { sums } of steps) addSums(total, sums);
    const named = new Map<string, Sums>();
    for (const { name, sums } of rows(by)) addSums(named.getOrInsertComputed(name, noSums), sums);
    const bytes = this.#bytesBy(by);
    const waiting = this.#waitingBy(by);
    for (const name of [...bytes.keys(), ...waiting.keys()])
      named.getOrInsertComputed(name, noSums);
    const sorted = [...named]
      .map(([name, sums]) => ({
        name,
        sums,
        bytes: bytes.get(name) ?? 0,
        waiting: waiting.get(name) ?? 0,
      }))
      .toSorted((a, b) => b.sums.runs - a.sums.runs);
    const { sum } = this.#sql
      .exec<{ sum: number }>("SELECT IFNULL(SUM(bytes), 0) AS sum FROM stored")
      .one();
    const { count } = this.#sql
      .exec<{ count: number }>("SELECT COUNT(*) AS count FROM waiting WHERE until > ?", Date.now())
      .one();
    const shown = sorted.slice(0, limits.usageNames + 1);
    const numbers = new Map<string, number>();
    for (const { name, sums } of rows(REFUSED))
      numbers.set(name, (numbers.get(name) ?? 0) + sums.runs);
    const refused = [...numbers]
      .map(([name, times]) => ({ name, count: times }))
      .toSorted((a, b) => b.count - a.count);
    return { steps, total, named: shown, bytes: sum, waiting: count, refused };
  }

  #waitingBy(by: Dimension): Map<string, number> {
    const rows = this.#sql
      .exec<{ name: string; count: number }>(
        `SELECT ${by} AS name, COUNT(*) AS count FROM waiting WHERE until > ? AND ${by} <> '' GROUP BY ${by} ORDER BY 2 DESC LIMIT ?`,
        Date.now(),
        limits.usageNames,
      )
      .toArray();
    return new Map(rows.map(({ name, count }) => [name, count]));
  }

  /** The names with the most stored bytes; none for tools. */
  #bytesBy(by: Dimension): Map<string, number> {
    if (by === "tool") return new Map();
    const rows = this.#sql
      .exec<{ name: string; bytes: number }>(
        `SELECT ${by} AS name, SUM(bytes) AS bytes FROM stored WHERE ${by} <> '' GROUP BY ${by} ORDER BY 2 DESC LIMIT ?`,
        limits.usageNames,
      )
      .toArray();
    return new Map(rows.map(({ name, bytes }) => [name, bytes]));
  }
}
