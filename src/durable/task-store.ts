import { limits } from "../limits.ts";
import type { DetailedTask, TaskCall, TaskEnd } from "../mcp/tasks.ts";
import { answered } from "../model.ts";
import type { Answers, Asks, Entry, Head, Intent, Keeper, Recorded, WaitReason } from "../model.ts";
import type { Sealer } from "./vault.ts";

export type Status = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** A task's row, but for what is sealed. */
interface Row extends Record<string, SqlStorageValue> {
  principal: string;
  status: Status;
  message: string;
  created: number;
  updated: number;
  runs: number;
  notices: number;
}

/** What a run of the call begins with, besides its answers. */
type Begun = Omit<Recorded, "entries">;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A row may have 2 MB: https://developers.cloudflare.com/durable-objects/platform/limits/ */
const PART = 1024 * 1024;

/**
 * All that is kept of one task, in its object's SQLite: one row of plain columns, sealed texts by name,
 * and the answers that its servlet was given, in their order and sealed.
 */
export class TaskStore implements Keeper {
  readonly #storage: DurableObjectStorage;
  readonly #sealer: Sealer;
  readonly #id: string;
  #row: Row | undefined;

  constructor(storage: DurableObjectStorage, sealer: Sealer, id: string) {
    this.#storage = storage;
    this.#sealer = sealer;
    this.#id = id;
    const { sql } = storage;
    const isThere =
      sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'task'").toArray().length > 0;
    if (isThere) this.#row = sql.exec<Row>("SELECT * FROM task").toArray()[0];
  }

  /** Makes a task of a call. */
  async create(call: TaskCall): Promise<void> {
    const { recorded, ...rest } = call;
    const now = Date.now();
    const { sql } = this.#storage;
    sql.exec(SCHEMA);
    sql.exec(
      "INSERT INTO task VALUES (?, 'working', '', ?, ?, 0, 0)",
      call.principal.name,
      now,
      now,
    );
    this.#row = sql.exec<Row>("SELECT * FROM task").one();
    await this.#write("call", rest);
    if (recorded === undefined) return;
    await this.suspend(recorded);
    for (const [at, entry] of recorded.entries.entries())
      await this.keep(at, entry, recorded.notices);
  }

  get exists(): boolean {
    return this.#row !== undefined;
  }

  get status(): Status {
    return this.#known.status;
  }

  get principal(): string {
    return this.#known.principal;
  }

  get isOver(): boolean {
    return !["working", "input_required"].includes(this.status);
  }

  /** When the task is forgotten, in Unix ms. */
  get expires(): number {
    return this.#known.created + limits.taskMs;
  }

  isOf(principal: string): boolean {
    return this.#row?.principal === principal;
  }

  setStatus(status: Status, message?: string): void {
    const row = this.#known;
    if (this.isOver) return;
    row.status = status;
    row.message = message ?? row.message;
    row.updated = Date.now();
    this.#storage.sql.exec(
      "UPDATE task SET status = ?, message = ?, updated = ?",
      ...[row.status, row.message, row.updated],
    );
  }

  /** Counts a run that begins; gives which one it is since the last that ended well. */
  countRun(): number {
    const row = this.#known;
    this.#storage.sql.exec("UPDATE task SET runs = ?", ++row.runs);
    return row.runs;
  }

  forgetRuns(): void {
    this.#known.runs = 0;
    this.#storage.sql.exec("UPDATE task SET runs = 0");
  }

  /** The task without what it waits for and how it ended. */
  view(): DetailedTask {
    const { status, message, created, updated } = this.#known;
    return {
      taskId: this.#id,
      status,
      ...(message === "" ? {} : { statusMessage: message }),
      createdAt: new Date(created).toISOString(),
      lastUpdatedAt: new Date(updated).toISOString(),
      ttlMs: limits.taskMs,
      pollIntervalMs: limits.taskPollMs,
    };
  }

  async call(): Promise<Omit<TaskCall, "recorded">> {
    return (await this.#read<Omit<TaskCall, "recorded">>("call"))!;
  }

  waits(): Promise<WaitReason | undefined> {
    return this.#read<WaitReason>("waits");
  }

  /** Keys of asks are never used twice in a task's life, so that an answer is always to what was meant. */
  async wait(reason: WaitReason): Promise<void> {
    if (reason.kind !== "input") return this.#write("waits", reason);
    const before = await this.waits();
    if (before?.kind === "input") return this.#write("waits", reason);
    const used = (await this.#read<Record<string, number>>("keys")) ?? {};
    const names: Record<string, string> = {};
    const given: Record<string, Answers[string]> = {};
    const asks: Record<string, Asks[string]> = {};
    for (const [key, ask] of Object.entries(reason.asks)) {
      const times = (used[key] = (used[key] ?? 0) + 1);
      const name = times === 1 ? key : `${key}-${times}`;
      names[name] = key;
      asks[name] = ask;
      if (reason.given[key] !== undefined) given[name] = reason.given[key];
    }
    await this.#write("keys", used);
    await this.#write("names", names);
    await this.#write("waits", { kind: "input", asks, given });
  }

  /** Gives the servlet the answers to all that it asked. */
  async answer(asks: Asks, given: Answers): Promise<void> {
    const names = (await this.#read<Record<string, string>>("names")) ?? {};
    const own = Object.fromEntries(
      Object.keys(asks).map((name) => [names[name] ?? name, given[name]]),
    ) as Answers;
    const begun = await this.#read<Begun>("begun");
    if (begun !== undefined) {
      return this.resume((recorded) => answered(recorded, JSON.stringify(own), Date.now()));
    }
    // It has returned what it asked, and is called anew.
    const call = await this.call();
    const state = await this.#read<string>("state");
    const input = { responses: own, ...(state !== undefined && { state }) };
    await this.#write("call", { ...call, input });
    this.#remove("waits");
  }

  /** Puts the answer that came to what the call waits for behind the others. */
  async resume(add: (recorded: Recorded) => Recorded): Promise<void> {
    const recorded = await this.recorded();
    if (recorded !== undefined) {
      const { entries, ...begun } = add(recorded);
      if (entries.length > recorded.entries.length) {
        await this.keep(entries.length - 1, entries.at(-1)!, begun.notices);
      }
      await this.#write("begun", begun);
    }
    this.#remove("waits");
  }

  /** Keeps what a run has come to, its answers aside; without anything where its servlet has returned. */
  async suspend(recorded: Recorded | undefined, state?: string): Promise<void> {
    if (recorded === undefined) {
      this.#remove("begun", "state");
      this.#storage.sql.exec("DELETE FROM answers");
      if (state !== undefined) await this.#write("state", state);
      return;
    }
    const { entries: _, ...begun } = recorded;
    await this.#write("begun", begun);
  }

  /** What the next run begins with. */
  async recorded(): Promise<Recorded | undefined> {
    const begun = await this.#read<Begun>("begun");
    if (begun === undefined) return undefined;
    const rows = this.#storage.sql
      .exec<{ position: number; bytes: ArrayBuffer }>(
        "SELECT position, bytes FROM answers ORDER BY position, part",
      )
      .toArray();
    const parts = Map.groupBy(rows, ({ position }) => position);
    const entries: Entry[] = [];
    for (const found of parts.values()) {
      const bytes = await new Blob(found.map((one) => one.bytes)).arrayBuffer();
      entries.push(await this.#opened<Entry>(new Uint8Array(bytes)));
    }
    return { ...begun, entries, notices: Math.max(begun.notices, this.#known.notices) };
  }

  async begin(head: Head): Promise<void> {
    await this.#write("begun", { head, notices: this.#known.notices });
  }

  async intend(position: number, digest: string): Promise<Intent> {
    const { sql } = this.#storage;
    const before = sql
      .exec<{ digest: string }>("SELECT digest FROM intents WHERE position = ?", position)
      .toArray()[0];
    sql.exec("INSERT OR REPLACE INTO intents VALUES (?, ?)", position, digest);
    const text = encoder.encode(`${this.#id} ${position} ${digest}`);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", text));
    return { key: hash.toHex().slice(0, 32), isRepeated: before?.digest === digest };
  }

  async keep(position: number, entry: Entry, notices: number): Promise<void> {
    const bytes = await this.#sealed(entry);
    const { sql } = this.#storage;
    this.#known.notices = notices;
    this.#storage.transactionSync(() => {
      sql.exec("DELETE FROM answers WHERE position = ?", position);
      for (let at = 0; at < bytes.length; at += PART) {
        const part = bytes.slice(at, at + PART);
        sql.exec("INSERT INTO answers VALUES (?, ?, ?)", position, at, part);
      }
      sql.exec("DELETE FROM intents WHERE position = ?", position);
      sql.exec("UPDATE task SET notices = ?", notices);
    });
  }

  async end(end: TaskEnd): Promise<void> {
    await this.#write("end", end);
    // Nothing of how it came to this is needed any more.
    this.#remove("waits", "begun", "state", "call", "names", "keys");
    this.#storage.sql.exec("DELETE FROM answers");
  }

  async outcome(): Promise<TaskEnd | undefined> {
    return this.#read<TaskEnd>("end");
  }

  get #known(): Row {
    if (this.#row === undefined) throw new Error("there is no task here");
    return this.#row;
  }

  async #write(name: string, value: unknown): Promise<void> {
    const bytes = await this.#sealed(value);
    this.#storage.transactionSync(() => {
      this.#remove(name);
      for (let at = 0; at < bytes.length; at += PART) {
        const part = bytes.slice(at, at + PART);
        this.#storage.sql.exec("INSERT INTO texts VALUES (?, ?, ?)", name, at, part);
      }
    });
  }

  async #read<T>(name: string): Promise<T | undefined> {
    const parts = this.#storage.sql
      .exec<{ bytes: ArrayBuffer }>("SELECT bytes FROM texts WHERE name = ? ORDER BY part", name)
      .toArray();
    if (parts.length === 0) return undefined;
    const bytes = await new Blob(parts.map((one) => one.bytes)).arrayBuffer();
    return this.#opened<T>(new Uint8Array(bytes));
  }

  #remove(...names: string[]): void {
    for (const name of names) this.#storage.sql.exec("DELETE FROM texts WHERE name = ?", name);
  }

  async #sealed(value: unknown): Promise<Uint8Array> {
    return this.#sealer.seal(new Uint8Array(encoder.encode(JSON.stringify(value))));
  }

  async #opened<T>(bytes: Uint8Array<ArrayBuffer>): Promise<T> {
    const opened = await this.#sealer.open(bytes);
    if (opened === undefined) throw new Error("what a task has stored can no longer be opened");
    return JSON.parse(decoder.decode(opened)) as T;
  }
}

const SCHEMA = `
CREATE TABLE task (principal TEXT NOT NULL, status TEXT NOT NULL, message TEXT NOT NULL,
  created INTEGER NOT NULL, updated INTEGER NOT NULL, runs INTEGER NOT NULL, notices INTEGER NOT NULL);
CREATE TABLE texts (name TEXT NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (name, part));
CREATE TABLE answers (position INTEGER NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (position, part));
CREATE TABLE intents (position INTEGER PRIMARY KEY, digest TEXT NOT NULL);
`;
