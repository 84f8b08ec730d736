import { DurableObject } from "cloudflare:workers";
import { countedBy, usageKey, type QuotaKey } from "../../kernel/core/callers.ts";
import { logError } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { Connection, KEEP_ALIVE } from "../../kernel/http/connection.ts";
import { eventText } from "../../kernel/mcp/wire/reply.ts";
import {
  tagged,
  matches,
  type Filter,
  type Subscription,
} from "../../kernel/mcp/wire/subscription.ts";
import { isChange, type Notification } from "../../kernel/core/model.ts";
import { mayIn, profileOf, type Profiles } from "../../kernel/servlets/profiles.ts";
import { mayBy, type May } from "../../kernel/servlets/scopes.ts";
import type { BundledServlets } from "../../kernel/servlets/bundle.ts";
import { textBytes } from "../../kernel/core/shape.ts";
import { ALL_HUBS, publishToAll } from "../../kernel/calls/changes.ts";
import { copyFor } from "../../kernel/storage/copies.ts";
import { hasTable } from "../../kernel/storage/tables.ts";

/** Hubs that are notified of changes for all callers, each by a call to its object. */
const JOINED_HUBS = 1000;
/** Characters of one round of notifications, as JSON: as many as a filter may have. Each session gets them. */
const CHANGES_CHARACTERS = 64 * 1024;

/** An open stream, and the keys that it is counted under. */
interface Open extends Pick<Subscription, "id" | "filter"> {
  may: May | undefined;
  caller: string;
  keys: readonly string[];
  filterBytes: number;
}

/** The binding of the class below. */
export interface HubsEnv {
  HUBS?: DurableObjectNamespace<Hub>;
}

/** A session that hears of changes. */
interface Listener extends Rpc.DurableObjectBranded {
  /** Takes changes; false if the session has ended. */
  changed(changes: Notification[]): Promise<boolean>;
}

interface HubEnv extends HubsEnv {
  LOADER?: WorkerLoader;
  SESSIONS?: DurableObjectNamespace<Listener>;
}

/**
 * Delivers change notifications to a principal's clients: to open streams, held in memory only (a client
 * whose stream ends listens again), and to enlisted sessions.
 */
export class Hub extends DurableObject<HubEnv> {
  readonly #streams = new Map<Connection, Open>();
  /** Changes that are still to be sent, by their JSON. */
  readonly #pending = new Map<string, Notification>();
  #pendingCharacters = 0;
  /** Sends the pending changes; absent if there are none. */
  #notifying: Promise<void> | undefined;
  /** True if this hub needs changes for all callers: of installed servlets, or of state that all share. */
  readonly #isJoining: boolean;
  readonly #profiles: Profiles | undefined;
  /** True once this hub is registered at the hub of all hubs. */
  #hasJoined = false;
  /** The pause after the last round. */
  #pause: Promise<unknown> = Promise.resolve();

  constructor(state: DurableObjectState, env: HubEnv, { bundle }: { bundle: BundledServlets }) {
    super(state, env);
    const isShared = bundle.servlets.some(({ manifest }) => manifest.state === "server");
    this.#isJoining = isShared || env.LOADER !== undefined;
    this.#profiles = bundle.profiles;
  }

  /** Opens a stream, which the caller must read or cancel; null if the caller has too many. */
  async listen(subscription: Subscription): Promise<ReadableStream<Uint8Array> | null> {
    const { id, caller = "", filter, opening, ending, lifeMs } = subscription;
    await this.#join();
    const counted = countedBy(caller);
    const filterBytes = bytesOf(filter);
    if (!this.#hasRoomFor(counted, filterBytes)) {
      // Writing detects disconnected clients and frees their places for the next attempt.
      for (const stream of this.#streams.keys()) stream.write(KEEP_ALIVE);
      return null;
    }
    const stream = new Connection({
      caller,
      keepAliveMs: limits.listenKeepAliveMs,
      life: { ms: lifeMs, ending: () => eventText(ending) },
      onOver: () => this.#streams.delete(stream),
    });
    const keys = counted.map(({ key }) => key);
    const may = this.#mayOf(subscription);
    this.#streams.set(stream, { id, caller, filter, may, filterBytes, keys });
    stream.write(eventText(opening));
    this.#relieve();
    return stream.body;
  }

  #mayOf({ patterns, profile }: Subscription): May | undefined {
    const byScopes = patterns && mayBy(patterns, {});
    if (profile === undefined) return byScopes;
    const inProfile = mayIn(profileOf(this.#profiles, profile));
    return (...entry) => inProfile(...entry) && byScopes?.(...entry) !== false;
  }

  /** True if one more stream with a filter of this size fits the limits of the hub and of each share. */
  #hasRoomFor(counted: readonly QuotaKey[], bytes: number): boolean {
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

  /** True if a stream receives this notification. Senders ask before they build a large one. */
  async isHeard(notification: Notification): Promise<boolean> {
    return [...this.#streams.values()].some(({ filter }) => matches(filter, notification));
  }

  /** Settles when all are notified. Changes are sent in rounds, equal changes once a round. */
  async publish(notifications: Notification[]): Promise<void> {
    const isForAll = ({ audience }: Notification) =>
      audience !== undefined && "everybody" in audience;
    const forAll = notifications.filter(isForAll).map(({ method, params, servlet }) => ({
      method,
      ...(params && { params }),
      ...(servlet !== undefined && { servlet }),
    }));
    if (forAll.length > 0) await publishToAll(this.env, forAll);
    const own = notifications.filter((one) => !isForAll(one));
    this.#write(own.filter((one) => !isChange(one)));
    for (const change of own.filter(isChange)) this.#addPending(change);
    if (this.#pending.size > 0) await (this.#notifying ??= this.#notifyAll());
  }

  /** Publishes changes from the hub of all hubs; false if no client listens here any longer. */
  async relay(changes: Notification[]): Promise<boolean> {
    const isHeard = this.#streams.size > 0 || this.#sessions().length > 0;
    if (isHeard) await this.publish(changes);
    else this.#hasJoined = false;
    return isHeard;
  }

  /** Registers a hub by its name for changes for all callers. */
  async join(name: string): Promise<void> {
    const { sql } = this.ctx.storage;
    sql.exec("CREATE TABLE IF NOT EXISTS hubs (at INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL)");
    sql.exec("INSERT OR IGNORE INTO hubs (name) VALUES (?)", name);
    // Drops the oldest beyond the limit.
    sql.exec("DELETE FROM hubs WHERE at <= (SELECT MAX(at) FROM hubs) - ?", JOINED_HUBS);
  }

  async #join(): Promise<void> {
    const { name } = this.ctx.id;
    if (!this.#isJoining || this.#hasJoined || name === undefined) return;
    try {
      await this.env.HUBS?.getByName(copyFor(ALL_HUBS, name, this.env)).join(name);
      this.#hasJoined = true;
    } catch (error) {
      logError(error); // Its clients miss changes for everybody until the next listens.
    }
  }

  /** Drops updates of resources and changes for some callers beyond `CHANGES_CHARACTERS`; other changes are few. */
  #addPending(change: Notification): void {
    const text = JSON.stringify(change);
    if (this.#pending.has(text)) return;
    const characters = this.#pendingCharacters + text.length;
    const isPlain = change.params === undefined && change.audience === undefined;
    if (!isPlain && characters > CHANGES_CHARACTERS) return;
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
    const hubs = this.#joined();
    if (this.#streams.size + sessions.length + hubs.length === 0) return;
    this.#write(changes);
    const notified = Promise.all([
      ...sessions.map((session) => this.#notifySession(session, changes)),
      ...hubs.map((name) => this.#notifyHub(name, changes)),
    ]);
    this.#pause = notified.then(() => scheduler.wait(limits.changesMs));
    await notified;
  }

  #write(notifications: readonly Notification[]): void {
    for (const [stream, { filter, id, caller, may }] of this.#streams) {
      for (const notification of notifications) {
        const { servlet, params = {} } = notification;
        if (!reaches(notification, { caller })) continue;
        if (servlet !== undefined && may?.(servlet, String(params["uri"])) === false) continue;
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
    await this.#join();
    const { sql } = this.ctx.storage;
    sql.exec(
      "CREATE TABLE IF NOT EXISTS enlisted (at INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, caller TEXT NOT NULL, site TEXT NOT NULL)",
    );
    const site = usageKey(caller);
    sql.exec(
      "INSERT INTO enlisted (id, caller, site) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET caller = excluded.caller, site = excluded.site",
      session,
      caller,
      site,
    );
    // Above the limit, drop the oldest session of the caller or network with the most.
    const { count } = sql.exec<{ count: number }>("SELECT COUNT(*) AS count FROM enlisted").one();
    for (let left = count; left > limits.hubSessions; left--) {
      sql.exec(`DELETE FROM enlisted WHERE at = (
        SELECT MIN(at) FROM enlisted GROUP BY site ORDER BY COUNT(*) DESC LIMIT 1)`);
    }
  }

  async delist(session: string): Promise<void> {
    if (this.#sessions().some(({ id }) => id === session)) {
      this.ctx.storage.sql.exec("DELETE FROM enlisted WHERE id = ?", session);
    }
  }

  #sessions(): Enlisted[] {
    const { sql } = this.ctx.storage;
    if (!hasTable(sql, "enlisted")) return [];
    return sql.exec<Enlisted>("SELECT id, caller FROM enlisted").toArray();
  }

  /** The names of the hubs that have joined this one. */
  #joined(): string[] {
    const { sql } = this.ctx.storage;
    if (!hasTable(sql, "hubs")) return [];
    const rows = sql.exec<{ name: string }>("SELECT name FROM hubs").toArray();
    return rows.map(({ name }) => name);
  }

  async #notifyHub(name: string, changes: Notification[]): Promise<void> {
    try {
      if (await this.env.HUBS?.getByName(name).relay(changes)) return;
      this.ctx.storage.sql.exec("DELETE FROM hubs WHERE name = ?", name);
    } catch (error) {
      logError(error); // It misses these changes.
    }
  }

  async #notifySession({ id, caller }: Enlisted, all: Notification[]): Promise<void> {
    const { SESSIONS: sessions } = this.env;
    const changes = all.filter((change) => reaches(change, { session: id, caller }));
    if (changes.length === 0) return;
    try {
      const isThere = await sessions?.get(sessions.idFromString(id)).changed(changes);
      if (isThere === false) await this.delist(id);
    } catch (error) {
      logError(error); // It misses these changes; lists and resources can be read at any time.
    }
  }
}

/** A session that hears of changes. */
interface Enlisted extends Record<string, SqlStorageValue> {
  id: string;
  caller: string;
}

/** True if a change is for this session, or for this caller's stream outside of sessions. */
function reaches(
  { audience }: Notification,
  { session, caller }: { session?: string; caller: string },
): boolean {
  if (audience === undefined || "everybody" in audience) return true;
  if ("session" in audience) return audience.session === session;
  if (audience.isSessionless === true && session !== undefined) return false;
  return audience.caller === caller;
}

const bytesOf = (filter: Filter): number => {
  const { resourceSubscriptions = [], taskIds = [] } = filter;
  return (
    textBytes(filter) + limits.filterItemBytes * (resourceSubscriptions.length + taskIds.length)
  );
};
