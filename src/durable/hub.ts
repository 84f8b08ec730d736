import { DurableObject } from "cloudflare:workers";
import { countedBy, siteOf } from "../callers.ts";
import { namespaceOf } from "../env.ts";
import { logError } from "../errors.ts";
import { limits } from "../limits.ts";
import { eventText } from "../mcp/wire/reply.ts";
import { tagged, wants, type Hub as Streams, type Subscription } from "../mcp/wire/subscription.ts";
import type { Notification } from "../model.ts";
import { Connection } from "./connection.ts";
import type { SessionObject } from "./session-object.ts";

/**
 * Delivers change notifications to a principal's clients: to open streams, held in memory only (a client
 * whose stream ends listens again), and to enlisted sessions.
 */
export class Hub extends DurableObject implements Streams {
  readonly #streams = new Map<Connection, Subscription>();

  async listen(subscription: Subscription): Promise<ReadableStream<Uint8Array> | null> {
    if (!this.#hasRoomFor(subscription)) {
      // Writing detects disconnected clients and frees their places for the next attempt.
      for (const stream of this.#streams.keys()) stream.showLife();
      return null;
    }
    const stream = new Connection({
      lifeMs: subscription.lifeMs,
      ending: () => eventText(subscription.ending),
      onOver: () => this.#streams.delete(stream),
    });
    this.#streams.set(stream, subscription);
    stream.write(eventText(subscription.opening));
    return stream.body;
  }

  /** Has the hub, the stream's caller and the caller's /48 room for one more? */
  #hasRoomFor({ caller = "" }: Subscription): boolean {
    if (this.#streams.size >= limits.hubStreams) return false;
    const open = [...this.#streams.values()].flatMap((one) => countedBy(one.caller ?? ""));
    return countedBy(caller).every(
      ({ key, shares }) =>
        open.filter((one) => one.key === key).length < limits.listenStreams * shares,
    );
  }

  /** Would a stream be told of this? What is large is put together only then. */
  async isHeard(notification: Notification): Promise<boolean> {
    return [...this.#streams.values()].some(({ filter }) => wants(filter, notification));
  }

  async publish(notifications: Notification[]): Promise<void> {
    for (const [stream, { filter, id }] of this.#streams) {
      for (const notification of notifications) {
        if (wants(filter, notification)) stream.write(eventText(tagged(notification, id)));
      }
    }
    this.#relieve();
    const changes = notifications.filter(({ method }) => method !== "notifications/tasks");
    if (changes.length > 0)
      await Promise.all(this.#sessions().map((id) => this.#tell(id, changes)));
  }

  /** Ends the streams that are read most slowly where all of them together have too much to be read. */
  #relieve(): void {
    const slowest = [...this.#streams.keys()].toSorted((a, b) => b.backlogBytes - a.backlogBytes);
    let total = slowest.reduce((sum, { backlogBytes }) => sum + backlogBytes, 0);
    for (const stream of slowest) {
      if (total <= limits.hubBacklogBytes) return;
      total -= stream.backlogBytes;
      stream.fail("The client reads too slowly.");
    }
  }

  /** From now on this session of this caller is told of changes. */
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
    const tables = sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'sessions'").toArray();
    if (tables.length === 0) return [];
    return sql
      .exec<{ id: string }>("SELECT id FROM sessions")
      .toArray()
      .map(({ id }) => id);
  }

  async #tell(session: string, changes: Notification[]): Promise<void> {
    const sessions = namespaceOf<SessionObject>(this.env, "SESSIONS");
    try {
      const isThere = await sessions?.get(sessions.idFromString(session)).heard(changes);
      if (isThere === false) await this.delist(session);
    } catch (error) {
      logError(error); // It has lost some hints; the lists can be asked for at any time.
    }
  }
}
