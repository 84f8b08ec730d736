import { limits } from "../limits.ts";
import type { RequestId } from "../mcp/wire/message.ts";
import type { Introduced } from "./session-object.ts";
import type { Json, LoggingLevel, Principal } from "../model.ts";
import type { Ask } from "../asks.ts";
import { SealedRows } from "./sealed-rows.ts";
import type { Sealer } from "./vault.ts";

/** A session's row: all that is not sealed. */
interface Row extends Record<string, SqlStorageValue> {
  principal: string;
  version: string;
  level: string;
  /** Has the client said that it is initialized? */
  ready: 0 | 1;
  /** When its client was last heard of, in Unix ms; stored at most `limits.sessionUsedMs` late. */
  used: number;
  /** How many events, streams and requests of the server there have been. */
  events: number;
  streams: number;
  asks: number;
}

/** A call whose client is to hear of it on a stream. */
export interface KeptCall {
  number: number;
  /** The id of its request; null for a call that nobody waits for. */
  request: RequestId | null;
  method: string;
  stream: number;
  /** The task that it has become. */
  task?: string;
  progressToken?: string | number;
  /** The number of the newest notification that the client was told. */
  notified: number;
  /** The highest progress value sent to the client. */
  progress?: number;
  /** Has its servlet sent an HTTP request that must not be sent twice, since it runs in the session? */
  hasSent?: boolean;
}

interface CallRow extends Record<string, SqlStorageValue> {
  number: number;
  request: string;
  method: string;
  stream: number;
  task: string | null;
  token: string | null;
  told: number;
  progress: number | null;
  sent: number;
}

/** A request of the server that is open. */
export interface KeptAsk extends Record<string, SqlStorageValue> {
  number: number;
  task: string;
  /** Its key in the task. */
  key: string;
  stream: number;
}

/** The content of an open request of the server. */
export type Asked = Ask & {
  /** May the client make a task of its own of it? */
  isTask: boolean;
};

const SCHEMA = `
CREATE TABLE session (principal TEXT NOT NULL, version TEXT NOT NULL, level TEXT NOT NULL, ready INTEGER NOT NULL,
  used INTEGER NOT NULL, events INTEGER NOT NULL, streams INTEGER NOT NULL, asks INTEGER NOT NULL);
CREATE TABLE events (seq INTEGER PRIMARY KEY, stream INTEGER NOT NULL, minor INTEGER NOT NULL,
  sent INTEGER NOT NULL, size INTEGER NOT NULL, at INTEGER NOT NULL);
CREATE INDEX dropped ON events (minor DESC, seq);
CREATE TABLE calls (number INTEGER PRIMARY KEY, request TEXT NOT NULL, method TEXT NOT NULL,
  stream INTEGER NOT NULL, task TEXT, token TEXT, told INTEGER NOT NULL, progress REAL);
CREATE TABLE asks (number INTEGER PRIMARY KEY, task TEXT NOT NULL, key TEXT NOT NULL, stream INTEGER NOT NULL);
CREATE TABLE subscriptions (uri TEXT PRIMARY KEY);
CREATE TABLE tasks (at INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, state TEXT, until INTEGER);
${SealedRows.texts}`;

/** Calls that have sent what must not be sent twice. Sessions of before have no such table. */
const SENT = "CREATE TABLE IF NOT EXISTS sent (call INTEGER PRIMARY KEY)";

/** Columns of `tasks` that sessions of before do not have. */
const LATER_COLUMNS = { state: "TEXT", until: "INTEGER" };

/** All that is kept of one session in its object's SQLite, the messages for its client aside. */
export class SessionStore {
  readonly rows: SealedRows;
  readonly #storage: DurableObjectStorage;
  #row: Row | undefined;
  /** `used` as it is stored. */
  #storedUse = 0;
  #client: Promise<Introduced> | undefined;
  #principal: Principal | undefined;

  constructor(storage: DurableObjectStorage, sealer: Sealer) {
    this.#storage = storage;
    this.rows = new SealedRows(storage.sql, sealer);
    const tables = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'session'").toArray();
    if (tables.length === 0) return;
    storage.sql.exec(SENT);
    this.#row = storage.sql.exec<Row>("SELECT * FROM session").toArray()[0];
    this.#storedUse = this.#row?.used ?? 0;
    for (const [name, type] of Object.entries(LATER_COLUMNS)) {
      const columns = storage.sql.exec(
        "SELECT 1 FROM pragma_table_info('tasks') WHERE name = ?",
        name,
      );
      if (columns.toArray().length > 0) continue;
      storage.sql.exec(`ALTER TABLE tasks ADD COLUMN ${name} ${type}`);
    }
  }

  /** `lists` are the fingerprints of what the server offers, which the client is about to see. */
  async create({ name, address }: Principal, client: Introduced, lists: Json): Promise<void> {
    const texts = { client, lists, ...(address && { address }) };
    const write = await this.rows.prepare({ texts });
    const now = Date.now();
    this.#storage.transactionSync(() => {
      this.#storage.sql.exec(SCHEMA + SENT);
      const row = [name, client.protocolVersion, "debug", 0, now, 0, 0, 0];
      this.#storage.sql.exec("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?)", ...row);
      write();
      void this.#storage.setAlarm(now + limits.sessionIdleMs);
    });
    this.#client = Promise.resolve(client);
    this.#row = this.#storage.sql.exec<Row>("SELECT * FROM session").one();
  }

  get exists(): boolean {
    return this.#row !== undefined;
  }

  isOf(principal: string): boolean {
    return this.#row?.principal === principal;
  }

  /** Throws where the session has ended. */
  get row(): Readonly<Row> & { level: LoggingLevel } {
    if (this.#row === undefined) throw new Error("the session has ended: check `exists` first");
    return this.#row as Row & { level: LoggingLevel };
  }

  set(change: Partial<Row>): void {
    Object.assign(this.row, change);
    for (const [column, value] of Object.entries(change)) {
      this.#storage.sql.exec(`UPDATE session SET ${column} = ?`, value);
    }
  }

  /** Records that the client sent something. */
  touch(): void {
    const used = Date.now();
    Object.assign(this.row, { used });
    if (used <= this.#storedUse + limits.sessionUsedMs) return;
    this.#storedUse = used;
    this.set({ used });
  }

  /** The next number of its kind. */
  next(column: "streams" | "asks"): number {
    const number = this.row[column] + 1;
    this.set({ [column]: number });
    return number;
  }

  /** Whose session it is, with the address that it was made from. */
  async principal(): Promise<Principal> {
    if (this.#principal === undefined) {
      const address = (await this.rows.text("address")) as string | undefined;
      this.#principal = { name: this.row.principal, ...(address !== undefined && { address }) };
    }
    return this.#principal;
  }

  /**
   * Who the client is; before it is initialized there is nothing that it can be asked. Throws
   * `Unreadable` where what is stored of the session cannot be opened any more.
   */
  async client(): Promise<Introduced> {
    const opening = (this.#client ??= this.rows.text("client") as Promise<Introduced>);
    const client = await opening.catch((error: unknown) => {
      this.#client = undefined; // The next try may do better.
      throw error;
    });
    return this.row.ready === 1 ? client : { ...client, capabilities: {} };
  }

  forget(): Promise<void> {
    this.#row = undefined;
    return this.#storage.deleteAll();
  }

  keepCall({ number, request, method, stream, task, progressToken, ...heard }: KeptCall): void {
    const token = progressToken === undefined ? null : JSON.stringify(progressToken);
    const row = [number, JSON.stringify(request), method, stream, task ?? null, token];
    const all = [...row, heard.notified, heard.progress ?? null];
    this.#storage.sql.exec("INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?)", ...all);
    if (heard.hasSent) this.#storage.sql.exec("INSERT OR IGNORE INTO sent VALUES (?)", number);
  }

  dropCall(number: number): void {
    this.#storage.sql.exec("DELETE FROM calls WHERE number = ?", number);
    this.#storage.sql.exec("DELETE FROM sent WHERE call = ?", number);
  }

  /** Stores how far the client was notified. */
  setNotified({ number, notified, progress }: KeptCall): void {
    const { sql } = this.#storage;
    const row = [notified, progress ?? null, number];
    sql.exec("UPDATE calls SET told = ?, progress = ? WHERE number = ?", ...row);
  }

  calls(): KeptCall[] {
    if (!this.exists) return [];
    return this.#storage.sql
      .exec<CallRow>("SELECT *, number IN (SELECT call FROM sent) AS sent FROM calls")
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

  keepAsk({ number, task, key, stream }: KeptAsk): void {
    this.#storage.sql.exec("INSERT INTO asks VALUES (?, ?, ?, ?)", number, task, key, stream);
  }

  dropAsk(number: number): void {
    this.#storage.sql.exec("DELETE FROM asks WHERE number = ?", number);
    this.rows.forget(`ask ${number}`);
  }

  asks(): KeptAsk[] {
    return this.exists ? this.#storage.sql.exec<KeptAsk>("SELECT * FROM asks").toArray() : [];
  }

  async asked(number: number): Promise<Asked | undefined> {
    return (await this.rows.text(`ask ${number}`)) as Asked | undefined;
  }

  /** False where there are too many. */
  subscribe(uri: string): boolean {
    const { sql } = this.#storage;
    const { count } = sql
      .exec<{ count: number }>("SELECT COUNT(*) AS count FROM subscriptions")
      .one();
    if (count >= limits.sessionSubscriptions) return this.isSubscribed(uri);
    sql.exec("INSERT OR IGNORE INTO subscriptions VALUES (?)", uri);
    return true;
  }

  unsubscribe(uri: string): void {
    this.#storage.sql.exec("DELETE FROM subscriptions WHERE uri = ?", uri);
  }

  isSubscribed(uri: string): boolean {
    const found = this.#storage.sql.exec("SELECT 1 FROM subscriptions WHERE uri = ?", uri);
    return found.toArray().length > 0;
  }

  /** Adds a task that is kept until this Unix time in ms; false, and not added, where there are too many. */
  addTask(id: string, until: number): boolean {
    this.#dropOverdueTasks();
    const { sql } = this.#storage;
    const { count } = sql.exec<{ count: number }>("SELECT count(*) AS count FROM tasks").one();
    if (count >= limits.sessionTasks) return false;
    sql.exec("INSERT OR IGNORE INTO tasks (id, until) VALUES (?, ?)", id, until);
    return true;
  }

  /** Tasks that the client has asked for, oldest first, behind this place in the list. */
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
    return this.#storage.sql.exec("SELECT 1 FROM tasks WHERE id = ?", id).toArray().length > 0;
  }

  /** Notes the state of a task; false where the client was told of that state already. */
  isNews(id: string, state: string): boolean {
    const news = this.#storage.sql.exec(
      "UPDATE tasks SET state = ? WHERE id = ? AND state IS NOT ? RETURNING 1",
      ...[state, id, state],
    );
    return news.toArray().length > 0;
  }

  #dropOverdueTasks(): void {
    this.#storage.sql.exec("DELETE FROM tasks WHERE until < ?", Date.now());
  }

  dropTask(id: string): void {
    this.#storage.sql.exec("DELETE FROM tasks WHERE id = ?", id);
  }
}
