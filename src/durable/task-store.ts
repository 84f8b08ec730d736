import { limits } from "../limits.ts";
import { inputRequests, unanswered } from "../mcp/answers.ts";
import type { DetailedTask, Owner, Progress, Start, TaskCall, TaskEnd } from "../mcp/tasks.ts";
import { answered } from "../model.ts";
import type {
  Answer,
  Answers,
  Asks,
  Entry,
  Head,
  Keeper,
  Recorded,
  Suspended,
  WaitReason,
} from "../model.ts";
import { roundsOf } from "./ask-keys.ts";
import { SealedRows } from "./sealed-rows.ts";
import { dueAt, LOST, statusMessage, statusOf, TASK_SCHEMA, waitingOf } from "./task-rows.ts";
import type { Change, Row, Status, Texts } from "./task-rows.ts";
import type { Sealer } from "./vault.ts";

/**
 * All that is kept of one task, in its object's SQLite: one row of plain columns, sealed texts, and the
 * answers that its servlet was given, in their order and sealed. Each step of a task's life is written
 * at once with the alarm of the next, so that a crash in between leaves it before or after the step.
 */
export class TaskStore implements Keeper {
  readonly #storage: DurableObjectStorage;
  readonly #rows: SealedRows;
  readonly #id: string;
  #row: Row | undefined;
  #isForgotten = false;

  constructor(storage: DurableObjectStorage, sealer: Sealer, id: string) {
    this.#storage = storage;
    this.#rows = new SealedRows(storage.sql, sealer);
    this.#id = id;
    const { sql } = storage;
    const tables = sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'task'").toArray();
    if (tables.length > 0) this.#row = sql.exec<Row>("SELECT * FROM task").toArray()[0];
  }

  /** Makes a task of a call. Its first run is due, unless it is over or waits for something. */
  async create({ recorded, message, ttlMs, ...call }: TaskCall, start?: Start): Promise<void> {
    const now = Date.now();
    const ttl = Math.min(ttlMs ?? limits.taskMs, limits.taskMs);
    const { owner, principal } = call;
    const suspended = start && "reason" in start ? start : undefined;
    const end = start && !("reason" in start) ? start : undefined;
    const { entries = [], ...begun } = suspended?.recorded ?? recorded ?? {};
    const isWaiting = suspended !== undefined && suspended.reason.kind !== "task";
    const waiting = isWaiting ? waitingOf(suspended, { isSeen: owner === undefined }) : undefined;
    await this.#commit({
      texts: end
        ? { end }
        : {
            call,
            message: message ?? null,
            ...("head" in begun && { begun }),
            ...waiting?.texts,
          },
      answers: [...entries.entries()],
      also: () => {
        const { sql } = this.#storage;
        sql.exec(TASK_SCHEMA);
        const status = end ? statusOf(end) : (waiting?.status ?? "working");
        const notices = "notices" in begun ? begun.notices : 0;
        const times = [now, now, ttl, 0, notices];
        const owned = [owner?.session ?? null, owner?.isHidden === true ? 1 : 0];
        const row = [principal.name, status, ...times, ...owned];
        sql.exec("INSERT INTO task VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", ...row);
        this.#row = sql.exec<Row>("SELECT * FROM task").one();
      },
      alarm: () => (waiting ? this.#due(waiting.texts.waits) : end ? this.#due() : now),
    });
  }

  get exists(): boolean {
    return this.#row !== undefined;
  }

  get principal(): string {
    return this.#known.principal;
  }

  get status(): Status {
    return this.#known.status;
  }

  get isOver(): boolean {
    return this.status !== "working" && this.status !== "input_required";
  }

  forget(): Promise<void> {
    this.#row = undefined;
    this.#isForgotten = true;
    return this.#storage.deleteAll();
  }

  get owner(): Pick<Owner, "isHidden"> | undefined {
    const { session, hidden } = this.#known;
    return session === null ? undefined : { isHidden: hidden === 1 };
  }

  /** Its owner, and those that have adopted it. */
  get sessions(): string[] {
    return this.#known.session?.split(" ") ?? [];
  }

  adopt(session: string): void {
    const all = new Set([session, ...this.sessions]);
    this.#known.session = [...all].slice(0, limits.taskSessions).join(" ");
    this.#storage.sql.exec("UPDATE task SET session = ?", this.#known.session);
  }

  /** When the task is forgotten, in Unix ms. */
  get expires(): number {
    return this.#known.created + this.#known.ttl;
  }

  isOf(principal: string): boolean {
    return this.#row?.principal === principal;
  }

  /** Says how far the call is. */
  async tell(message: string): Promise<void> {
    await this.#commit({ texts: { message }, also: () => this.#setStatus(this.status) });
  }

  /** Begins a run; gives which one it is since the call has last got further. Should it die, another begins at `rerun`. */
  countRun(rerun: (runs: number) => number): number {
    const runs = ++this.#known.runs;
    this.#storage.sql.exec("UPDATE task SET runs = ?", runs);
    void this.#storage.setAlarm(rerun(runs));
    return runs;
  }

  /** The task as its client sees it. */
  async view(): Promise<DetailedTask> {
    const { status, created, updated } = this.#known;
    const waits = await this.waits();
    const said = status === "cancelled" ? "It was cancelled." : await this.#read("message");
    const message = statusMessage(said, waits);
    return {
      taskId: this.#id,
      status,
      ...(message !== undefined && { statusMessage: message }),
      createdAt: new Date(created).toISOString(),
      lastUpdatedAt: new Date(updated).toISOString(),
      ttlMs: this.#known.ttl,
      pollIntervalMs: limits.taskPollMs,
      ...(waits?.kind === "input" && {
        inputRequests: inputRequests(unanswered(waits.asks, waits.given)),
      }),
      ...(this.isOver ? await this.#read("end") : undefined),
    };
  }

  /** How far the task is, for its owner. */
  async progress(): Promise<Progress> {
    const waits = await this.waits();
    const isOpen = waits?.kind === "input" && !this.isOver;
    return { view: await this.view(), asks: isOpen ? unanswered(waits.asks, waits.given) : {} };
  }

  /** Undefined once the task is over. */
  call(): Promise<Omit<TaskCall, "recorded"> | undefined> {
    return this.#read("call");
  }

  /** How often the servlet has gone back to its client. */
  async asked(): Promise<number> {
    return roundsOf((await this.#read("keys")) ?? { used: {}, names: {} });
  }

  waits(): Promise<WaitReason | undefined> {
    return this.#read("waits");
  }

  /** What the next run begins with; undefined where the servlet is called anew. */
  async recorded(): Promise<Recorded | undefined> {
    const begun = await this.#read("begun");
    if (begun === undefined) return undefined;
    const entries = await this.#rows.answers();
    return { ...begun, entries, notices: Math.max(begun.notices, this.#known.notices) };
  }

  /** Keeps what a call waits for. */
  async suspend(suspended: Suspended): Promise<void> {
    const keys = await this.#read("keys");
    if (this.isOver) return;
    const { texts, status } = waitingOf(suspended, { keys, isSeen: this.owner === undefined });
    await this.#commit({
      texts,
      also: () => {
        if (suspended.recorded === undefined) this.#rows.clear("answers");
        this.#storage.sql.exec("UPDATE task SET runs = 0");
        this.#known.runs = 0;
        this.#setStatus(status);
      },
      alarm: () => this.#due(texts.waits),
    });
  }

  /** Keeps answers while others are missing. */
  async wait(waits: WaitReason): Promise<void> {
    await this.#commit({ texts: { waits }, alarm: () => dueAt(waits, this.expires) });
  }

  /** Gives the servlet the answers to all that it asked; its next run is due. */
  async answer(asks: Asks, given: Answers): Promise<void> {
    const { names } = (await this.#read("keys"))!;
    const own = Object.fromEntries(
      Object.keys(asks).map((name): [string, Answer] => [names[name] ?? name, given[name]!]),
    );
    const recorded = await this.recorded();
    if (recorded !== undefined)
      return this.#resume(answered(recorded, JSON.stringify(own), Date.now()));
    // It has returned what it asked, and is called anew.
    const call = (await this.call())!;
    const state = await this.#read("state");
    const input = { responses: own, ...(state !== undefined && { state }) };
    const leg = (call.leg ?? 0) + 1;
    await this.#commit({
      texts: { call: { ...call, input, leg }, waits: null },
      also: () => this.#setStatus("working"),
      alarm: Date.now,
    });
  }

  /** The call has slept until this time, as it is now; its next run is due. */
  async wake(at: number): Promise<void> {
    const recorded = await this.recorded();
    if (recorded !== undefined) await this.#resume(answered(recorded, "", at));
  }

  async #resume({ entries, ...begun }: Recorded): Promise<void> {
    await this.#commit({
      texts: { begun, waits: null },
      answers: [[entries.length - 1, entries.at(-1)!]],
      also: () => this.#setStatus("working"),
      alarm: Date.now,
    });
  }

  async begin(head: Head): Promise<void> {
    await this.#commit({ texts: { begun: { head, notices: this.#known.notices } } });
  }

  async intend(position: number, key: string, isRepeatable: boolean): Promise<boolean> {
    return !isRepeatable && this.#rows.intend(position, key);
  }

  async keep(position: number, entry: Entry, notices: number): Promise<void> {
    await this.#commit({
      answers: [[position, entry]],
      also: () => {
        const row = this.#known;
        Object.assign(row, { runs: 0, notices: Math.max(notices, row.notices) });
        this.#storage.sql.exec("UPDATE task SET runs = 0, notices = ?", row.notices);
      },
    });
  }

  /** Keeps how the call has ended, and nothing of how it came there. */
  async end(end: TaskEnd): Promise<void> {
    await this.#commit({ texts: { end }, also: () => this.#over(statusOf(end)) });
  }

  /** Ends a task whose stored texts cannot be opened any more, even one that is over. */
  lose(): Promise<void> {
    return this.#commit({ texts: { end: LOST }, also: () => this.#over("failed"), isFinal: true });
  }

  cancel(): void {
    this.#storage.transactionSync(() => this.#over("cancelled"));
  }

  #over(status: Status): void {
    this.#rows.clear();
    this.#setStatus(status);
    void this.#storage.setAlarm(this.#due());
  }

  /** The same as `dueAt`, or else soon: an owner that was not told before its task has died is told then. */
  #due(waits?: WaitReason): number {
    const next = waits ? dueAt(waits, this.expires) : this.expires;
    return this.owner === undefined ? next : Math.min(next, Date.now() + limits.ownerMs);
  }

  #setStatus(status: Status): void {
    const row = this.#known;
    Object.assign(row, { status, updated: Date.now() });
    this.#storage.sql.exec("UPDATE task SET status = ?, updated = ?", ...[row.status, row.updated]);
  }

  get #known(): Row {
    if (this.#row === undefined) throw new Error("there is no task here");
    return this.#row;
  }

  /** Nothing is written to a task that is over. */
  async #commit({ also, alarm, isFinal = false, ...writes }: Change): Promise<void> {
    const write = await this.#rows.prepare(writes);
    const isOver = this.#row !== undefined && this.isOver;
    if (this.#isForgotten || (isOver && !isFinal)) return;
    this.#storage.transactionSync(() => {
      also?.();
      write();
      if (alarm !== undefined) void this.#storage.setAlarm(alarm());
    });
  }

  async #read<K extends keyof Texts>(name: K): Promise<Texts[K] | undefined> {
    return (await this.#rows.text(name)) as Texts[K] | undefined;
  }
}
