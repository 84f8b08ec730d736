import { limits } from "../limits.ts";
import { inputRequests, unanswered } from "../mcp/answers.ts";
import type { DetailedTask, TaskCall, TaskEnd } from "../mcp/tasks.ts";
import { answered } from "../model.ts";
import type {
  Answers,
  Asks,
  Entry,
  Head,
  Intent,
  Json,
  Keeper,
  Recorded,
  Suspended,
  WaitReason,
} from "../model.ts";
import { freshKeys, type AskKeys } from "./ask-keys.ts";
import { SealedRows, type Writes } from "./sealed-rows.ts";
import type { Sealer } from "./vault.ts";

export type Status = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** A task's row: all that is not sealed. */
interface Row extends Record<string, SqlStorageValue> {
  principal: string;
  status: Status;
  created: number;
  updated: number;
  runs: number;
  notices: number;
}

/** What is kept sealed, by name. */
interface Texts {
  call: Omit<TaskCall, "recorded" | "message">;
  /** How far the servlet has said to be. */
  message: string;
  /** What the next run begins with, besides its answers; absent where the servlet is called anew. */
  begun: Omit<Recorded, "entries">;
  waits: WaitReason;
  /** What the servlet wants back when it is called anew. */
  state: string;
  keys: AskKeys;
  end: TaskEnd;
}

/** What is written at once, or not at all. */
interface Change extends Writes {
  /** Null to forget one. */
  texts?: { [K in keyof Texts]?: Texts[K] | null };
  /** Further writes. */
  also?: () => void;
  /** When the next alarm is due, in Unix ms. */
  alarm?: number;
}

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

  constructor(storage: DurableObjectStorage, sealer: Sealer, id: string) {
    this.#storage = storage;
    this.#rows = new SealedRows(storage.sql, sealer);
    this.#id = id;
    const { sql } = storage;
    const tables = sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'task'").toArray();
    if (tables.length > 0) this.#row = sql.exec<Row>("SELECT * FROM task").toArray()[0];
  }

  /** Makes a task of a call, which is over already where `end` is given. */
  async create({ recorded, message, ...call }: TaskCall, end?: TaskEnd): Promise<void> {
    const now = Date.now();
    const { entries = [], ...begun } = recorded ?? {};
    await this.#commit({
      texts: end ? { end } : { call, message: message ?? null, ...("head" in begun && { begun }) },
      answers: [...entries.entries()],
      also: () => {
        const { sql } = this.#storage;
        sql.exec(SCHEMA + SealedRows.schema);
        const status = end === undefined ? "working" : statusOf(end);
        const notices = recorded?.notices ?? 0;
        const row = [call.principal.name, status, now, now, 0, notices];
        sql.exec("INSERT INTO task VALUES (?, ?, ?, ?, ?, ?)", ...row);
        this.#row = sql.exec<Row>("SELECT * FROM task").one();
      },
      alarm: end === undefined ? now : now + limits.taskMs,
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
    return this.#storage.deleteAll();
  }

  /** When the task is forgotten, in Unix ms. */
  get expires(): number {
    return this.#known.created + limits.taskMs;
  }

  isOf(principal: string): boolean {
    return this.#row?.principal === principal;
  }

  /** Says how far the call is. */
  async tell(message: string): Promise<void> {
    await this.#commit({ texts: { message }, also: () => this.#setStatus(this.status) });
  }

  /** Begins a run; gives which one it is since the last that ended well. Should it die, another begins at `rerun`. */
  countRun(rerun: (runs: number) => number): number {
    const runs = ++this.#known.runs;
    this.#storage.sql.exec("UPDATE task SET runs = ?", runs);
    void this.#storage.setAlarm(rerun(runs));
    return runs;
  }

  /** The task as its client sees it. */
  async view(): Promise<DetailedTask> {
    const { status, created, updated } = this.#known;
    const message = status === "cancelled" ? "It was cancelled." : await this.#read("message");
    const waits = status === "input_required" ? await this.waits() : undefined;
    return {
      taskId: this.#id,
      status,
      ...(message !== undefined && { statusMessage: message }),
      createdAt: new Date(created).toISOString(),
      lastUpdatedAt: new Date(updated).toISOString(),
      ttlMs: limits.taskMs,
      pollIntervalMs: limits.taskPollMs,
      ...(waits?.kind === "input" && {
        inputRequests: inputRequests(unanswered(waits.asks, waits.given)),
      }),
      ...(this.isOver ? await this.#read("end") : undefined),
    };
  }

  /** Undefined once the task is over. */
  call(): Promise<Omit<TaskCall, "recorded"> | undefined> {
    return this.#read("call");
  }

  /** How often the client was asked for something, as far as its keys tell. */
  async asked(): Promise<number> {
    return Object.keys((await this.#read("keys"))?.used ?? {}).length;
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

  /**
   * Keeps what a call waits for. Keys of asks are never used twice in a task's life, so that an answer
   * is always to what was meant.
   */
  async suspend({ reason, recorded, state }: Suspended): Promise<void> {
    const { entries: _, ...begun } = recorded ?? {};
    const keys = (await this.#read("keys")) ?? { used: {}, names: {} };
    const waits = reason.kind === "input" ? freshKeys(reason, keys) : reason;
    if (this.isOver) return;
    await this.#commit({
      texts: { begun: "head" in begun ? begun : null, state: state ?? null, keys, waits },
      also: () => {
        if (this.isOver) return;
        if (recorded === undefined) this.#rows.clear("answers");
        this.#storage.sql.exec("UPDATE task SET runs = 0");
        this.#known.runs = 0;
        this.#setStatus(waits.kind === "input" ? "input_required" : "working");
      },
      alarm: this.#next(waits),
    });
  }

  /** Keeps answers while others are missing. */
  async wait(waits: WaitReason): Promise<void> {
    await this.#commit({ texts: { waits }, alarm: this.#next(waits) });
  }

  /** Gives the servlet the answers to all that it asked; its next run is due. */
  async answer(asks: Asks, given: Answers): Promise<void> {
    const { names } = (await this.#read("keys"))!;
    const own = Object.fromEntries(
      Object.keys(asks).map((name): [string, Json] => [names[name] ?? name, given[name] ?? {}]),
    );
    const recorded = await this.recorded();
    if (recorded !== undefined)
      return this.#resume(answered(recorded, JSON.stringify(own), Date.now()));
    // It has returned what it asked, and is called anew.
    const call = (await this.call())!;
    const state = await this.#read("state");
    const input = { responses: own, ...(state !== undefined && { state }) };
    await this.#commit({
      texts: { call: { ...call, input }, waits: null },
      also: () => this.#setStatus("working"),
      alarm: Date.now(),
    });
  }

  /** The call has slept until then; its next run is due. */
  async wake(until: number): Promise<void> {
    const recorded = await this.recorded();
    if (recorded !== undefined) await this.#resume(answered(recorded, "", until));
  }

  async #resume({ entries, ...begun }: Recorded): Promise<void> {
    await this.#commit({
      texts: { begun, waits: null },
      answers: [[entries.length - 1, entries.at(-1)!]],
      also: () => this.#setStatus("working"),
      alarm: Date.now(),
    });
  }

  async begin(head: Head): Promise<void> {
    await this.#commit({ texts: { begun: { head, notices: this.#known.notices } } });
  }

  async intend(position: number, digest: string): Promise<Intent> {
    const isRepeated = this.#rows.intend(position, digest);
    const text = new TextEncoder().encode(`${this.#id} ${position} ${digest}`);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", text));
    return { key: hash.toHex().slice(0, 32), isRepeated };
  }

  async keep(position: number, entry: Entry, notices: number): Promise<void> {
    await this.#commit({
      answers: [[position, entry]],
      also: () => {
        this.#known.notices = Math.max(notices, this.#known.notices);
        this.#storage.sql.exec("UPDATE task SET notices = ?", this.#known.notices);
      },
    });
  }

  /** Keeps how the call has ended, and nothing of how it came there. */
  async end(end: TaskEnd): Promise<void> {
    await this.#commit({ texts: { end }, also: () => this.#over(statusOf(end)) });
  }

  cancel(): void {
    this.#storage.transactionSync(() => this.#over("cancelled"));
  }

  #over(status: Status): void {
    this.#rows.clear();
    this.#setStatus(status);
    void this.#storage.setAlarm(this.expires);
  }

  /** When something has to be done for a call that waits: its sleep or a deadline is over, or its task's time. */
  #next(waits: WaitReason): number {
    if (waits.kind === "sleep") return Math.min(waits.until, this.expires);
    const open = waits.kind === "input" ? Object.values(unanswered(waits.asks, waits.given)) : [];
    return Math.min(this.expires, ...open.flatMap(({ deadline }) => deadline ?? []));
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
  async #commit({ also, alarm, ...writes }: Change): Promise<void> {
    const write = await this.#rows.prepare(writes);
    if (this.#row !== undefined && this.isOver) return;
    this.#storage.transactionSync(() => {
      also?.();
      write();
      if (alarm !== undefined) void this.#storage.setAlarm(alarm);
    });
  }

  async #read<K extends keyof Texts>(name: K): Promise<Texts[K] | undefined> {
    return (await this.#rows.text(name)) as Texts[K] | undefined;
  }
}

const statusOf = (end: TaskEnd): Status => ("result" in end ? "completed" : "failed");

const SCHEMA = `
CREATE TABLE task (principal TEXT NOT NULL, status TEXT NOT NULL,
  created INTEGER NOT NULL, updated INTEGER NOT NULL, runs INTEGER NOT NULL, notices INTEGER NOT NULL);
`;
