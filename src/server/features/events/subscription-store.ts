/** The webhook subscriptions of one caller, and the deliveries that wait for them. */
import { hexDigest } from "../../kernel/core/digest.ts";
import type { Json, Principal } from "../../kernel/core/model.ts";
import { firstRow, hasRow } from "../../kernel/storage/tables.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";
import { matchesArguments } from "./event-types.ts";
import type { OpenEvent } from "./event-log.ts";
import { limits } from "./limits.ts";
import type { ReceiverError } from "./wire.ts";

const TABLES = `
CREATE TABLE IF NOT EXISTS webhooks (id TEXT PRIMARY KEY, type TEXT NOT NULL, shared INTEGER NOT NULL,
  expires INTEGER NOT NULL, active INTEGER NOT NULL, gap INTEGER NOT NULL, checked INTEGER NOT NULL, began INTEGER NOT NULL,
  attempts INTEGER NOT NULL, failures INTEGER NOT NULL, delivered INTEGER, error TEXT, failed INTEGER, sealed BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS deliveries (webhook TEXT NOT NULL, seq INTEGER NOT NULL, attempts INTEGER NOT NULL,
  due INTEGER NOT NULL, PRIMARY KEY (webhook, seq)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS receivers (digest TEXT PRIMARY KEY, until INTEGER NOT NULL);`;

/** A subscription as its client requested it. Stored sealed. */
export interface SubscriptionSpec {
  principal: Principal;
  servlet: string;
  /** The servlet's own name of the event. */
  own: string;
  /** The name that the client used. */
  name: string;
  arguments: Json;
  url: string;
  secret: string;
  /** The secret before the last change, valid until then (Unix ms). */
  earlier?: { secret: string; until: number };
  /** True if the receiver takes the bodies `gap` and `terminated`. */
  takesControl: boolean;
}

/** The state of a subscription. Times are Unix ms. */
export interface SubscriptionState extends Record<string, SqlStorageValue> {
  id: string;
  /** As `typeKey`. */
  type: string;
  /** 1 if events for everyone can be among them. */
  shared: number;
  expires: number;
  /** 0 while its deliveries are suspended. */
  active: number;
  /** 1 if events were given up, and the receiver does not know it yet. */
  gap: number;
  /** When the rights of its owner were checked. */
  checked: number;
  /** The attempts, and failures among them, since the beginning of an hour. */
  began: number;
  attempts: number;
  failures: number;
  /** The last success, the last failure, and the beginning of the failures since the last success. */
  delivered: number | null;
  error: ReceiverError | null;
  failed: number | null;
}

/** A delivery that waits. */
export interface Delivery extends Record<string, SqlStorageValue> {
  webhook: string;
  /** The event's position in the log. */
  seq: number;
  /** Failed attempts so far. */
  attempts: number;
  /** 1 if the last attempt of its subscription has failed. */
  failing: number;
}

const STATE =
  "id, type, shared, expires, active, gap, checked, began, attempts, failures, delivered, error, failed";

export class SubscriptionStore {
  readonly #sql: SqlStorage;
  readonly #sealer: Sealer;
  #specs: Promise<Map<string, SubscriptionSpec>> | undefined;

  constructor(sql: SqlStorage, sealer: Sealer) {
    this.#sql = sql;
    this.#sealer = sealer;
  }

  /** Makes the tables of an object that stores something for the first time. */
  create(): void {
    this.#sql.exec(TABLES);
    this.#specs = undefined;
  }

  /** All subscriptions by id. One that cannot be opened any more is deleted. */
  specs(): Promise<ReadonlyMap<string, SubscriptionSpec>> {
    const opening = (this.#specs ??= this.#openAll());
    opening.catch(() => {
      if (this.#specs === opening) this.#specs = undefined;
    });
    return opening;
  }

  async #openAll(): Promise<Map<string, SubscriptionSpec>> {
    const rows = this.#sql
      .exec<{ id: string; sealed: ArrayBuffer }>("SELECT id, sealed FROM webhooks")
      .toArray();
    const specs = new Map<string, SubscriptionSpec>();
    for (const { id, sealed } of rows) {
      const bytes = await this.#sealer.open(new Uint8Array(sealed), placeOf(id));
      if (bytes === undefined) this.#delete(id);
      else specs.set(id, JSON.parse(new TextDecoder().decode(bytes)) as SubscriptionSpec);
    }
    return specs;
  }

  state(id: string): SubscriptionState | undefined {
    const query = `SELECT ${STATE} FROM webhooks WHERE id = ?`;
    return firstRow(this.#sql.exec<SubscriptionState>(query, id));
  }

  states(): SubscriptionState[] {
    const query = `SELECT ${STATE} FROM webhooks ORDER BY rowid`;
    return this.#sql.exec<SubscriptionState>(query).toArray();
  }

  get counts(): { subscriptions: number; suspended: number } {
    const query =
      "SELECT COUNT(*) AS subscriptions, COUNT(*) FILTER (WHERE active = 0) AS suspended FROM webhooks";
    return this.#sql.exec<{ subscriptions: number; suspended: number }>(query).one();
  }

  /** Seals a subscription and returns a synchronous function that writes it: a new one, or another spec and expiry. */
  async prepare(
    id: string,
    spec: SubscriptionSpec,
    { type, isShared, expires }: { type: string; isShared: boolean; expires: number },
  ): Promise<() => void> {
    const specs = await this.specs();
    const sealed = await this.#sealer.seal(
      new TextEncoder().encode(JSON.stringify(spec)),
      placeOf(id),
    );
    return () => {
      const now = Date.now();
      this.#sql.exec(
        `INSERT INTO webhooks VALUES (?1, ?2, ?3, ?4, 1, 0, ?5, ?5, 0, 0, NULL, NULL, NULL, ?6) ON CONFLICT (id) DO UPDATE
          SET shared = ?3, expires = ?4, active = 1, gap = MIN(gap, ?7), checked = ?5, began = ?5, attempts = 0, failures = 0, sealed = ?6`,
        id,
        type,
        Number(isShared),
        expires,
        now,
        sealed,
        Number(spec.takesControl),
      );
      (specs as Map<string, SubscriptionSpec>).set(id, spec);
    };
  }

  set(id: string, change: Partial<SubscriptionState>): void {
    for (const [column, value] of Object.entries(change))
      this.#sql.exec(`UPDATE webhooks SET ${column} = ? WHERE id = ?`, value, id);
  }

  /** Deletes a subscription with its deliveries; false if there is none. */
  async drop(id: string): Promise<boolean> {
    // Subscriptions that have not been opened stay so: their keys may be away.
    const specs = this.#specs && (await this.#specs.catch(() => undefined));
    const isThere = this.state(id) !== undefined;
    this.#delete(id);
    specs?.delete(id);
    return isThere;
  }

  #delete(id: string): void {
    this.#sql.exec("DELETE FROM deliveries WHERE webhook = ?", id);
    this.#sql.exec("DELETE FROM webhooks WHERE id = ?", id);
  }

  /** The ids of the subscriptions that have expired. */
  expired(now: number): string[] {
    const query = "SELECT id FROM webhooks WHERE expires <= ?";
    const rows = this.#sql.exec<{ id: string }>(query, now).toArray();
    this.#sql.exec("DELETE FROM receivers WHERE until <= ?", now);
    return rows.map(({ id }) => id);
  }

  /** True if the receiver was verified for this caller. */
  async isVerified(url: string): Promise<boolean> {
    const digest = await hexDigest(url);
    const query = "SELECT 1 FROM receivers WHERE digest = ? AND until > ?";
    return hasRow(this.#sql, query, digest, Date.now());
  }

  async setVerified(url: string): Promise<void> {
    const digest = await hexDigest(url);
    const until = Date.now() + limits.verifiedMs;
    this.#sql.exec("INSERT OR REPLACE INTO receivers VALUES (?, ?)", digest, until);
  }

  /** Adds the deliveries of an event, in a transaction, to the subscriptions that it matches. */
  enqueue(
    event: Pick<OpenEvent, "seq" | "type" | "data">,
    specs: ReadonlyMap<string, SubscriptionSpec>,
    isShared: boolean,
  ): void {
    const query = "SELECT id, shared FROM webhooks WHERE type = ? AND expires > ?";
    const rows = this.#sql.exec<{ id: string; shared: number }>(query, event.type, Date.now());
    for (const { id, shared } of rows.toArray()) {
      const spec = specs.get(id);
      if (spec === undefined || (isShared && shared === 0)) continue;
      if (matchesArguments(spec.arguments, event.data)) this.add(id, event.seq);
    }
  }

  /** Adds a delivery. Above the limit, the oldest is given up. */
  add(id: string, seq: number): void {
    this.#sql.exec("INSERT OR IGNORE INTO deliveries VALUES (?, ?, 0, ?)", id, seq, Date.now());
    if (this.pending(id) <= limits.pendingDeliveries) return;
    this.#sql.exec(
      "DELETE FROM deliveries WHERE webhook = ?1 AND seq = (SELECT MIN(seq) FROM deliveries WHERE webhook = ?1)",
      id,
    );
    this.set(id, { gap: 1 });
  }

  /** The number of deliveries that wait. */
  pending(id: string): number {
    const query = "SELECT COUNT(*) AS count FROM deliveries WHERE webhook = ?";
    return this.#sql.exec<{ count: number }>(query, id).one().count;
  }

  /** Gives up the deliveries of these events, to all subscriptions or one: their receivers have a gap. */
  giveUp(seqs: readonly number[], only: string | null = null): void {
    for (const seq of seqs) {
      const where = "seq = ?1 AND (?2 IS NULL OR webhook = ?2)";
      this.#sql.exec(
        `UPDATE webhooks SET gap = 1 WHERE id IN (SELECT webhook FROM deliveries WHERE ${where})`,
        seq,
        only,
      );
      this.#sql.exec(`DELETE FROM deliveries WHERE ${where}`, seq, only);
    }
  }

  /** Records that events for everyone were missed. */
  addSharedGap(): void {
    this.#sql.exec("UPDATE webhooks SET gap = 1 WHERE shared = 1");
  }

  /** The oldest due delivery of each active subscription: healthy subscriptions first, in turn, then failing ones. */
  due(now: number): Delivery[] {
    const query = `SELECT webhook, seq, deliveries.attempts AS attempts, failed IS NOT NULL AS failing FROM webhooks
      JOIN deliveries ON webhook = id AND seq =
        (SELECT seq FROM deliveries WHERE webhook = id AND due <= ? ORDER BY seq LIMIT 1)
      WHERE active = 1 ORDER BY failing, delivered`;
    return this.#sql.exec<Delivery>(query, now).toArray();
  }

  /** When the next delivery of an active subscription is due, or a subscription expires, in Unix ms. */
  get nextDue(): number | undefined {
    const { due } = this.#sql
      .exec<{ due: number | null }>(
        `SELECT MIN(due) AS due FROM (
          SELECT MIN(due) AS due FROM deliveries JOIN webhooks ON id = webhook WHERE active = 1
          UNION ALL SELECT MIN(expires) FROM webhooks)`,
      )
      .one();
    return due ?? undefined;
  }

  /** Ends a delivery. */
  end({ webhook, seq }: Pick<Delivery, "webhook" | "seq">): void {
    this.#sql.exec("DELETE FROM deliveries WHERE webhook = ? AND seq = ?", webhook, seq);
  }

  /** Sets the next attempt of a delivery, in Unix ms. */
  postpone({ webhook, seq, attempts }: Delivery, due: number): void {
    this.#sql.exec(
      "UPDATE deliveries SET attempts = ?, due = ? WHERE webhook = ? AND seq = ?",
      attempts,
      due,
      webhook,
      seq,
    );
  }

  /** Has the deliveries made now that are due more than `ms` ahead: the clock was set back. */
  keepTime(now: number, ms: number): void {
    this.#sql.exec("UPDATE deliveries SET due = ?1 WHERE due > ?1 + ?2", now, ms);
  }

  /** Has no delivery of a subscription made before this time, in Unix ms. */
  hold(id: string, until: number): void {
    this.#sql.exec("UPDATE deliveries SET due = MAX(due, ?) WHERE webhook = ?", until, id);
  }

  /** Has all deliveries of a subscription made now. */
  resume(id: string): void {
    this.#sql.exec("UPDATE deliveries SET due = ? WHERE webhook = ?", Date.now(), id);
  }

  /**
   * The position up to which all events are delivered or given up, at most `head`; with `seq`, as if that one were
   * delivered, too.
   */
  watermark(id: string, head: number, seq?: number): number {
    const query =
      "SELECT MIN(seq) AS seq FROM deliveries WHERE webhook = ? AND (?2 IS NULL OR seq <> ?2)";
    const lowest = this.#sql.exec<{ seq: number | null }>(query, id, seq ?? null).one().seq;
    if (lowest === null) return seq ?? head;
    return Math.min(lowest - 1, seq ?? head);
  }
}

/** Authenticated with a sealed subscription, so that no row can take another's place. */
const placeOf = (id: string): string => `subscription ${id}`;
