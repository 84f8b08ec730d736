import { DurableObject } from "cloudflare:workers";
import type { CallRef } from "../../kernel/calls/call-ref.ts";
import type { Authenticator } from "../../kernel/auth/authenticator.ts";
import { Fault, report, type FaultCode } from "../../kernel/core/errors.ts";
import { settled, type Settled } from "../../kernel/core/settled.ts";
import { printable, printableLine } from "../../kernel/core/text.ts";
import type { Registry } from "../../kernel/servlets/registry.ts";
import { Alarm } from "../../kernel/storage/alarm.ts";
import { hasTable } from "../../kernel/storage/tables.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";
import type { Starts } from "../tasks/starts.ts";
import type { UnattendedRuns } from "../tasks/unattended.ts";
import { limits } from "./limits.ts";
import {
  SCHEDULE_META,
  type RunNote,
  type Schedule,
  type ScheduledRun,
  type ShownSchedule,
  type StoredSchedule,
} from "./schedule.ts";
import { firstDue, timesOf, type Times } from "./times.ts";

/** The parts of the server that schedules use. */
export interface ScheduleServer {
  readonly sealer: Sealer;
  /** Limits how many owners' runs are made at once in an isolate. */
  readonly makings: Starts;
  readonly unattended?: UnattendedRuns;
  readonly authenticator: Pick<Authenticator, "current">;
  readonly rateLimiter: { count(caller: string): Promise<void> };
  registry(): Promise<Registry>;
}

interface Row extends Record<string, SqlStorageValue> {
  id: string;
  servlet: string;
  /** When it is due, or when a run that could not begin is tried again; null if it is paused or over. */
  next: number | null;
  paused: string | null;
  /** The newest run: its task, when it was due, earlier due times that it makes up for. */
  task: string | null;
  due: number;
  missed: number;
  /** 0 while the run has yet to begin. */
  begun: 0 | 1;
  /** Attempts to begin it that failed, and runs in a row that were refused. */
  failures: number;
  refused: number;
  sealed: ArrayBuffer;
}

const TABLES = `
CREATE TABLE IF NOT EXISTS schedules (id TEXT NOT NULL, servlet TEXT NOT NULL, next INTEGER, paused TEXT, task TEXT,
  due INTEGER NOT NULL, missed INTEGER NOT NULL, begun INTEGER NOT NULL, failures INTEGER NOT NULL, refused INTEGER NOT NULL,
  sealed BLOB NOT NULL, PRIMARY KEY (servlet, id));
CREATE TABLE IF NOT EXISTS runs (servlet TEXT NOT NULL, id TEXT NOT NULL, due INTEGER NOT NULL, at INTEGER NOT NULL,
  missed INTEGER NOT NULL, task TEXT, why TEXT);`;

/** Codes of temporary faults, after which a run is tried again. */
const TEMPORARY: ReadonlySet<string> = new Set<FaultCode>([
  "unavailable",
  "too_many",
  "storage_full",
  "internal",
]);

const PAUSED = "Somebody paused it on the page Schedules.";
const STILL_GOING = "The previous run is still going.";

/**
 * The schedules of one caller, or of one servlet: those of its manifest, and those that its own runs have made. An alarm
 * begins the runs that are due. Each is a task, whose id is stored first, so that a crash neither loses nor doubles it.
 */
export class Schedules extends DurableObject<object> {
  readonly #server: ScheduleServer;
  readonly #sql = this.ctx.storage.sql;
  readonly #alarm = new Alarm(this.ctx.storage);
  readonly #owner: string;
  #sealer: Sealer | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(state: DurableObjectState, env: object, server: ScheduleServer) {
    super(state, env);
    this.#server = server;
    this.#owner = state.id.name ?? "";
  }

  /**
   * Adds a schedule, in place of the one with its id. Throws `invalid_params` if it is never due, the manifest has its id, or
   * there are too many.
   */
  put(schedule: StoredSchedule): Promise<Settled<ShownSchedule>> {
    return this.#settledInTurn(async () => {
      const { id, servlet } = schedule;
      const next = firstDue(schedule.timing, schedule.made);
      const sealed = await this.#seal(schedule);
      if (await this.#isOfManifest(this.#row(servlet, id)))
        throw new Fault(
          "invalid_params",
          `The manifest of ${servlet} has the schedule ${id}. Choose another id.`,
        );
      this.#makeRoom(servlet, id);
      this.#insert(schedule, next, sealed);
      await this.#plan();
      return this.#shown(this.#row(servlet, id)!, schedule);
    });
  }

  /**
   * Stores the schedules of a servlet's manifest in place of those that it had before. Unchanged schedules keep their state,
   * paused ones stay paused, and those that the servlet's own runs have made stay.
   */
  declare(servlet: string, declared: readonly StoredSchedule[]): Promise<void> {
    return this.#inTurn(() => this.#declare(servlet, declared));
  }

  async #declare(servlet: string, declared: readonly StoredSchedule[]): Promise<void> {
    const rows = await Promise.all(
      declared.map(async (schedule) => {
        const before = this.#row(servlet, schedule.id);
        const stored = before && (await this.#open(before));
        const isSame = stored !== undefined && isEqual(stored, schedule);
        // Periods begin when the schedule was first declared.
        const kept = { ...schedule, ...(isSame && { made: stored.made }) };
        return {
          kept,
          isSame,
          isPaused: before?.paused === PAUSED,
          sealed: await this.#seal(kept),
        };
      }),
    );
    const names = new Set(declared.map(({ id }) => id));
    for (const row of this.#rows("servlet = ?", servlet))
      if (!names.has(row.id) && (await this.#isOfManifest(row))) this.#delete(row);
    for (const { kept, isSame, isPaused, sealed } of rows) {
      if (isSame) {
        this.#set(kept, "sealed = ?", sealed);
        continue;
      }
      try {
        this.#insert(kept, firstDue(kept.timing, kept.made), sealed);
        if (isPaused) this.#pause(kept, PAUSED);
      } catch (error) {
        // The tools check the manifests that they bundle; of others, the page says why a schedule never runs.
        this.#insert(kept, null, sealed);
        this.#pause(kept, printableLine(Fault.from(error).message));
      }
    }
    await this.#plan();
  }

  /** The schedules, by when they are due; of one servlet, or all. */
  async list(servlet?: string): Promise<ShownSchedule[]> {
    const rows = servlet === undefined ? this.#rows("TRUE") : this.#rows("servlet = ?", servlet);
    if (rows.length > 0) await this.#plan();
    const all = await Promise.all(
      rows.map(async (row) => {
        const stored = await this.#open(row);
        return stored && this.#shown(row, stored);
      }),
    );
    return all.filter((one) => one !== undefined);
  }

  /** Deletes a schedule; a run that has begun goes on. False if there is none, or if the manifest has it. */
  cancel(servlet: string, id: string): Promise<boolean> {
    return this.#inTurn(async () => {
      const row = this.#row(servlet, id);
      if (row === undefined || (await this.#isOfManifest(row))) return false;
      this.#delete(row);
      await this.#plan();
      return true;
    });
  }

  /** Pauses a schedule until `resume`. */
  pause(servlet: string, id: string): Promise<void> {
    return this.#inTurn(async () => {
      const row = this.#row(servlet, id);
      if (row !== undefined) this.#pause(row, PAUSED);
    });
  }

  /** Resumes a paused schedule; due times that have passed are not made up for. Throws `invalid_params` if it is never due. */
  resume(servlet: string, id: string): Promise<Settled<void>> {
    return this.#settledInTurn(async () => {
      const row = this.#row(servlet, id);
      const stored = row && (await this.#open(row));
      if (stored === undefined || row?.paused === null) return;
      const next = timesOf(stored.timing, stored.made).after(Date.now()) ?? null;
      this.#set({ servlet, id }, "next = ?, paused = NULL, refused = 0", next);
      await this.#plan();
    });
  }

  /** Begins a run now, or tries again one that could not begin. Throws `conflict` while a run goes, and as `UnattendedRuns.begin`. */
  runNow(servlet: string, id: string): Promise<Settled<void>> {
    return this.#settledInTurn(async () => {
      const row = this.#row(servlet, id);
      const stored = row && (await this.#open(row));
      if (stored === undefined) throw new Fault("not_found", "There is no such schedule any more.");
      if (isRetried(row!)) {
        this.#set(row!, "next = ?", Date.now());
        return this.#plan();
      }
      if (await this.#isGoing(row!, stored))
        throw new Fault(
          "conflict",
          "A run of this schedule is still going. Wait until it has ended.",
        );
      const run = { task: this.#server.unattended!.newId(), due: Date.now(), missed: 0 };
      // Not stored before it begins: whoever is told that it did not begin may try again.
      await this.#begin({ ...row!, ...run }, stored, row!.next);
    });
  }

  forgetAll(): Promise<void> {
    return this.#inTurn(() => this.ctx.storage.deleteAll());
  }

  override alarm(info?: AlarmInvocationInfo): Promise<void> {
    return this.#alarm.ring(info, async (now) => {
      const due = () => this.#rows("next <= ?", now).at(0);
      while (due() !== undefined) {
        const made = await this.#server.makings.take(this.#owner);
        try {
          await this.#inTurn(async () => {
            const row = due();
            if (row !== undefined) await this.#serve(row, now);
          });
          // Requests have to be served between so many runs.
          await scheduler.wait(limits.makingPauseMs);
        } finally {
          made();
        }
      }
      await this.#plan();
    });
  }

  /** Runs changes one after the other: a change that waits for keys or tasks must not see half of another. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = Promise.allSettled([done]);
    return done;
  }

  #settledInTurn<T>(work: () => Promise<T>): Promise<Settled<T>> {
    return settled(() => this.#inTurn(work));
  }

  /** Begins the run of a schedule that is due, and sets when the schedule is due next. */
  async #serve(row: Row, now: number): Promise<void> {
    const isStored = row.task !== null && row.begun === 0;
    let begins = isRetried(row) ? row : { ...row, due: row.next! };
    let next: number | null | undefined;
    try {
      const stored = await this.#open(row);
      const isOver =
        stored === undefined || (stored.isDeclared && !(await this.#isDeclared(stored)));
      if (isOver) return this.#delete(row);
      const times = timesOf(stored.timing, stored.made);
      const newest = isStored ? row : newestDue(times, begins.due, now);
      next = times.after(newest.due) ?? null;
      if (!isStored) {
        if (await this.#isGoing(row, stored)) {
          this.ctx.storage.transactionSync(() => {
            this.#note(row, { ...newest, at: now, why: STILL_GOING });
            this.#set(row, "next = ?, failures = 0", next!);
          });
          return;
        }
        const run = { ...row, ...newest, task: this.#server.unattended!.newId(), failures: 0 };
        const what = "task = ?, due = ?, missed = ?, begun = 0, failures = 0";
        this.#set(row, what, run.task, run.due, run.missed);
        begins = run;
      }
      await this.#begin(begins, stored, next);
    } catch (error) {
      const fault = Fault.from(error);
      if (TEMPORARY.has(fault.code)) this.#retry(begins, now, fault);
      else this.#refuse(begins, now, { fault, next });
    }
  }

  /** Begins a run, with the rights that its maker has now. The schedule is due at `next` then. */
  async #begin(row: Row, schedule: StoredSchedule, next: number | null): Promise<void> {
    const { unattended, authenticator, rateLimiter } = this.#server;
    const principal = await authenticator.current(schedule.principal);
    await rateLimiter.count(this.#owner);
    const { due, missed, task } = row;
    const note: RunNote = { name: schedule.id, due: new Date(due).toISOString(), missed };
    const registry = (await this.#server.registry()).for({ principal });
    await unattended!.begin({
      id: task!,
      principal,
      ref: await scheduledRef(schedule, note, registry),
      meta: { [SCHEDULE_META]: note },
      origin: schedule.origin,
    });
    this.ctx.storage.transactionSync(() => {
      this.#set(row, "task = ?, begun = 1, failures = 0, refused = 0, next = ?", task, next);
      this.#note(row, { due, at: Date.now(), missed, task: task! });
    });
  }

  /** True while the newest run has not ended. */
  async #isGoing({ task, begun }: Row, { principal }: StoredSchedule): Promise<boolean> {
    if (task === null || begun === 0) return false;
    const status = await this.#server.unattended!.statusOf(principal, task);
    return status === "working" || status === "input_required";
  }

  /** True while the manifest of its servlet has this schedule. */
  async #isDeclared({ servlet, id }: Schedule): Promise<boolean> {
    const { servlets } = await this.#server.registry();
    const { schedules = {} } = servlets.find(({ name }) => name === servlet)?.manifest ?? {};
    return Object.hasOwn(schedules, id);
  }

  /** Tries a run again later that could not begin now. */
  #retry(row: Row, now: number, fault: Fault): void {
    if (fault.code === "internal") report(fault);
    const pause = Math.min(MOST_RETRY_MS, limits.runRetryMs * 2 ** row.failures);
    this.#set(row, "next = ?, due = ?, failures = failures + 1", now + pause, row.due);
  }

  /** Records why a run cannot begin. Pauses the schedule after several in a row, or if no server knows when it is due next. */
  #refuse(
    row: Row,
    now: number,
    { fault, next }: { fault: Fault; next: number | null | undefined },
  ): void {
    const why = printableLine(fault.message);
    this.ctx.storage.transactionSync(() => {
      this.#note(row, { due: row.due, at: now, missed: row.missed, why });
      this.#set(row, "task = NULL, failures = 0, refused = refused + 1, next = ?", next ?? null);
      if (next === undefined || row.refused + 1 >= limits.refusedRuns) this.#pause(row, why);
    });
  }

  /** Pauses a schedule, and drops a run that could not begin. */
  #pause(of: Pick<Schedule, "servlet" | "id">, why: string): void {
    const what = "next = NULL, paused = ?, failures = 0, task = CASE begun WHEN 1 THEN task END";
    this.#set(of, what, why);
  }

  /**
   * Records a run, and forgets the oldest beyond `limits.shownRuns`. Runs in a row that did not begin for the same reason are
   * recorded as one: the run before them stays among those that are shown.
   */
  #note({ servlet, id }: Row, { due, at, missed, task, why }: ScheduledRun): void {
    const own = "servlet = ? AND id = ?";
    const last = this.#sql
      .exec<{ rowid: number; missed: number; why: string | null }>(
        `SELECT rowid, missed, why FROM runs WHERE ${own} ORDER BY rowid DESC LIMIT 1`,
        servlet,
        id,
      )
      .toArray()[0];
    const isSame = why !== undefined && last?.why === why;
    if (isSame) this.#sql.exec("DELETE FROM runs WHERE rowid = ?", last.rowid);
    const all = isSame ? last.missed + 1 + missed : missed;
    const values = [servlet, id, due, at, all, task ?? null, why ?? null];
    this.#sql.exec("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", ...values);
    this.#sql.exec(
      `DELETE FROM runs WHERE ${own} AND rowid NOT IN
       (SELECT rowid FROM runs WHERE ${own} ORDER BY rowid DESC LIMIT ?)`,
      servlet,
      id,
      servlet,
      id,
      limits.shownRuns,
    );
  }

  /** Sets the alarm to the first due time; every access does, since an alarm may be lost. Without schedules, stores nothing. */
  async #plan(): Promise<void> {
    const [first] = this.#rows("TRUE");
    if (first === undefined) await this.ctx.storage.deleteAll();
    else if (first.next !== null) await this.#alarm.set(first.next);
  }

  /** Makes room for this schedule: of those that are over, deletes the one that was due first. Throws `invalid_params`. */
  #makeRoom(servlet: string, id: string): void {
    const others = this.#rows("servlet <> ? OR id <> ?", servlet, id);
    if (others.length < limits.schedules) return;
    const over = others.find(({ next, paused }) => next === null && paused === null);
    if (over === undefined)
      throw new Fault(
        "invalid_params",
        `This caller has ${others.length} schedules, which is the limit. Cancel one first.`,
      );
    this.#delete(over);
  }

  async #isOfManifest(row: Row | undefined): Promise<boolean> {
    return row !== undefined && (await this.#open(row))?.isDeclared === true;
  }

  #shown(
    row: Row,
    { id, servlet, timing, tool, arguments: input, isDeclared, principal: by }: StoredSchedule,
  ): ShownSchedule {
    const runs = this.#sql
      .exec<RunRow>(
        "SELECT due, at, missed, task, why FROM runs WHERE servlet = ? AND id = ? ORDER BY rowid DESC",
        row.servlet,
        row.id,
      )
      .toArray()
      .map(({ task, why, ...run }) => ({ ...run, ...(task && { task }), ...(why && { why }) }));
    return {
      id,
      servlet,
      timing,
      tool,
      arguments: input,
      isDeclared,
      by,
      ...(row.next !== null && { next: row.next }),
      ...(row.paused !== null && { paused: row.paused }),
      runs,
    };
  }

  #row(servlet: string, id: string): Row | undefined {
    return this.#rows("servlet = ? AND id = ?", servlet, id)[0];
  }

  /** By when they are due; an owner that never had a schedule has no tables. */
  #rows(where: string, ...values: SqlStorageValue[]): Row[] {
    if (!hasTable(this.#sql, "schedules")) return [];
    const query = `SELECT * FROM schedules WHERE ${where} ORDER BY next IS NULL, next, due`;
    return this.#sql.exec<Row>(query, ...values).toArray();
  }

  /** Stores a schedule. A run of the one with its id that has begun is its newest run. */
  #insert({ servlet, id }: Schedule, next: number | null, sealed: ArrayBuffer): void {
    this.#sql.exec(TABLES);
    this.#sql.exec(
      `INSERT INTO schedules VALUES (?, ?, ?, NULL, NULL, 0, 0, 0, 0, 0, ?) ON CONFLICT DO UPDATE SET next = excluded.next,
       sealed = excluded.sealed, paused = NULL, failures = 0, refused = 0, task = CASE begun WHEN 1 THEN task END`,
      id,
      servlet,
      next,
      sealed,
    );
  }

  #set(
    { servlet, id }: Pick<Schedule, "servlet" | "id">,
    what: string,
    ...values: SqlStorageValue[]
  ): void {
    const query = `UPDATE schedules SET ${what} WHERE servlet = ? AND id = ?`;
    this.#sql.exec(query, ...values, servlet, id);
  }

  #delete({ servlet, id }: Row): void {
    for (const table of ["schedules", "runs"])
      this.#sql.exec(`DELETE FROM ${table} WHERE servlet = ? AND id = ?`, servlet, id);
  }

  /** The sealer of the owner, whose key does not expire. */
  get #ownSealer(): Sealer {
    return (this.#sealer ??= this.#server.sealer.lasting(`schedules of ${this.#owner}`));
  }

  async #seal(schedule: StoredSchedule): Promise<ArrayBuffer> {
    const bytes = encoder.encode(JSON.stringify(schedule));
    return (await this.#ownSealer.seal(bytes, placeOf(schedule))).buffer;
  }

  /** Undefined if the key that sealed it is gone. */
  async #open(row: Row): Promise<StoredSchedule | undefined> {
    const opened = await this.#ownSealer.open(new Uint8Array(row.sealed), placeOf(row));
    return opened && (JSON.parse(new TextDecoder().decode(opened)) as StoredSchedule);
  }
}

/** True if the newest run could not begin so far: `due` is when it was due, `next` when it is tried again. */
const isRetried = ({ task, begun, failures }: Row): boolean =>
  failures > 0 || (task !== null && begun === 0);

type RunRow = { due: number; at: number; missed: number; task: string | null; why: string | null };

const encoder = new TextEncoder();

const placeOf = ({ servlet, id }: Pick<Schedule, "servlet" | "id">): string => `${servlet} ${id}`;

const MOST_RETRY_MS = 3_600_000;

/** The newest due time up to now, beginning with `due`, and the number of due times before it. */
function newestDue(times: Times, due: number, now: number): { due: number; missed: number } {
  const found = { due, missed: 0 };
  for (let then = times.after(due); then !== undefined && then <= now; then = times.after(then)) {
    // The rest is not counted.
    if (++found.missed === limits.missedRuns) return { due: now, missed: found.missed };
    found.due = then;
  }
  return found;
}

/** True for schedules with the same timing, tool and arguments. */
const isEqual = (one: Schedule, other: Schedule): boolean =>
  JSON.stringify([one.timing, one.tool, one.arguments]) ===
  JSON.stringify([other.timing, other.tool, other.arguments]);

/** What a schedule runs, for a caller with this registry. Throws `invalid_params`. */
export async function scheduledRef(
  { servlet, tool, arguments: input = {} }: Schedule,
  note: RunNote | undefined,
  registry: Registry,
): Promise<CallRef> {
  if (tool === undefined) return { kind: "schedule", name: servlet, input: note ?? {} };
  const { tools } = await registry.catalog();
  const found = tools.entries().find(([, one]) => one.servlet.name === servlet && one.own === tool);
  if (found === undefined)
    throw new Fault(
      "invalid_params",
      `The servlet ${servlet} has no tool ${printable(tool)}, or whoever made the schedule may not call it.`,
    );
  return { kind: "tool", name: found[0], input };
}
