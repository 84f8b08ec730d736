import type { SessionStore } from "./session-store.ts";
import { Fault, report } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { Connection } from "../../kernel/http/connection.ts";
import { usageKey } from "../../kernel/core/callers.ts";
import { Unread, unstored } from "../../kernel/http/unread.ts";
import { streamResponse } from "../../kernel/http/body.ts";
import { eventText } from "../../kernel/mcp/wire/reply.ts";
import { PART } from "../../kernel/core/parts.ts";
import { stringBytes } from "../../kernel/core/text.ts";
import { hasTasks } from "../../kernel/mcp/legacy/shapes.ts";
import { hasRow } from "../../kernel/storage/tables.ts";

/** Number of the standalone stream (GET). */
export const OWN = 0;

/** Options of `send`. Everything is written in one transaction with the message. */
interface SendOptions {
  /** True for a message that is dropped first when a client does not read its stream. */
  isMinor?: boolean;
  texts?: Record<string, unknown>;
  also?: () => void;
}

/** The parts of a session that its streams need. */
interface Streaming {
  /** True while more messages may follow on this stream. */
  goesOn(stream: number): boolean;
  /** Counts one more MiB that is stored for its caller. Throws `too_many`. */
  countStored(): Promise<void>;
}

/**
 * The streams of a session. Each message is stored before it is sent, under an id that names its stream and place,
 * so that a client that reconnects receives the later messages of that stream.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
 */
export class SessionStreams {
  readonly #store: SessionStore;
  readonly #storage: DurableObjectStorage;
  readonly #events: SessionEvents;
  readonly #goesOn: Streaming["goesOn"];
  /** Prefix of this session's event ids, to recognize ids of other sessions. */
  readonly #tag: string;
  readonly #open = new Map<number, Connection>();
  /** The open connections and earlier ones with unread bytes, oldest first. */
  #connections: Connection[] = [];
  /** Number of the newest event that a crash cannot lose: clients must know no later one. */
  #durable: number;
  /** Settles when all earlier messages are inserted. */
  #last = Promise.resolve();
  /** Settles when all inserted messages are durable and written. */
  #written = Promise.resolve();

  constructor(
    store: SessionStore,
    { storage, id }: Pick<DurableObjectState, "storage" | "id">,
    { goesOn, countStored }: Streaming,
  ) {
    this.#store = store;
    this.#storage = storage;
    this.#events = new SessionEvents(store, storage.sql, countStored);
    this.#durable = store.exists ? this.#events.newest : 0;
    this.#goesOn = goesOn;
    this.#tag = id.toString().slice(0, 12);
  }

  /** True while a client is connected to this stream. */
  isOpen(stream: number): boolean {
    return this.#open.has(stream);
  }

  /**
   * Settles when the message is durable and was written to its connection, if any. Drops a minor message if too many
   * of its caller's are not durable yet: servlets may send them faster than they are stored.
   */
  async send(
    stream: number,
    message: string,
    { isMinor = false, texts, also }: SendOptions = {},
  ): Promise<void> {
    const bytes = stringBytes(message);
    // Counted apart from the caller's unread bytes.
    const queued = new Unread(usageKey(this.#store.caller), unstored);
    if (isMinor && queued.leavesTooMuch(bytes)) return;
    queued.bytes = bytes;
    const stored = this.#inTurn(async () => {
      // The number is assigned here, where messages are written one after the other.
      const seq = this.#events.newest + 1;
      const name = SessionEvents.nameOf(seq);
      await this.#events.countMore(bytes);
      const write = await this.#store.rows.prepare({ texts: { ...texts, [name]: message } });
      if (!this.#store.exists) return;
      const connection = this.#open.get(stream);
      this.#storage.transactionSync(() => {
        this.#events.insert({ stream, bytes, isMinor, isRead: connection !== undefined });
        write();
        also?.();
      });
      this.#events.trim(bytes);
      this.#afterwards(() => {
        this.#durable = seq;
        const text = this.#event(stream, seq, message);
        // The client may have no event id to reconnect with yet.
        if (connection?.isFullFor(text) && connection.backlogBytes <= limits.smallAnswer)
          connection.close(this.#ending(stream, seq - 1));
        else connection?.write(text);
        this.#relieve();
      });
    });
    await stored.then(() => this.#written).finally(() => (queued.bytes = 0));
  }

  /**
   * Calls `write` when all earlier writes are durable. workerd holds a response back until then, but not later
   * bytes of its body: a crash could lose an event whose id the client knows.
   */
  #afterwards(write: () => void): void {
    const written = Promise.all([this.#storage.sync(), this.#written]).then(write);
    this.#written = written.catch(() => {}); // The object is reset where its storage fails.
  }

  /** The response with the stream of a POST. */
  begin(stream: number): Response {
    const connection = this.#connect(stream, this.#events.newest);
    this.#open.set(stream, connection);
    return streamResponse(connection.body);
  }

  /**
   * The stream of this event, or the session's own stream. It replaces an older connection to the same stream, whose
   * client may have disconnected unnoticed.
   *
   * Throws `invalid_request` for an id of another session, `method_not_allowed` for a stream that the client has read
   * to its end: the client of a cancelled call would reconnect for ever.
   */
  async listen(lastEventId: string | undefined): Promise<Response> {
    const { stream, after } =
      lastEventId === undefined
        ? { stream: OWN, after: this.#events.lastRead(OWN) }
        : this.#placeOf(lastEventId);
    if (await this.#isRead(stream, after)) {
      throw new Fault(
        "method_not_allowed",
        "This stream has ended and was read to its end. Open a stream without Last-Event-ID.",
      );
    }
    this.#open.get(stream)?.close();
    const connection = this.#connect(stream, after);
    void this.#inTurn(async () => {
      await this.#written;
      this.#relieve();
      await this.#repeat(stream, after, connection);
      if (!connection.isOpen) return;
      this.#open.get(stream)?.close(); // Opened by a concurrent request.
      if (this.#goesOn(stream)) this.#open.set(stream, connection);
      else connection.close();
    });
    return streamResponse(connection.body);
  }

  /** Closes a stream after its last message. */
  finish(stream: number): Promise<void> {
    return this.#inTurn(async () => {
      await this.#written;
      this.#open.get(stream)?.close();
    });
  }

  /** Closes all streams of a session that ends, including those that still send missed messages. */
  end(): void {
    for (const connection of this.#connections) connection.close();
  }

  /** Settles when all sent messages are durable. */
  async settled(): Promise<void> {
    await this.#last;
    await this.#written;
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(() => (this.#store.exists ? work() : undefined));
    this.#last = done.catch(() => {});
    return done;
  }

  /** A new connection to a client that has seen the events up to this one. */
  #connect(stream: number, seen: number): Connection {
    const isOwn = stream === OWN;
    const connection: Connection = new Connection({
      caller: this.#store.caller,
      keepAliveMs: limits.listenKeepAliveMs,
      life: {
        ms: isOwn ? limits.sessionStreamMs : limits.callStreamMs,
        ending: () =>
          this.#ending(stream, this.#open.get(stream) === connection ? undefined : seen),
      },
      onOver: () => {
        if (this.#open.get(stream) === connection) this.#open.delete(stream);
      },
    });
    this.#connections.push(connection);
    if (this.#primes) {
      connection.writeAny(
        `id: ${this.#freshId(stream, seen)}\nretry: ${limits.retryMs}\ndata: \n\n`,
      );
    }
    return connection;
  }

  /** True if connections begin with an event without data. Clients of older revisions take it for a broken message. */
  get #primes(): boolean {
    return hasTasks(this.#store.row.version);
  }

  /**
   * The last event of an expired connection: the reconnection delay and, for clients without a priming event, the id to
   * reconnect with. Without a new id from each connection go-sdk gives up after five; the event has a name of its own
   * and no data, so that no client takes it for a message.
   */
  #ending(stream: number, seen = this.#durable): string {
    const retry = `retry: ${this.#retryMs(stream === OWN)}\n\n`;
    return this.#primes ? retry : `event: end\nid: ${this.#freshId(stream, seen)}\n${retry}`;
  }

  /** The reconnection delay, which is longer for a client that has been silent for long. */
  #retryMs(isOwn: boolean): number {
    const silentMs = isOwn ? Date.now() - this.#store.row.used : 0;
    return Math.min(Math.max(limits.retryMs, Math.round(silentMs / 4)), limits.maxRetryMs);
  }

  /** True if a stream has no event after this one, and none will follow. */
  async #isRead(stream: number, after: number): Promise<boolean> {
    if (this.#goesOn(stream)) return false;
    await this.#last; // Its last message may not be stored yet.
    return !this.#events.hasAfter(stream, after);
  }

  /** Sends the events of a stream after this one, or as many as its caller's unread bytes leave room for. */
  async #repeat(stream: number, after: number, connection: Connection): Promise<void> {
    let seen = after;
    for await (const { seq, message } of this.#events.after(stream, after)) {
      if (connection.leavesTooMuch) return connection.close(this.#ending(stream, seen));
      connection.writeAny(this.#event(stream, seq, message));
      seen = seq;
    }
    if (connection.isOpen) this.#events.setRead(stream);
  }

  /**
   * Breaks off the oldest unread connections while all of them have more unread bytes than the session may store
   * in all: a client can have a stream for each call, and request the same messages again and again.
   */
  #relieve(): void {
    const isInUse = ({ isOpen, backlogBytes }: Connection) => isOpen || backlogBytes > 0;
    this.#connections = this.#connections.filter(isInUse);
    const unread = this.#connections.filter(({ backlogBytes }) => backlogBytes > 0);
    let total = unread.reduce((sum, { backlogBytes }) => sum + backlogBytes, 0);
    for (const oldest of unread.slice(0, -1)) {
      if (total <= limits.sessionEventBytes) return;
      total -= oldest.backlogBytes;
      oldest.fail("The client reads too slowly.");
    }
  }

  #event(stream: number, seq: number, message: string): string {
    return eventText(message, this.#idOf(stream, seq));
  }

  #idOf(stream: number, seq: number): string {
    return `${this.#tag}-${stream}-${seq}`;
  }

  /** A new id for the same place. */
  #freshId(stream: number, seq: number): string {
    return `${this.#idOf(stream, seq)}-${Date.now().toString(36)}`;
  }

  #placeOf(id: string): { stream: number; after: number } {
    const [, tag, stream, seq] = /^([0-9a-f]+)-(\d+)-(\d+)(-[0-9a-z]+)?$/.exec(id) ?? [];
    const place = { stream: Number(stream), after: Number(seq) };
    const { streams, events } = this.#store.row;
    if (tag === this.#tag && place.stream <= streams && place.after <= events) return place;
    const message =
      "Last-Event-ID is not the id of an event of this session. Open a stream without it.";
    throw new Fault("invalid_request", message);
  }
}

interface Row extends Record<string, SqlStorageValue> {
  seq: number;
  size: number;
  at: number;
}

/** Totals of the stored events. */
interface StoredEvents {
  events: number;
  bytes: number;
  /** Bytes counted against the caller's quota, in whole MiB. */
  counted: number;
}

/** A stored event. */
interface StoredEvent {
  seq: number;
  /** JSON text. */
  message: string;
}

/** An event that is about to be stored. */
interface NewEvent {
  stream: number;
  /** Bytes of its message. */
  bytes: number;
  /** Minor events are dropped first. */
  isMinor: boolean;
  /** True if a client is connected to its stream. */
  isRead: boolean;
}

/** The messages of a session's streams, numbered and stored until clients have had time to reconnect for them. */
class SessionEvents {
  readonly #store: SessionStore;
  readonly #sql: SqlStorage;
  readonly #countStored: Streaming["countStored"];
  #known: StoredEvents | undefined;
  #hasDropped = false;

  constructor(store: SessionStore, sql: SqlStorage, countStored: Streaming["countStored"]) {
    this.#store = store;
    this.#sql = sql;
    this.#countStored = countStored;
  }

  get newest(): number {
    return this.#store.row.events;
  }

  /** The name of an event's sealed message. */
  static nameOf(seq: number): string {
    return `event ${seq}`;
  }

  get #total(): StoredEvents {
    if (this.#known !== undefined) return this.#known;
    const query = "SELECT COUNT(*) AS events, COALESCE(SUM(size), 0) AS bytes FROM events";
    const total = this.#sql.exec<Omit<StoredEvents, "counted">>(query).one();
    const counted = PART * Math.max(1, Math.ceil(total.bytes / PART));
    return (this.#known = { ...total, counted });
  }

  /** Counts each MiB that another message fills; `trim` drops older messages if its caller may store no more. */
  async countMore(bytes: number): Promise<void> {
    const total = this.#total;
    const most = Math.min(total.bytes + bytes, limits.sessionEventBytes);
    while (total.counted < most) {
      try {
        await this.#countStored();
      } catch (error) {
        if (Fault.from(error).code === "too_many") return;
        // A failed count drops no messages.
        report(error);
      }
      total.counted += PART;
    }
  }

  /** Inserts the row of the next event; its message is stored in the same transaction. */
  insert({ stream, bytes, isMinor, isRead }: NewEvent): void {
    const seq = this.newest + 1;
    const row = [seq, stream, Number(isMinor), Number(isRead), bytes, Date.now()];
    this.#sql.exec("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", ...row);
    this.#store.set({ events: seq });
  }

  /** The event of a stream after which no client was connected to it. */
  lastRead(stream: number): number {
    const unread = "SELECT MIN(seq) AS seq FROM events WHERE stream = ? AND sent = 0";
    const { seq } = this.#sql.exec<{ seq: number | null }>(unread, stream).one();
    return seq === null ? this.newest : seq - 1;
  }

  /** True if events of a stream after this one are stored. */
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

  /** Drops expired events, and the oldest above the limits, minor ones first. `bytes` are the newest event's. */
  trim(bytes: number): void {
    const total = this.#total;
    total.events++;
    total.bytes += bytes;
    const expired = Date.now() - limits.sessionEventMs;
    for (const event of this.#select("ORDER BY seq LIMIT 10")) {
      if (event.at < expired) this.#drop(event, total);
    }
    while (
      total.events > limits.sessionEvents ||
      (total.bytes > Math.min(total.counted, limits.sessionEventBytes) && total.events > 1)
    ) {
      const [oldest] = this.#select("ORDER BY minor DESC, seq LIMIT 1");
      if (oldest === undefined) return;
      this.#drop(oldest, total);
      if (!this.#hasDropped) {
        console.warn(
          "A session has more messages that its client has not read than it keeps (limits: sessionEvents, sessionEventBytes, and keptPerDay of its caller). Its oldest are dropped.",
        );
        this.#hasDropped = true;
      }
    }
  }

  #select(order: string): Row[] {
    return this.#sql.exec<Row>(`SELECT * FROM events ${order}`).toArray();
  }

  #drop({ seq, size }: Row, total: StoredEvents): void {
    this.#sql.exec("DELETE FROM events WHERE seq = ?", seq);
    this.#store.rows.forget(SessionEvents.nameOf(seq));
    total.events--;
    total.bytes -= size;
  }
}
