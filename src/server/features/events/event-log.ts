/** The events of one caller, or those for everyone, in order. */
import type { Json } from "../../kernel/core/model.ts";
import { firstRow, hasRow } from "../../kernel/storage/tables.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";
import { matchesArguments } from "./event-types.ts";
import { limits } from "./limits.ts";

/**
 * `origin` is the position of an event for everyone in the log for everyone; null for an event of the caller's own.
 * `dropped_events` has the position of the last event of each type that was deleted, and of the last gap in the events for
 * everyone.
 */
const TABLES = `
CREATE TABLE IF NOT EXISTS events (seq INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL, id TEXT NOT NULL,
  at INTEGER NOT NULL, size INTEGER NOT NULL, origin INTEGER, sealed BLOB NOT NULL, UNIQUE (type, id));
CREATE TABLE IF NOT EXISTS dropped_events (type TEXT PRIMARY KEY, seq INTEGER NOT NULL);`;

/** The row of `dropped_events` for gaps in the events for everyone. */
const SHARED_GAP = "";

/** An event as it is stored and sent between logs, with its data sealed. */
export interface LoggedEvent {
  seq: number;
  type: string;
  id: string;
  /** When it was emitted, in Unix ms. */
  at: number;
  /** Bytes of its data. */
  size: number;
  sealed: Uint8Array<ArrayBuffer>;
}

interface Row extends Record<string, SqlStorageValue> {
  seq: number;
  type: string;
  id: string;
  at: number;
  size: number;
  sealed: ArrayBuffer;
}

/** The events that a reader wants. */
export interface EventQuery {
  type: string;
  /** True if events for everyone can be among them. */
  isShared: boolean;
  arguments: Json;
}

/** A position in the log, and whether the reader has missed events before it. */
export interface LogPosition {
  seq: number;
  truncated: boolean;
}

/** An event with its data. */
export interface OpenEvent extends Omit<LoggedEvent, "sealed"> {
  data: Json;
}

/** How long events are stored: not longer than the keys are that seal them. */
export const storedMs = (): number => Math.min(limits.eventMs, limits.taskMs);

export class EventLog {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;
  readonly #sealer: Sealer;
  /** The stored events by kind; read once. */
  #totals: Record<"own" | "shared", { count: number; bytes: number }> | undefined;

  constructor(storage: DurableObjectStorage, sealer: Sealer) {
    this.#storage = storage;
    this.#sql = storage.sql;
    this.#sealer = sealer;
  }

  /** Makes the tables of an object that stores something for the first time. */
  create(): void {
    this.#sql.exec(TABLES);
    this.#totals = undefined;
  }

  /** A random id of this log, part of its cursors: a cursor of a deleted log is not taken for one of this log. */
  get epoch(): string {
    const { kv } = this.#storage;
    const known = kv.get<string>(EPOCH);
    if (known !== undefined) return known;
    const epoch = crypto.randomUUID().slice(0, 8);
    kv.put(EPOCH, epoch);
    return epoch;
  }

  /** The position of the newest event ever. */
  get head(): number {
    const row = firstRow(
      this.#sql.exec<{ seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'events'"),
    );
    return row?.seq ?? 0;
  }

  /** When the oldest event expires, in Unix ms; undefined without events. */
  get nextEnd(): number | undefined {
    const { at } = this.#sql.exec<{ at: number | null }>("SELECT MIN(at) AS at FROM events").one();
    return at === null ? undefined : at + storedMs();
  }

  cursorAt(seq: number): string {
    return `${this.epoch}.${seq}`;
  }

  /**
   * The position of a reader with this cursor (null for the newest), at most `maxAgeMs` back. A cursor that is not of this
   * log, or of events that were deleted, goes on from the newest, or from the oldest that is left.
   */
  position(
    { type, isShared }: EventQuery,
    cursor: string | null,
    maxAgeMs: number | undefined,
  ): LogPosition {
    const { head } = this;
    if (cursor === null) return { seq: head, truncated: false };
    const [, epoch, digits] = /^([\w-]{1,36})\.(\d{1,15})$/.exec(cursor) ?? [];
    const at = Number(digits);
    if (epoch !== this.epoch || at > head) return { seq: head, truncated: true };
    const position = { seq: at, truncated: this.lastMissing({ type, isShared }) > at };
    if (maxAgeMs === undefined) return position;
    const { old } = this.#sql
      .exec<{ old: number | null }>(
        "SELECT MAX(seq) AS old FROM events WHERE type = ? AND seq > ? AND at < ?",
        type,
        at,
        Date.now() - maxAgeMs,
      )
      .one();
    return old === null ? position : { seq: old, truncated: true };
  }

  /** The position of the last event of a type that was deleted, or of the last gap. */
  lastMissing({ type, isShared }: Pick<EventQuery, "type" | "isShared">): number {
    return Math.max(this.#droppedOf(type), isShared ? this.#droppedOf(SHARED_GAP) : 0);
  }

  #droppedOf(type: string): number {
    const query = "SELECT seq FROM dropped_events WHERE type = ?";
    return firstRow(this.#sql.exec<{ seq: number }>(query, type))?.seq ?? 0;
  }

  /** Seals an event's data. */
  async seal(data: Json): Promise<Pick<LoggedEvent, "sealed" | "size">> {
    const bytes = new TextEncoder().encode(JSON.stringify(data));
    return { sealed: await this.#sealer.seal(bytes, PLACE), size: bytes.length };
  }

  /** True if the log has the event with this id. */
  has({ type, id }: Pick<LoggedEvent, "type" | "id">): boolean {
    return hasRow(this.#sql, "SELECT 1 FROM events WHERE type = ? AND id = ?", type, id);
  }

  /** Adds an event, in a transaction; returns its position, or undefined for an event that the log has. */
  add(event: Omit<LoggedEvent, "seq">, origin: number | null): number | undefined {
    if (this.has(event)) return undefined;
    const { type, id, at, size, sealed } = event;
    const totals = this.#counted()[origin === null ? "own" : "shared"];
    this.#sql.exec(
      "INSERT INTO events (type, id, at, size, origin, sealed) VALUES (?, ?, ?, ?, ?, ?)",
      type,
      id,
      at,
      size,
      origin,
      sealed,
    );
    totals.count++;
    totals.bytes += size;
    return this.head;
  }

  /** Leaves a gap: readers of events for everyone that are behind it have missed some. */
  addSharedGap(): void {
    // A position of its own, so that a reader at the newest event has missed them too.
    this.#sql.exec(
      "INSERT INTO events (type, id, at, size, origin, sealed) VALUES ('', ?, 0, 0, 0, x'')",
      crypto.randomUUID(),
    );
    const { head } = this;
    this.#sql.exec("DELETE FROM events WHERE seq = ?", head);
    this.#sql.exec("INSERT OR REPLACE INTO dropped_events VALUES (?, ?)", SHARED_GAP, head);
  }

  /** Deletes the events that are too old, too many or too large, in a transaction. Returns the positions of those deleted. */
  trim(now: number): number[] {
    const counted = this.#counted();
    const expired = now - storedMs();
    const deleted: number[] = [];
    for (const [kind, condition] of [
      ["own", "origin IS NULL"],
      ["shared", "origin IS NOT NULL"],
    ] as const) {
      const totals = counted[kind];
      const isOver = () =>
        totals.count > limits.loggedEvents || totals.bytes > limits.loggedEventBytes;
      // Their times are not in order if the clock was set back.
      const oldest = this.#sql.exec<Pick<Row, "seq" | "type" | "at" | "size">>(
        `SELECT seq, type, at, size FROM events WHERE ${condition} ORDER BY at > ?, seq LIMIT ?`,
        expired,
        TRIMMED,
      );
      for (const { seq, type, at, size } of oldest.toArray()) {
        if (!isOver() && at > expired) break;
        this.#drop({ seq, type });
        totals.count--;
        totals.bytes -= size;
        deleted.push(seq);
      }
    }
    return deleted;
  }

  #drop({ seq, type }: Pick<Row, "seq" | "type">): void {
    this.#sql.exec("DELETE FROM events WHERE seq = ?", seq);
    this.#sql.exec(
      "INSERT INTO dropped_events VALUES (?1, ?2) ON CONFLICT (type) DO UPDATE SET seq = MAX(seq, ?2)",
      type,
      seq,
    );
  }

  #counted() {
    if (this.#totals !== undefined) return this.#totals;
    const totals = { own: { count: 0, bytes: 0 }, shared: { count: 0, bytes: 0 } };
    const query =
      "SELECT origin IS NULL AS own, COUNT(*) AS count, SUM(size) AS bytes FROM events GROUP BY 1";
    for (const { own, count, bytes } of this.#sql.exec<Record<"own" | "count" | "bytes", number>>(
      query,
    ))
      totals[own === 1 ? "own" : "shared"] = { count, bytes };
    return (this.#totals = totals);
  }

  /** The event at this position; undefined if it was deleted. */
  async at(seq: number): Promise<OpenEvent | undefined> {
    const row = firstRow(this.#sql.exec<Row>("SELECT * FROM events WHERE seq = ?", seq));
    return row && this.#open(row);
  }

  /** The newest event of a type. */
  async newest(type: string): Promise<OpenEvent | undefined> {
    const query = "SELECT * FROM events WHERE type = ? ORDER BY seq DESC LIMIT 1";
    for (;;) {
      const row = firstRow(this.#sql.exec<Row>(query, type));
      if (row === undefined) return undefined;
      const event = await this.#open(row);
      if (event !== undefined) return event;
    }
  }

  /** The next matching event after a position, and the position after which to look for more. */
  async next(
    query: EventQuery,
    after: number,
  ): Promise<{ event: OpenEvent | undefined; seq: number }> {
    const from = "SELECT * FROM events WHERE type = ? AND seq > ? ORDER BY seq LIMIT 1";
    for (let seq = after; ;) {
      const row = firstRow(this.#sql.exec<Row>(from, query.type, seq));
      if (row === undefined) return { event: undefined, seq };
      ({ seq } = row);
      const event = await this.#open(row);
      if (event !== undefined && matchesArguments(query.arguments, event.data))
        return { event, seq };
    }
  }

  /** Events after a position, sealed as they are, of any type: at most so many, and so many bytes. */
  after(seq: number): LoggedEvent[] {
    const query = "SELECT * FROM events WHERE seq > ? ORDER BY seq LIMIT ?";
    const page: LoggedEvent[] = [];
    let bytes = 0;
    for (const { sealed, ...event } of this.#sql.exec<Row & { origin: unknown }>(
      query,
      seq,
      COPIED,
    )) {
      bytes += event.size;
      if (page.length > 0 && bytes > limits.polledEventBytes) break;
      const { type, id, at, size } = event;
      page.push({ seq: event.seq, type, id, at, size, sealed: new Uint8Array(sealed) });
    }
    return page;
  }

  /** The position of the last event that was deleted, of any type. */
  get lastDropped(): number {
    const query = "SELECT COALESCE(MAX(seq), 0) AS seq FROM dropped_events";
    return this.#sql.exec<{ seq: number }>(query).one().seq;
  }

  /** The data of a sealed event; undefined if its key is gone. */
  async dataOf({ sealed }: Pick<LoggedEvent, "sealed">): Promise<Json | undefined> {
    const bytes = await this.#sealer.open(sealed, PLACE);
    return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as Json);
  }

  /** The event of a row; undefined, and the row is deleted, if its key is gone. */
  async #open({ sealed, seq, type, id, at, size }: Row): Promise<OpenEvent | undefined> {
    const data = await this.dataOf({ sealed: new Uint8Array(sealed) });
    if (data !== undefined) return { seq, type, id, at, size, data };
    this.#drop({ seq, type });
    this.#totals = undefined;
    return undefined;
  }
}

const EPOCH = "epoch";

/** Authenticated with the sealed data of events: nothing else that is sealed can take its place. */
const PLACE = "event";

/** Events deleted at once: the alarm deletes more. */
const TRIMMED = 200;

/** Events that another log copies at once. */
const COPIED = 200;
