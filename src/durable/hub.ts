import { DurableObject } from "cloudflare:workers";
import { countedBy, siteOf, type Counted } from "../callers.ts";
import { namespaceOf } from "../env.ts";
import { logError } from "../errors.ts";
import { limits } from "../limits.ts";
import { Connection, KEEP_ALIVE } from "../mcp/wire/connection.ts";
import { eventText } from "../mcp/wire/reply.ts";
import { tagged, matches, type Filter, type Subscription } from "../mcp/wire/subscription.ts";
import type { Notification } from "../model.ts";
import { textBytes } from "../shape.ts";
import type { SessionObject } from "./session-object.ts";
import { hasTable } from "./tables.ts";

/** An open stream, and the keys that it is counted under. */
interface Open extends Pick<Subscription, "id" | "filter"> {
  keys: readonly string[];
  filterBytes: number;
}

/**
 * Delivers change notifications to a principal's clients: to open streams, held in memory only (a client
 * whose stream ends listens again), and to enlisted sessions.
 */
export class Hub extends DurableObject {
  readonly #streams = new Map<Connection, Open>();
  /** Changes that are still to be sent, by their JSON. */
  readonly #pending = new Map<string, Notification>();
  #pendingCharacters = 0;
  /** Sends them; absent while there are none. */
  #notifying: Promise<void> | undefined;
  /** The pause after the last round. */
  #pause: Promise<unknown> = Promise.resolve();

  /** Opens a stream, which the caller reads or cancels; null if the caller has too many. */
  async listen(subscription: Subscription): Promise<ReadableStream<Uint8Array> | null> {
    const { id, caller = "", filter, opening, ending, lifeMs } = subscription;
    const counted = countedBy(caller);
    const filterBytes = bytesOf(filter);
    if (!this.#hasRoomFor(counted, filterBytes)) {
      // Writing detects disconnected clients and frees their places for the next attempt.
      for (const stream of this.#streams.keys()) stream.write(KEEP_ALIVE);
      return null;
    }
    const stream = new Connection({
      keepAliveMs: limits.listenKeepAliveMs,
      life: { ms: lifeMs, ending: () => eventText(ending) },
      onOver: () => this.#streams.delete(stream),
    });
    this.#streams.set(stream, { id, filter, filterBytes, keys: counted.map(({ key }) => key) });
    stream.write(eventText(opening));
    this.#relieve();
    return stream.body;
  }

  /** True if one more stream with a filter of this size fits the limits of the hub and of each share. */
  #hasRoomFor(counted: readonly Counted[], bytes: number): boolean {
    const all = [...this.#streams.values()];
    const fits = (open: readonly Open[], streams: number, most: number) =>
      open.length < streams && open.reduce((sum, one) => sum + one.filterBytes, bytes) <= most;
    const { hubStreams, hubFilterBytes, listenStreams, listenFilterBytes } = limits;
    return (
      fits(all, hubStreams, hubFilterBytes) &&
      counted.every(({ key, shares }) => {
        const own = all.filter(({ keys }) => keys.includes(key));
        return fits(own, listenStreams * shares, listenFilterBytes * shares);
      })
    );
  }

  /** True if a stream receives this notification: its sender makes a large one only then. */
  async isHeard(notification: Notification): Promise<boolean> {
    return [...this.#streams.values()].some(({ filter }) => matches(filter, notification));
  }

  /** Settles when all are notified. Changes are sent in rounds; equal ones of a round are sent once. */
  async publish(notifications: Notification[]): Promise<void> {
    const isChange = ({ method }: Notification) => method !== "notifications/tasks";
    this.#write(notifications.filter((one) => !isChange(one)));
    for (const change of notifications.filter(isChange)) this.#addPending(change);
    if (this.#pending.size > 0) await (this.#notifying ??= this.#notifyAll());
  }

  /** Drops updates of resources above `limits.changesCharacters`; changes of lists are few. */
  #addPending(change: Notification): void {
    const text = JSON.stringify(change);
    if (this.#pending.has(text)) return;
    const characters = this.#pendingCharacters + text.length;
    if (change.params !== undefined && characters > limits.changesCharacters) return;
    this.#pendingCharacters = characters;
    this.#pending.set(text, change);
  }

  /**
   * Notifies streams and sessions of changes, then pauses, since each change goes to up to a thousand of them.
   * If the object dies in the pause, changes are lost; lists and resources can be read at any time.
   */
  async #notifyAll(): Promise<void> {
    await this.#pause;
    const changes = [...this.#pending.values()];
    this.#pending.clear();
    this.#pendingCharacters = 0;
    this.#notifying = undefined;
    const sessions = this.#sessions();
    if (this.#streams.size + sessions.length === 0) return;
    this.#write(changes);
    const notified = Promise.all(sessions.map((id) => this.#notifySession(id, changes)));
    this.#pause = notified.then(() => scheduler.wait(limits.changesMs));
    await notified;
  }

  #write(notifications: readonly Notification[]): void {
    for (const [stream, { filter, id }] of this.#streams) {
      for (const notification of notifications) {
        if (matches(filter, notification)) stream.write(eventText(tagged(notification, id)));
      }
    }
    this.#relieve();
  }

  /** Fails the streams with the most unread bytes while all streams together exceed the limit. */
  #relieve(): void {
    const slowest = [...this.#streams.keys()].toSorted((a, b) => b.backlogBytes - a.backlogBytes);
    let total = slowest.reduce((sum, { backlogBytes }) => sum + backlogBytes, 0);
    for (const stream of slowest) {
      if (total <= limits.hubBacklogBytes) return;
      total -= stream.backlogBytes;
      stream.fail("The client reads too slowly.");
    }
  }

  /** Subscribes a session of this caller to changes. */
  async enlist(session: string, caller = ""): Promise<void> {
    const { sql } = this.ctx.storage;
    sql.exec(
      "CREATE TABLE IF NOT EXISTS sessions (at INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL)",
    );
    sql.exec("CREATE TABLE IF NOT EXISTS callers (session TEXT PRIMARY KEY, caller TEXT NOT NULL)");
    sql.exec("INSERT OR IGNORE INTO sessions (id) VALUES (?)", session);
    sql.exec("INSERT OR REPLACE INTO callers VALUES (?, ?)", session, siteOf(caller) ?? caller);
    // Above the limit, drop the oldest session of the caller with the most.
    const { count } = sql.exec<{ count: number }>("SELECT COUNT(*) AS count FROM sessions").one();
    for (let left = count; left > limits.hubSessions; left--) {
      sql.exec(`DELETE FROM sessions WHERE at = (
        SELECT MIN(at) FROM sessions LEFT JOIN callers ON session = id
        GROUP BY caller ORDER BY COUNT(*) DESC LIMIT 1)`);
    }
    sql.exec("DELETE FROM callers WHERE session NOT IN (SELECT id FROM sessions)");
  }

  async delist(session: string): Promise<void> {
    if (this.#sessions().includes(session)) {
      this.ctx.storage.sql.exec("DELETE FROM sessions WHERE id = ?", session);
    }
  }

  #sessions(): string[] {
    const { sql } = this.ctx.storage;
    if (!hasTable(sql, "sessions")) return [];
    return sql
      .exec<{ id: string }>("SELECT id FROM sessions")
      .toArray()
      .map(({ id }) => id);
  }

  async #notifySession(session: string, changes: Notification[]): Promise<void> {
    const sessions = namespaceOf<SessionObject>(this.env, "SESSIONS");
    try {
      const isThere = await sessions?.get(sessions.idFromString(session)).changed(changes);
      if (isThere === false) await this.delist(session);
    } catch (error) {
      logError(error); // It misses these changes; lists and resources can be read at any time.
    }
  }
}

const bytesOf = (filter: Filter): number => {
  const { resourceSubscriptions = [], taskIds = [] } = filter;
  return (
    textBytes(filter) + limits.filterItemBytes * (resourceSubscriptions.length + taskIds.length)
  );
};
