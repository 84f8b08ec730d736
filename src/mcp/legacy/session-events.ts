import { limits } from "../../core/limits.ts";
import type { SessionStore } from "./session-store.ts";
import { hasRow } from "../../storage/tables.ts";

interface Row extends Record<string, SqlStorageValue> {
  seq: number;
  size: number;
  at: number;
}

/** An event that is stored for its client. */
interface StoredEvent {
  seq: number;
  /** JSON text. */
  message: string;
}

/** A message that is about to be stored. */
interface NewEvent {
  stream: number;
  /** JSON text. */
  message: string;
  /** Minor events are dropped first. */
  isMinor: boolean;
  /** True where a client is connected to its stream. */
  isRead: boolean;
}

/** The messages on a session's streams, numbered and stored until clients have had time to reconnect for them. */
export class SessionEvents {
  readonly #store: SessionStore;
  readonly #sql: SqlStorage;
  #total: { events: number; characters: number } | undefined;
  #hasDropped = false;

  constructor(store: SessionStore, sql: SqlStorage) {
    this.#store = store;
    this.#sql = sql;
  }

  get newest(): number {
    return this.#store.row.events;
  }

  /** The name of an event's sealed message. */
  static nameOf(seq: number): string {
    return `event ${seq}`;
  }

  /** Inserts the row of the next event; its message is stored in the same transaction. */
  insert({ stream, message, isMinor, isRead }: NewEvent): void {
    const seq = this.newest + 1;
    const row = [seq, stream, Number(isMinor), Number(isRead), message.length, Date.now()];
    this.#sql.exec("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", ...row);
    this.#store.set({ events: seq });
  }

  /** The event of a stream after which no client was connected to it. */
  lastRead(stream: number): number {
    const unread = "SELECT MIN(seq) AS seq FROM events WHERE stream = ? AND sent = 0";
    const { seq } = this.#sql.exec<{ seq: number | null }>(unread, stream).one();
    return seq === null ? this.newest : seq - 1;
  }

  /** True where events of a stream after this one are stored. */
  hasAfter(stream: number, after: number): boolean {
    const left = "SELECT 1 FROM events WHERE stream = ? AND seq > ? LIMIT 1";
    return hasRow(this.#sql, left, stream, after);
  }

  /** The events of a stream after this one, in order. */
  async *after(stream: number, after: number): AsyncGenerator<StoredEvent> {
    const missed = "SELECT * FROM events WHERE stream = ? AND seq > ? ORDER BY seq";
    for (const { seq } of this.#sql.exec<Row>(missed, stream, after).toArray()) {
      const message = await this.#store.rows.text(SessionEvents.nameOf(seq));
      if (typeof message === "string") yield { seq, message };
    }
  }

  /** Marks the events of a stream as read. */
  setRead(stream: number): void {
    this.#sql.exec("UPDATE events SET sent = 1 WHERE stream = ? AND sent = 0", stream);
  }

  /** Drops expired events, and the oldest above the limits, minor ones first. `characters` are the newest event's. */
  trim(characters: number): void {
    if (this.#total === undefined) {
      const total = "SELECT COUNT(*) AS events, SUM(size) AS characters FROM events";
      this.#total = this.#sql.exec<{ events: number; characters: number }>(total).one();
    } else {
      this.#total.events++;
      this.#total.characters += characters;
    }
    const expired = Date.now() - limits.sessionEventMs;
    for (const event of this.#select("ORDER BY seq LIMIT 10")) {
      if (event.at < expired) this.#drop(event, this.#total);
    }
    while (
      this.#total.events > limits.sessionEvents ||
      (this.#total.characters > limits.sessionEventCharacters && this.#total.events > 1)
    ) {
      const [oldest] = this.#select("ORDER BY minor DESC, seq LIMIT 1");
      if (oldest === undefined) return;
      this.#drop(oldest, this.#total);
      if (!this.#hasDropped) {
        console.warn(
          "A session's client does not read its stream. Its oldest messages are dropped.",
        );
        this.#hasDropped = true;
      }
    }
  }

  #select(order: string): Row[] {
    return this.#sql.exec<Row>(`SELECT * FROM events ${order}`).toArray();
  }

  #drop({ seq, size }: Row, total: { events: number; characters: number }): void {
    this.#sql.exec("DELETE FROM events WHERE seq = ?", seq);
    this.#store.rows.forget(SessionEvents.nameOf(seq));
    total.events--;
    total.characters -= size;
  }
}
