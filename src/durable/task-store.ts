import type { Uploaded, Owner, Start, TaskCall, TaskEnd } from "./task-object.ts";
import { limits } from "../limits.ts";
import { answered } from "../record.ts";
import type { Answer, Answers, Asks } from "../asks.ts";
import type { Entry, Head, Keeper, Recorded } from "../record.ts";
import type { Suspended, WaitReason } from "../suspension.ts";
import type { Json } from "../model.ts";
import type { Part } from "../parts.ts";
import { roundsOf } from "./ask-keys.ts";
import { SealedRows } from "./sealed-rows.ts";
import * as rows from "./task-rows.ts";
import type { Change, Row, Status, Subject, Texts } from "./task-rows.ts";
import type { Place, Sealer } from "./vault.ts";

/**
 * One task, in its object's SQLite: a row of plain columns, sealed texts, and the sealed answers to its servlet in
 * order. Each step of a task is written in one transaction with the alarm of the next, so that a crash leaves it
 * before or after the step.
 */
export class TaskStore implements Keeper {
  readonly #storage: DurableObjectStorage;
  readonly #rows: SealedRows;
  readonly id: string;
  #row: Row | undefined;
  #isForgotten = false;

  constructor(storage: DurableObjectStorage, sealer: Sealer, id: string) {
    this.#storage = storage;
    this.#rows = new SealedRows(storage.sql, sealer);
    this.id = id;
    this.#row = rows.storedTask(storage.sql);
  }

  /** Stores a part of a call before `create`, for `limits.uploadMs`. */
  async upload(what: keyof Texts | number, part: Part & Place): Promise<void> {
    const write = await this.#rows.preparePart(what, part);
    this.#storage.transactionSync(write);
    await this.#storage.setAlarm(Date.now() + limits.uploadMs);
  }

  /** Creates the task. Its first run is due, unless the call has ended or waits; `handed` as in `suspend`. */
  async create(
    given: TaskCall,
    start?: Start,
    { uploaded, handed }: { uploaded?: Uploaded | undefined; handed?: Json | undefined } = {},
  ): Promise<void> {
    if (uploaded !== undefined) this.#rows.demand(uploaded.answers, uploaded.call ? ["call"] : []);
    const now = Date.now();
    const ttl = Math.min(given.ttlMs ?? limits.taskMs, limits.taskMs);
    const sent = { handed, hasCall: uploaded?.call === true };
    const { texts, entries, intents, row, waits } = rows.beginningOf(given, start, sent);
    await this.#commit({
      texts,
      answers: [...entries.entries()],
      also: () => {
        const { sql } = this.#storage;
        sql.exec(rows.TASK_SCHEMA);
        rows.insertTask(sql, given, { ...row, created: now, ttl, handed: handed ? now : null });
        for (const { position, key } of intents) this.#rows.intend(position, key);
        this.#row = sql.exec<Row>("SELECT * FROM task").one();
      },
      alarm: () => (waits || texts.end ? this.#due(waits) : now),
    });
  }

  get exists(): boolean {
    return this.#row !== undefined;
  }

  /** Throws where No task is stored here. Check `exists` first.. */
  get row(): Readonly<Row> {
    if (this.#row === undefined) throw new Error("No task is stored here. Check `exists` first.");
    return this.#row;
  }

  get status(): Status {
    return this.row.status;
  }

  get isOver(): boolean {
    return this.status !== "working" && this.status !== "input_required";
  }

  forget(): Promise<void> {
    [this.#row, this.#isForgotten] = [undefined, true];
    return this.#storage.deleteAll();
  }

  get owner(): Pick<Owner, "isHidden"> | undefined {
    const { session, hidden } = this.row;
    return session === null ? undefined : { isHidden: hidden === 1 };
  }

  /** True once the call was handed over to a person. */
  get isHandedOver(): boolean {
    return typeof this.#row?.handed === "number";
  }

  /** Notes that the owner knows of the end that it sees: nobody else is notified any more. */
  release(): void {
    this.#set({ session: null, hidden: 0 });
  }

  get sessions(): string[] {
    return this.row.session?.split(" ") ?? [];
  }

  adopt(session: string): void {
    this.#set({ session: rows.adopted(this.sessions, session) });
  }

  /** When the task is deleted, in Unix ms. */
  get expires(): number {
    return this.row.created + this.row.ttl;
  }

  isOf(principal: string): boolean {
    return this.#row?.principal === principal;
  }

  /** Stores a progress message. */
  async setMessage(message: string): Promise<void> {
    await this.#commit({ texts: { message }, also: () => this.#setStatus(this.status) });
  }

  /** Starts a run and returns its number since the last progress. Schedules the next at `rerun` in case it dies. */
  countRun(rerun: (runs: number) => number): number {
    const runs = this.row.runs + 1;
    this.#set({ runs });
    void this.#storage.setAlarm(rerun(runs));
    return runs;
  }

  /** Undefined once the task is over. */
  call(): Promise<Omit<TaskCall, "recorded"> | undefined> {
    return this.read("call");
  }

  /** How often the servlet has asked its client. */
  async asked(): Promise<number> {
    return roundsOf((await this.read("keys")) ?? { used: {}, names: {} });
  }

  subject(): Promise<Subject | undefined> {
    return this.read("subject");
  }

  async waits(): Promise<WaitReason | undefined> {
    return rows.seenAt(this.#row?.seen, await this.read("waits"));
  }

  /** The record that the next run resumes; undefined if the servlet is called again. */
  async recorded(): Promise<Recorded | undefined> {
    const begun = await this.read("begun");
    if (begun === undefined) return undefined;
    const entries = await this.#rows.answers();
    return { ...begun, entries, notices: Math.max(begun.notices, this.row.notices) };
  }

  /**
   * Stores a suspended call and its reason for waiting; `handed` is what its client gets the first time that it is
   * handed over to a person.
   */
  async suspend(suspended: Omit<Suspended, "isSingleUse">, handed?: Json): Promise<void> {
    const keys = await this.read("keys");
    if (this.isOver) return;
    const { texts, status } = rows.waitingOf(suspended, keys);
    await this.#commit({
      texts: { ...texts, ...(handed && !this.isHandedOver && { handed }) },
      also: () => {
        if (suspended.recorded === undefined) this.#rows.clear();
        if (handed && !this.isHandedOver) this.#set({ handed: Date.now() });
        const seen = this.owner === undefined || this.isHandedOver ? Date.now() : null;
        this.#set({ runs: 0, fuel: suspended.fuelUsed, seen });
        this.#setStatus(status);
      },
      alarm: () => this.#due(texts.waits),
    });
  }

  /** Stores answers while others are missing; `isNotified` if the owner was notified of the asks. */
  async wait(waits: WaitReason, isNotified: boolean): Promise<void> {
    const alarm = () => (isNotified ? rows.dueAt(waits, this.expires) : this.#due(waits));
    await this.#commit({ texts: { waits }, alarm });
  }

  /** Stores the answers to all asks for the servlet. Its next run is due. */
  async answer(asks: Asks, given: Answers): Promise<void> {
    const { names } = (await this.read("keys"))!;
    const own = Object.fromEntries(
      Object.keys(asks).map((name): [string, Answer] => [names[name] ?? name, given[name]!]),
    );
    if (await this.#resume(JSON.stringify(own), Date.now())) return;
    // The servlet returned its input request, and is called again.
    const call = (await this.call())!;
    const state = await this.read("state");
    const input = { responses: own, ...(state !== undefined && { state }) };
    await this.#commit({
      texts: { call: { ...call, input, restarts: (call.restarts ?? 0) + 1 }, waits: null },
      also: () => this.#set({ status: "working", updated: Date.now(), notices: 0 }),
      alarm: Date.now,
    });
  }

  /** Ends a sleep at this time. The next run is due. */
  async wake(at: number): Promise<void> {
    await this.#resume("", at);
  }

  /** Appends the answer to the journal; false if the servlet is called again instead. */
  async #resume(answer: string, at: number): Promise<boolean> {
    const known = await this.read("begun");
    if (known === undefined) return false;
    const { count, entry } = await this.#rows.newest();
    const before = entry === undefined ? [] : [entry];
    const { entries, ...begun } = answered({ ...known, entries: before }, answer, at);
    const notices = Math.max(begun.notices, this.row.notices);
    await this.#commit({
      texts: { begun: { ...begun, notices }, waits: null },
      ...(entries.length > before.length && { answers: [[count, entries.at(-1)!]] }),
      also: () => this.#setStatus("working"),
      alarm: Date.now,
    });
    return true;
  }

  async begin(head: Head): Promise<void> {
    await this.#commit({ texts: { begun: { head, notices: this.row.notices } } });
  }

  async intend(position: number, key: string): Promise<boolean> {
    return this.#rows.intend(position, key);
  }

  async keep(position: number, entry: Entry, notices: number): Promise<void> {
    await this.#commit({
      answers: [[position, entry]],
      also: () => this.#set({ runs: 0, notices: Math.max(notices, this.row.notices) }),
    });
  }

  /** Stores the end of the call and drops its other texts. */
  async end(end: TaskEnd): Promise<void> {
    await this.#commit({ texts: { end }, also: () => this.#over(rows.statusOf(end)) });
  }

  /** Ends a task whose stored texts can no longer be opened, even one that is over. */
  lose(): Promise<void> {
    return this.#commit({
      texts: { end: rows.LOST, subject: null, handed: null },
      also: () => this.#over("failed"),
      isFinal: true,
    });
  }

  cancel(): void {
    this.#storage.transactionSync(() => this.#over("cancelled"));
  }

  #over(status: Status): void {
    this.#rows.clear(["subject", "handed"]);
    this.#setStatus(status);
    void this.#storage.setAlarm(this.#due());
  }

  /** `dueAt`, or `ownerMs` for an owned task, so that its owner is notified even after a crash. */
  #due(waits?: WaitReason): number {
    const next = waits ? rows.dueAt(rows.seenAt(this.row.seen, waits), this.expires) : this.expires;
    return this.owner ? Math.min(next, Date.now() + limits.ownerMs) : next;
  }

  #setStatus(status: Status): void {
    this.#set({ status, updated: Date.now() });
  }

  #set(change: Partial<Row>): void {
    Object.assign(this.row, change);
    for (const [column, value] of Object.entries(change)) {
      this.#storage.sql.exec(`UPDATE task SET ${column} = ?`, value);
    }
  }

  /** Writes in one transaction. Does nothing for a task that is over, unless `isFinal`. */
  async #commit({ also, alarm, isFinal = false, ...writes }: Change): Promise<void> {
    const write = await this.#rows.prepare(writes);
    if (this.#isForgotten || (this.#row && this.isOver && !isFinal)) return;
    this.#storage.transactionSync(() => {
      also?.();
      write();
      if (alarm !== undefined) void this.#storage.setAlarm(alarm());
    });
  }

  /** A stored text. */
  async read<K extends keyof Texts>(name: K): Promise<Texts[K] | undefined> {
    return (await this.#rows.text(name)) as Texts[K] | undefined;
  }
}
