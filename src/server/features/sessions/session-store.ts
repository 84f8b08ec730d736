import type { LoggingLevel } from "../../../kit/types.ts";
import { hexDigestNow } from "../../kernel/core/digest.ts";
import { Alarm } from "../../kernel/storage/alarm.ts";
import { callerKey } from "../../kernel/core/callers.ts";
import { limits } from "./limits.ts";
import { retryForMinutes } from "../../kernel/core/retry.ts";
import type { RequestId } from "../../kernel/mcp/wire/message.ts";
import type { IntroducedClient, NewSession, Post, SessionOwner } from "./session-object.ts";
import type { Json, Notification, Principal } from "../../kernel/core/model.ts";
import { SealedRows } from "../../kernel/storage/sealed-rows.ts";
import {
  SCHEMA,
  type OpenAsk,
  type CallRow,
  type StoredAsk,
  type StoredCall,
  type SessionRow,
} from "./session-rows.ts";
import { hasRow, hasTable, firstRow } from "../../kernel/storage/tables.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";
import type { Tasks } from "../../kernel/calls/task-object.ts";
import type { DetailedTask } from "../../kernel/calls/task-object.ts";
import type { Registry } from "../../kernel/servlets/registry.ts";
import type { Trace } from "../../kernel/observe/trace-context.ts";
import type { OpenPost } from "./open-post.ts";

/** The tables of one session, except its events. */
export class SessionStore {
  readonly rows: SealedRows;
  readonly #storage: DurableObjectStorage;
  readonly alarm: Alarm;
  #row: SessionRow | undefined;
  /** The stored value of `used`. */
  #storedUse = 0;
  #client: Promise<IntroducedClient> | undefined;
  #principal: Principal | undefined;
  /** Undefined if the scopes are not narrowed. */
  #scopes: Promise<readonly string[] | undefined> | undefined;

  constructor(storage: DurableObjectStorage, sealer: Sealer) {
    this.#storage = storage;
    this.alarm = new Alarm(storage);
    this.rows = new SealedRows(storage.sql, sealer);
    const { sql } = storage;
    if (!hasTable(sql, "session")) return;
    this.#row = firstRow(sql.exec<SessionRow>("SELECT * FROM session"));
    this.#storedUse = this.#row?.used ?? 0;
  }

  /** Creates the session. `hub` is the name of its principal's hub. */
  async create(
    { principal: { name, address, profile }, client, lists }: NewSession,
    { hub, isReady }: { hub: string; isReady: boolean },
  ): Promise<void> {
    const texts = { client, lists, ...(address && { address }) };
    const write = await this.rows.prepare({ texts });
    const now = Date.now();
    this.#storage.transactionSync(() => {
      this.#storage.sql.exec(SCHEMA);
      const own = [name, profile ?? null, hub, client.protocolVersion, "debug"];
      const row = [...own, Number(isReady), now, 0, 0, 0];
      this.#storage.sql.exec("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", ...row);
      write();
      void this.alarm.set(now + limits.sessionIdleMs);
    });
    this.#client = Promise.resolve(client);
    this.#row = this.#storage.sql.exec<SessionRow>("SELECT * FROM session").one();
  }

  get exists(): boolean {
    return this.#row !== undefined;
  }

  /**
   * Retries `work` for about three minutes, while the session exists: for work that its client waits for and
   * will not request again. Never throws.
   */
  async insist(work: () => Promise<void>): Promise<void> {
    await retryForMinutes(async () => {
      if (!this.exists) return;
      await work().catch((error: unknown) => {
        if (this.exists) throw error;
      });
    }).catch(() => {});
  }

  isOf({ name, profile }: SessionOwner): boolean {
    return this.#row?.principal === name && (this.#row.profile ?? undefined) === profile;
  }

  get owner(): SessionOwner {
    const { principal: name, profile } = this.row;
    return { name, ...(profile && { profile }) };
  }

  /** Throws if the session has ended. */
  get row(): Readonly<SessionRow> & { level: LoggingLevel } {
    if (this.#row === undefined) throw new Error("The session has ended. Check `exists` first.");
    return this.#row as SessionRow & { level: LoggingLevel };
  }

  set(change: Partial<SessionRow>): void {
    Object.assign(this.row, change);
    for (const [column, value] of Object.entries(change)) {
      this.#storage.sql.exec(`UPDATE session SET ${column} = ?`, value);
    }
  }

  /** The scopes of the newest request; undefined if they were not narrowed. */
  async scopes(): Promise<readonly string[] | undefined> {
    return (this.#scopes ??= this.rows.text("scopes") as Promise<string[] | undefined>);
  }

  /** Records the scopes of a request. */
  async sees(scopes: readonly string[] | undefined): Promise<void> {
    const known = await this.scopes();
    if (JSON.stringify(known) === JSON.stringify(scopes)) return;
    const write = await this.rows.prepare({ texts: { scopes: scopes ?? null } });
    if (!this.exists) return;
    write();
    this.#scopes = Promise.resolve(scopes);
  }

  /** Records that the client sent something. */
  touch(): void {
    const used = Date.now();
    Object.assign(this.row, { used });
    if (used <= this.#storedUse + limits.sessionUsedMs) return;
    this.#storedUse = used;
    this.set({ used });
  }

  /** The next number of a stream or server request. */
  next(column: "streams" | "asks"): number {
    const number = this.row[column] + 1;
    this.set({ [column]: number });
    return number;
  }

  /** The owner of the session, with the address that it was created from. */
  async principal(): Promise<Principal> {
    if (this.#principal === undefined) {
      const address = (await this.rows.text("address")) as string | undefined;
      this.#principal = { ...this.owner, ...(address !== undefined && { address }) };
    }
    return this.#principal;
  }

  /** The key of its caller; undefined for an anonymous caller until `principal` is read. */
  get caller(): string | undefined {
    return callerKey(this.#principal ?? { name: this.row.principal });
  }

  /**
   * The client; without capabilities before it is initialized, so that it is not asked anything. Throws `Unreadable`
   * if the stored session can no longer be opened.
   */
  async client(): Promise<IntroducedClient> {
    const opening = (this.#client ??= this.rows.text("client") as Promise<IntroducedClient>);
    const client = await opening.catch((error: unknown) => {
      this.#client = undefined; // A retry may succeed.
      throw error;
    });
    return this.row.ready === 1 ? client : { ...client, capabilities: {} };
  }

  forget(): Promise<void> {
    this.#row = undefined;
    return this.#storage.deleteAll();
  }

  storeCall({ number, request, method, stream, task, progressToken, ...heard }: StoredCall): void {
    const token = progressToken === undefined ? null : JSON.stringify(progressToken);
    const row = [number, JSON.stringify(request), method, stream, task ?? null, token];
    const all = [...row, heard.notified, heard.progress ?? null, heard.hasSent ? 1 : 0];
    this.#storage.sql.exec(
      "INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      ...all,
    );
  }

  dropCall(number: number): void {
    this.#storage.sql.exec("DELETE FROM calls WHERE number = ?", number);
  }

  /** Stores the number of the newest notification, and the progress. */
  setNotified({ number, notified, progress }: StoredCall): void {
    const { sql } = this.#storage;
    const row = [notified, progress ?? null, number];
    sql.exec("UPDATE calls SET told = ?, progress = ? WHERE number = ?", ...row);
  }

  calls(): StoredCall[] {
    if (!this.exists) return [];
    return this.#storage.sql
      .exec<CallRow>("SELECT * FROM calls")
      .toArray()
      .map(({ request, task, token, told, progress, sent, ...same }) => ({
        ...same,
        notified: told,
        hasSent: sent === 1,
        request: JSON.parse(request) as RequestId | null,
        ...(task !== null && { task }),
        ...(progress !== null && { progress }),
        ...(token !== null && { progressToken: JSON.parse(token) as RequestId }),
      }));
  }

  storeAsk({ number, task, key, stream }: StoredAsk): void {
    this.#storage.sql.exec("INSERT INTO asks VALUES (?, ?, ?, ?)", number, task, key, stream);
  }

  dropAsk(number: number): void {
    this.#storage.sql.exec("DELETE FROM asks WHERE number = ?", number);
    this.rows.forget(`ask ${number}`);
  }

  asks(): StoredAsk[] {
    return this.exists ? this.#storage.sql.exec<StoredAsk>("SELECT * FROM asks").toArray() : [];
  }

  async asked(number: number): Promise<OpenAsk | undefined> {
    return (await this.rows.text(`ask ${number}`)) as OpenAsk | undefined;
  }

  /**
   * Stores a page that the user is asked to open, by a digest of its id, since a servlet may put secrets into the id.
   * Beyond the limit the oldest page is deleted.
   */
  addPage(elicitationId: string): void {
    const { sql } = this.#storage;
    sql.exec("INSERT OR REPLACE INTO pages (id) VALUES (?)", hexDigestNow(elicitationId));
    const last = "(SELECT MAX(number) FROM pages)";
    sql.exec(`DELETE FROM pages WHERE number <= ${last} - ?`, limits.sessionPages);
  }

  /** True once for each page that was added. */
  takePage(elicitationId: string): boolean {
    const take = "DELETE FROM pages WHERE id = ? RETURNING 1";
    return hasRow(this.#storage.sql, take, hexDigestNow(elicitationId));
  }

  /** Subscribes to a resource; returns false if the URIs are too many or too long together. */
  subscribe(uri: string): boolean {
    const { sql } = this.#storage;
    const query =
      "SELECT COUNT(*) AS count, COALESCE(SUM(LENGTH(uri)), 0) AS characters FROM subscriptions";
    const { count, characters } = sql.exec<{ count: number; characters: number }>(query).one();
    const isTooLong = characters + uri.length > limits.sessionSubscriptionCharacters;
    if (count >= limits.sessionSubscriptions || isTooLong) return this.isSubscribed(uri);
    sql.exec("INSERT OR IGNORE INTO subscriptions VALUES (?)", uri);
    return true;
  }

  unsubscribe(uri: string): void {
    this.#storage.sql.exec("DELETE FROM subscriptions WHERE uri = ?", uri);
  }

  isSubscribed(uri: string): boolean {
    return hasRow(this.#storage.sql, "SELECT 1 FROM subscriptions WHERE uri = ?", uri);
  }

  /** Adds a task that expires at this Unix time in ms; returns false if there are too many. */
  addTask(id: string, until: number): boolean {
    this.#dropOverdueTasks();
    const { sql } = this.#storage;
    const { count } = sql.exec<{ count: number }>("SELECT count(*) AS count FROM tasks").one();
    if (count >= limits.sessionTasks) return false;
    sql.exec("INSERT OR IGNORE INTO tasks (id, until) VALUES (?, ?)", id, until);
    return true;
  }

  /** Tasks created by the client, oldest first, after this place in the list. */
  tasks(after: number, count: number): { at: number; id: string }[] {
    this.#dropOverdueTasks();
    return this.#storage.sql
      .exec<{ at: number; id: string }>(
        "SELECT at, id FROM tasks WHERE at > ? ORDER BY at LIMIT ?",
        after,
        count,
      )
      .toArray();
  }

  hasTask(id: string): boolean {
    return hasRow(this.#storage.sql, "SELECT 1 FROM tasks WHERE id = ?", id);
  }

  /** Stores the state of a task; returns false if the client was notified of that state before. */
  isNews(id: string, state: string): boolean {
    const update = "UPDATE tasks SET state = ? WHERE id = ? AND state IS NOT ? RETURNING 1";
    return hasRow(this.#storage.sql, update, state, id, state);
  }

  #dropOverdueTasks(): void {
    this.#storage.sql.exec("DELETE FROM tasks WHERE until < ?", Date.now());
  }

  dropTask(id: string): void {
    this.#storage.sql.exec("DELETE FROM tasks WHERE id = ?", id);
  }
}

/** The parts of a session that its methods use. */
export interface SessionParts {
  store: SessionStore;
  /** The principal's tasks with these scopes. */
  tasks: (scopes?: Post["scopes"]) => Tasks;
  registry: () => Promise<Registry>;
  /** Subscribes the session to change notifications. */
  enlist(): Promise<void>;
  /** Answers the call with the task's end. */
  awaitTask(call: SessionCall, task: DetailedTask): Promise<void>;
}

/** Answers a method in a session; undefined if the answer comes later. */
export type SessionHandler = (
  params: Json,
  session: SessionParts,
  call: SessionCall,
) => Promise<Json | undefined> | Json;

/** An open call of a session. */
export interface SessionCall extends StoredCall {
  isStored: boolean;
  /** True once the client has cancelled it. */
  isUnwanted?: boolean;
  /** Absent once another instance of the session's object has taken the call over. */
  post?: OpenPost;
  scopes: Post["scopes"];
  /** The trace that its request is a part of. */
  trace?: Trace | undefined;
  /** Aborts its run in this object. */
  stop?: AbortController;
  hear?: (notice: Notification) => void;
}
