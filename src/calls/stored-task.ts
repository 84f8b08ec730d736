import { Alarm } from "../storage/alarm.ts";
import type { Entry, Recorded } from "../core/record.ts";
import { limits } from "../core/limits.ts";
import type { WaitReason } from "../core/suspension.ts";
import { roundsOf } from "./ask-keys.ts";
import { SealedRows } from "../storage/sealed-rows.ts";
import { historyIn, type TaskChange } from "./task-history.ts";
import type { Owner, TaskCall } from "./task-object.ts";
import {
  seenAt,
  storedTask,
  type Row,
  type Status,
  type Subject,
  type Texts,
} from "./task-rows.ts";
import type { Sealer } from "../storage/vault.ts";

/** What is stored of a task, to be read. */
export class StoredTask {
  readonly id: string;
  readonly alarm: Alarm;
  protected readonly storage: DurableObjectStorage;
  protected readonly sealed: SealedRows;
  protected stored: Row | undefined;

  constructor(storage: DurableObjectStorage, sealer: Sealer, id: string) {
    this.storage = storage;
    this.alarm = new Alarm(storage);
    this.sealed = new SealedRows(storage.sql, sealer);
    this.id = id;
    this.stored = storedTask(storage.sql);
  }

  get exists(): boolean {
    return this.stored !== undefined;
  }

  /** Throws where no task is stored: check `exists` first. */
  get row(): Readonly<Row> {
    if (this.stored === undefined) throw new Error("No task is stored here. Check `exists` first.");
    return this.stored;
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
    return typeof this.stored?.handed === "number";
  }

  get sessions(): string[] {
    return this.row.session?.split(" ") ?? [];
  }

  /** When the task is deleted, in Unix ms. */
  get expires(): number {
    return this.row.created + this.row.ttl;
  }

  isOf(principal: string): boolean {
    return this.stored?.principal === principal;
  }

  /** Undefined once its journal is dropped. */
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
    return seenAt(this.stored?.seen, await this.read("waits"));
  }

  /** The record that the next run resumes; undefined if the servlet is called again. */
  async recorded(): Promise<Recorded | undefined> {
    const begun = await this.read("begun");
    if (begun === undefined) return undefined;
    const entries = await this.sealed.answers();
    return { ...begun, entries, notices: Math.max(begun.notices, this.row.notices) };
  }

  /** The first entries of its journal, and what has happened to it. */
  async story(): Promise<{ entries: Entry[]; changes: TaskChange[] }> {
    const changes = historyIn(this.storage.sql);
    return { entries: await this.sealed.answers(limits.shownEntries), changes };
  }

  /** A stored text. */
  async read<K extends keyof Texts>(name: K): Promise<Texts[K] | undefined> {
    return (await this.sealed.text(name)) as Texts[K] | undefined;
  }
}
