import {
  type TaskWrites,
  type TaskRow,
  type Status,
  type Texts,
  seenAt,
  storedTask,
  type Subject,
} from "./task-rows.ts";
import * as rows from "./task-rows.ts";
import type {
  Uploaded,
  Start,
  TaskCall,
  TaskChange,
  TaskEnd,
  TaskViewer,
  Owner,
} from "../../kernel/calls/task-object.ts";
import { limits } from "./limits.ts";
import {
  withEarlierSleeps,
  withInnerRows,
  withRecordedAnswer,
  type JournalEntry,
  type JournalHead,
  type Keeper,
  type Recorded,
} from "../../kernel/core/record.ts";
import type { Answer, Answers, Asks } from "../../kernel/core/asks.ts";
import type { Suspended, WaitReason } from "../../kernel/core/suspension.ts";
import { isServletPrincipal, type Json } from "../../kernel/core/model.ts";
import type { ValuePart } from "../../kernel/core/parts.ts";
import type { PartPosition, Sealer } from "../../kernel/storage/vault.ts";
import { Alarm } from "../../kernel/storage/alarm.ts";
import { SealedRows } from "../../kernel/storage/sealed-rows.ts";

/** The texts that a poll reads. */
const SHOWN: readonly (keyof Texts)[] = ["subject", "begun", "message", "waits", "end", "handed"];

/** How long the uploaded parts of a large call are stored until its task is created. */
const UPLOAD_MS = 10 * 60_000;

/**
 * One task, in its object's SQLite: a row of plain columns, sealed texts, and the sealed answers to its servlet in
 * order. Each step of a task is written in one transaction with the alarm of the next, so that a crash leaves it
 * before or after the step.
 */
export class TaskStore implements Keeper {
  readonly id: string;
  readonly alarm: Alarm;
  readonly #storage: DurableObjectStorage;
  readonly #sealed: SealedRows;
  #stored: TaskRow | undefined;
  #isForgotten = false;

  constructor(storage: DurableObjectStorage, sealer: Sealer, id: string) {
    this.#storage = storage;
    this.alarm = new Alarm(storage);
    this.#sealed = new SealedRows(storage.sql, sealer, SHOWN);
    this.id = id;
    this.#stored = storedTask(storage.sql);
  }

  get exists(): boolean {
    return this.#stored !== undefined;
  }

  /** Throws if no task is stored: check `exists` first. */
  get row(): Readonly<TaskRow> {
    if (this.#stored === undefined)
      throw new Error("No task is stored here. Check `exists` first.");
    return this.#stored;
  }

  get status(): Status {
    return this.row.status;
  }

  get isOver(): boolean {
    return this.status !== "working" && this.status !== "input_required";
  }

  get owner(): Pick<Owner, "isHidden"> | undefined {
    const { session, hidden } = this.row;
    return session === null ? undefined : { isHidden: hidden === 1 };
  }

  /** True once the call was handed over to a person. */
  get isHandedOver(): boolean {
    return typeof this.#stored?.handed === "number";
  }

  get sessions(): string[] {
    return this.row.session?.split(" ") ?? [];
  }

  /** When the task is deleted, in Unix ms. */
  get expires(): number {
    return this.row.created + this.row.ttl;
  }

  isOf({ name, profile, isAtPage = false, isOperator = false }: TaskViewer): boolean {
    const stored = this.#stored;
    if (isOperator && isServletPrincipal(stored?.principal ?? "")) return true;
    return stored?.principal === name && (isAtPage || (stored.profile ?? undefined) === profile);
  }

  /** Undefined once its journal is dropped. */
  call(): Promise<Omit<TaskCall, "recorded"> | undefined> {
    return this.read("call");
  }

  /** How often the servlet has asked its client. */
  async asked(): Promise<number> {
    return (await this.read("keys"))?.rounds ?? 0;
  }

  subject(): Promise<Subject | undefined> {
    return this.read("subject");
  }

  async waits(): Promise<WaitReason | undefined> {
    return seenAt(this.#stored?.seen, await this.read("waits"));
  }

  /** The record that the next run resumes; undefined if the servlet is called again. */
  async recorded(): Promise<Recorded | undefined> {
    const begun = await this.read("begun");
    if (begun === undefined) return undefined;
    const entries = await this.#sealed.answers();
    const notices = Math.max(begun.notices, this.row.notices);
    const intents = this.#sealed.intents();
    return withInnerRows({ ...begun, entries, notices, intents }, await this.#sealed.innerRows());
  }

  /** The first entries of its journal, and its recorded changes. */
  async timeline(): Promise<{ entries: JournalEntry[]; changes: TaskChange[] }> {
    const changes = rows.historyIn(this.#storage.sql);
    return { entries: await this.#sealed.answers(limits.shownEntries), changes };
  }

  /** A stored text. */
  async read<K extends keyof Texts>(name: K): Promise<Texts[K] | undefined> {
    return (await this.#sealed.text(name)) as Texts[K] | undefined;
  }

  /** Stores a part of a call before `create`, for `UPLOAD_MS`. */
  async upload(what: keyof Texts | number, part: ValuePart & PartPosition): Promise<void> {
    const write = await this.#sealed.preparePart(what, part);
    this.#storage.transactionSync(write);
    await this.alarm.set(Date.now() + UPLOAD_MS);
  }

  /** Creates the task. Its first run is due, unless the call has ended or waits; `handed` as in `suspend`. */
  async create(
    given: TaskCall,
    start: Start | undefined,
    more: { hub: string; uploaded?: Uploaded | undefined; handed?: Json | undefined },
  ): Promise<void> {
    const { hub, uploaded, handed } = more;
    if (uploaded !== undefined)
      this.#sealed.demand(uploaded.answers, uploaded.call ? ["call"] : []);
    const now = Date.now();
    const ttl = Math.ceil(Math.min(given.ttlMs ?? limits.taskMs, limits.taskMs));
    const sent = { handed, hasCall: uploaded?.call === true };
    const { texts, entries, intents, row, waits } = rows.firstStateOf(given, start, sent);
    await this.#commit({
      texts,
      answers: [...entries.entries()],
      also: () => {
        const { sql } = this.#storage;
        const whole = { ...row, hub, created: now, ttl, handed: handed ? now : null };
        this.#stored = rows.insertTask(sql, given, whole);
        if (waits) this.#set({ planned: rows.madeAt(waits) });
        for (const { position, key } of intents) this.#sealed.intend(position, key);
      },
      alarm: () => (waits || texts.end ? this.#due(waits) : now),
    });
  }

  forget(): Promise<void> {
    [this.#stored, this.#isForgotten] = [undefined, true];
    return this.#storage.deleteAll();
  }

  /** Ends notifications: the owner knows of the end that it sees. */
  release(): void {
    this.#set({ session: null, hidden: 0 });
  }

  adopt(session: string): void {
    this.#set({ session: rows.adopted(this.sessions, session) });
  }

  async setMessage(message: string): Promise<void> {
    await this.#commit({ texts: { message }, also: () => this.#set({ updated: this.#later() }) });
  }

  /** Starts a run and returns its number since the last progress. Schedules the next at `rerun` in case it dies. */
  countRun(rerun: (runs: number) => number): number {
    const runs = this.row.runs + 1;
    this.#set({ runs, planned: Date.now() });
    rows.note(this.#storage.sql, "run");
    void this.alarm.set(rerun(runs));
    return runs;
  }

  /**
   * Stores a suspended call and its reason for waiting; `handed` is its client's result when it is first
   * handed over to a person.
   */
  async suspend(suspended: Omit<Suspended, "isSingleUse">, handed?: Json): Promise<void> {
    const keys = await this.read("keys");
    if (this.isOver) return;
    const { texts, status } = rows.waitingOf(suspended, keys);
    await this.#commit({
      texts: { ...texts, ...(handed && !this.isHandedOver && { handed }) },
      also: () => {
        if (suspended.recorded === undefined) this.#sealed.clear();
        this.#sealed.clearInner(true);
        if (handed && !this.isHandedOver) this.#set({ handed: Date.now() });
        const seen = this.owner === undefined || this.isHandedOver ? Date.now() : null;
        this.#set({ runs: 0, fuel: suspended.fuelUsed, seen });
        this.#setStatus(status);
        this.#set({ planned: rows.madeAt(texts.waits) });
      },
      alarm: () => this.#due(texts.waits),
    });
  }

  /** Stores the reason for waiting, such as missing answers; `isNotified` if the owner was notified of the asks. */
  async wait(waits: WaitReason, isNotified: boolean): Promise<void> {
    await this.#commit({
      texts: { waits },
      // If the clock was set back meanwhile, the wait's times are still those of the clock before.
      also: () => this.#set({ runs: 0, planned: Math.max(this.row.planned, Date.now()) }),
      alarm: () => (isNotified ? rows.dueAt(waits, this.expires) : this.#due(waits)),
    });
  }

  /**
   * Moves the task's alarms and deadlines earlier by as much as the clock was set back: they are times of that
   * clock.
   */
  async putForward(): Promise<void> {
    const ms = this.#setBackMs;
    const { planned, seen } = this.row;
    if (this.isOver) {
      // The owner may not have been notified yet.
      this.#set({ planned: Date.now() });
      return this.alarm.set(Date.now());
    }
    const known = await this.read("waits");
    const waits = known && rows.putForward(known, ms);
    const begun = await this.read("begun");
    await this.#commit({
      texts: { ...(waits && { waits }), ...(begun && { begun: withEarlierSleeps(begun, ms) }) },
      // Only by `ms`, even if the clock was set back again meanwhile: the next check finds that.
      also: () => this.#set({ planned: planned - ms, seen: seen === null ? null : seen - ms }),
      // Without a wait, a run is due.
      alarm: () => (waits ? this.#due(waits) : Date.now()),
    });
  }

  /** True if the clock was set back since the alarm was set. */
  get isSetBack(): boolean {
    return this.#setBackMs > limits.clockSlackMs;
  }

  /** How far the clock is behind the time at which the alarm was set, in ms. */
  get #setBackMs(): number {
    return this.row.planned - Date.now();
  }

  /** Stores the answers to all asks for the servlet. Its next run is due. */
  async answer(asks: Asks, given: Answers): Promise<void> {
    const { names } = (await this.read("keys"))!;
    const own = Object.fromEntries(
      Object.keys(asks).map((name): [string, Answer] => [names[name] ?? name, given[name]!]),
    );
    await this.#goOn(own, JSON.stringify(own), Date.now());
  }

  /** Ends a sleep at this time. The servlet's clock advances by `ms`. The next run is due. */
  async wake(at: number, { ms }: { ms: number }): Promise<void> {
    await this.#goOn({}, "", at, ms);
  }

  /** Appends the answer to the journal; without one, the next run begins anew, with the responses and the state. */
  async #goOn(responses: Answers, answer: string, at: number, ms = 0): Promise<void> {
    if (await this.#resume(answer, at, ms)) return;
    const call = await this.call();
    // It was cancelled meanwhile.
    if (call === undefined) return;
    const state = await this.read("state");
    const input = { responses, ...(state !== undefined && { state }) };
    await this.#commit({
      texts: { call: { ...call, input, restarts: (call.restarts ?? 0) + 1 }, waits: null },
      also: () => {
        this.#setStatus("working");
        this.#set({ notices: 0 });
      },
      alarm: Date.now,
    });
  }

  /** Appends the answer to the journal, at least `ms` after the last; false if there is no journal. */
  async #resume(answer: string, at: number, ms: number): Promise<boolean> {
    const known = await this.read("begun");
    if (known === undefined) return false;
    const { count, entry } = await this.#sealed.newest();
    const before = entry === undefined ? [] : [entry];
    const earliest = (entry?.at ?? known.head.time) + ms;
    const { entries, ...begun } = withRecordedAnswer(
      { ...known, entries: before },
      answer,
      Math.max(at, earliest),
    );
    const notices = Math.max(begun.notices, this.row.notices);
    await this.#commit({
      texts: { begun: { ...begun, notices }, waits: null },
      ...(entries.length > before.length && { answers: [[count, entries.at(-1)!]] }),
      also: () => this.#setStatus("working"),
      alarm: Date.now,
    });
    return true;
  }

  async begin(head: JournalHead, place?: string): Promise<void> {
    if (place !== undefined) return this.#commit({ inner: [{ place, position: -1, value: head }] });
    await this.#commit({ texts: { begun: { head, notices: this.row.notices } } });
  }

  async intend(position: number, key: string, place?: string): Promise<boolean> {
    return this.#sealed.intend(position, key, place);
  }

  async keep(
    position: number,
    entry: JournalEntry,
    notices: number,
    place?: string,
  ): Promise<void> {
    const inner = place === undefined ? [] : [{ place, position, value: entry }];
    const said = place === undefined ? notices : 0;
    await this.#commit({
      ...(place === undefined ? { answers: [[position, entry]] } : { inner }),
      also: () => this.#set({ runs: 0, notices: Math.max(said, this.row.notices) }),
    });
  }

  /** Stores the end of the call. Its journal stays for a while, if its caller can see the task. */
  async end(end: TaskEnd): Promise<void> {
    const texts = { end, waits: null, message: null };
    await this.#commit({ texts, also: () => this.#over(rows.statusOf(end)) });
  }

  /** Ends a task whose stored texts can no longer be opened, even one that is over. */
  lose(): Promise<void> {
    return this.#commit({
      texts: { end: rows.lost(), subject: null, handed: null },
      also: () => {
        this.#sealed.clear([]);
        this.#over("failed");
      },
      isFinal: true,
    });
  }

  cancel(): void {
    this.#storage.transactionSync(() => this.#over("cancelled"));
  }

  #over(status: Status): void {
    if (status === "cancelled" || this.owner?.isHidden === true) this.#sealed.clear(LASTING);
    this.#setStatus(status);
    void this.alarm.set(this.#due());
  }

  /** Drops the journal of a task that has been over for a while, and sets the next alarm. */
  async rest(now: number): Promise<void> {
    const isRested = now >= this.#rests;
    if (isRested) this.#sealed.clear(LASTING);
    await this.alarm.set(isRested ? this.expires : this.#rests);
  }

  /** When the journal of a task that is over is dropped. */
  get #rests(): number {
    return Math.min(this.row.updated + limits.endedJournalMs, this.expires);
  }

  /** `dueAt`, or `ownerMs` for an owned task, so that its owner is notified even after a crash. */
  #due(waits?: WaitReason): number {
    const rests = this.isOver ? this.#rests : this.expires;
    const next = waits ? rows.dueAt(rows.seenAt(this.row.seen, waits), this.expires) : rests;
    return this.owner ? Math.min(next, Date.now() + limits.ownerMs) : next;
  }

  #setStatus(status: Status): void {
    rows.note(this.#storage.sql, status);
    this.#set({ status, updated: this.#later(), planned: Date.now() });
  }

  /** The time of a change: later than the previous change, even if the clock was set back. */
  #later(): number {
    return Math.max(this.row.updated + 1, Date.now());
  }

  #set(change: Partial<TaskRow>): void {
    Object.assign(this.row, change);
    const columns = Object.keys(change).map((column) => `${column} = ?`);
    this.#storage.sql.exec(`UPDATE task SET ${columns.join(", ")}`, ...Object.values(change));
  }

  /** Writes in one transaction. Does nothing for a task that is over, unless `isFinal`. */
  async #commit({ also, alarm, isFinal = false, ...writes }: TaskWrites): Promise<void> {
    const write = await this.#sealed.prepare(writes);
    if (this.#isForgotten || (this.#stored && this.isOver && !isFinal)) return;
    this.#storage.transactionSync(() => {
      also?.();
      write();
      if (alarm !== undefined) void this.alarm.set(this.isSetBack ? Date.now() : alarm());
    });
  }
}

/** The texts that are stored as long as the task. */
const LASTING = ["subject", "handed", "end"];
