import { DurableObject } from "cloudflare:workers";
import type { Authenticator } from "../../kernel/auth/authenticator.ts";
import { Fault, report } from "../../kernel/core/errors.ts";
import { fits } from "../../kernel/core/glob.ts";
import { servletPrincipal, type Principal } from "../../kernel/core/model.ts";
import { hexDigest } from "../../kernel/core/digest.ts";
import { settled, type Settled } from "../../kernel/core/settled.ts";
import { printableLine, shortened } from "../../kernel/core/text.ts";
import type { Registry } from "../../kernel/servlets/registry.ts";
import { Alarm } from "../../kernel/storage/alarm.ts";
import { SealedRows } from "../../kernel/storage/sealed-rows.ts";
import { firstRow, hasRow, hasTable } from "../../kernel/storage/tables.ts";
import { Unreadable, type Sealer } from "../../kernel/storage/vault.ts";
import type { UnattendedRuns } from "../tasks/unattended.ts";
import {
  UNTRUSTED_META,
  type HookPlace,
  type HookRef,
  type Reception,
  type RefusalCounts,
  type ShownDelivery,
  type ShownHooks,
  type ShownRefusals,
  type WebhookInput,
} from "./delivery.ts";
import { limits } from "./limits.ts";

/** The parts of the server that webhooks use. */
export interface HooksServer {
  readonly sealer: Sealer;
  readonly unattended?: UnattendedRuns;
  readonly authenticator: Pick<Authenticator, "current">;
  registry(): Promise<Registry>;
}

/** A verified delivery. */
export interface VerifiedDelivery extends HookRef {
  /** A digest of the token in its address; absent for the webhook of the servlet itself. */
  token?: string;
  /** The digest by which a repeat is known. */
  repeat: string;
  input: WebhookInput;
  /** Bytes of the body. */
  bytes: number;
  /** The origin of the pages on which questions of its run are answered; absent if nobody could open them. */
  origin?: string | undefined;
}

/** A delivery to store. */
type NewDelivery = Omit<VerifiedDelivery, "token">;

/** The webhook of a caller, as it is sealed. */
interface OwnHook {
  token: string;
  principal: Principal;
  origin?: string | undefined;
}

/** A webhook that a caller asks for, with the token that it gets if it has none. */
export interface OwnHookRequest extends HookRef, OwnHook {}

interface Row extends Record<string, SqlStorageValue> {
  task: string;
  servlet: string;
  hook: string;
  at: number;
  bytes: number;
  state: ShownDelivery["state"];
  /** When its run begins, in Unix ms; null once it has begun, or was given up. */
  next: number | null;
  failures: number;
  why: string | null;
  origin: string | null;
  /** 1 for a delivery to a caller's own webhook. */
  own: 0 | 1;
  /** 1 if somebody has sent it again. */
  again: 0 | 1;
}

const SCHEMA = `${SealedRows.texts}
CREATE TABLE IF NOT EXISTS deliveries (task TEXT PRIMARY KEY, servlet TEXT NOT NULL, hook TEXT NOT NULL, at INTEGER NOT NULL,
  bytes INTEGER NOT NULL, state TEXT NOT NULL, next INTEGER, failures INTEGER NOT NULL, why TEXT, origin TEXT,
  own INTEGER NOT NULL, again INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS due_deliveries ON deliveries (next) WHERE next IS NOT NULL;
CREATE TABLE IF NOT EXISTS delivery_ids (hook TEXT NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (hook, id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS old_delivery_ids ON delivery_ids (at);
CREATE TABLE IF NOT EXISTS refused_deliveries (servlet TEXT NOT NULL, hook TEXT NOT NULL, refusal TEXT NOT NULL,
  count INTEGER NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (servlet, hook, refusal));
CREATE TABLE IF NOT EXISTS own_hooks (servlet TEXT NOT NULL, hook TEXT NOT NULL, digest TEXT NOT NULL, made INTEGER NOT NULL,
  sealed BLOB NOT NULL, PRIMARY KEY (servlet, hook));`;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const encoder = new TextEncoder();

/**
 * The deliveries to one webhook of a servlet, or to the webhooks of one caller. A verified delivery is stored with the
 * id of its run; the alarm, which is set in the same transaction, begins the run, and tries again until that has
 * succeeded. To begin a run again with the same id changes nothing, so a delivery has one run however often this object
 * dies.
 */
export class HookObject extends DurableObject<object> {
  readonly #sql = this.ctx.storage.sql;
  readonly #alarm = new Alarm(this.ctx.storage);
  readonly #server: HooksServer;
  readonly #rows: SealedRows;
  #lasting: Sealer | undefined;
  /** Deliveries of this minute, by webhook. */
  readonly #counts = new Map<string, number>();
  #minute = 0;
  /** When the remembered ids were counted last, in Unix ms. */
  #counted = -Infinity;

  constructor(state: DurableObjectState, env: object, server: HooksServer) {
    super(state, env);
    this.#server = server;
    this.#rows = new SealedRows(this.#sql, server.sealer);
  }

  /** Stores a verified delivery, unless it was received before. Throws `too_many`, `unavailable`. */
  receive(given: VerifiedDelivery): Promise<Settled<Reception>> {
    return settled(async () => {
      const { token } = given;
      const own = token === undefined ? undefined : await this.#ownWith(given, token);
      if (token !== undefined && own === undefined) return "gone";
      this.#create();
      const now = Date.now();
      // A repeat costs its sender's allowance nothing, and is no news.
      if (this.#isRepeated(given)) return "repeated";
      this.#countOne(given, now);
      this.#demandRoom(given);
      // Its caller answers questions of the run where the webhook was made.
      const kept = own === undefined ? given : { ...given, origin: own.origin };
      return this.#keep(kept, { now, isOwn: own !== undefined, isAgain: false });
    });
  }

  /**
   * Runs a stored delivery again, as another one; false if it is no longer stored, or its run has yet to begin. A second
   * call with the same `request` runs nothing.
   */
  again({ servlet, hook }: HookRef, task: string, request: string): Promise<Settled<boolean>> {
    return settled(async () => {
      const row = this.#row(task);
      if (row?.servlet !== servlet || row.hook !== hook || row.state === "kept") return false;
      const input = await this.#input(task);
      if (input === undefined) return false;
      this.#demandRoom(row);
      const again = {
        servlet,
        hook,
        bytes: row.bytes,
        origin: row.origin ?? undefined,
        input,
        repeat: await hexDigest(`again ${request}`),
      };
      await this.#keep(again, { now: Date.now(), isOwn: row.own === 1, isAgain: true });
      return true;
    });
  }

  /** Counts refused deliveries, but not those at an address that was revoked. */
  async noteRefused({ servlet, hook, token }: HookPlace, counts: RefusalCounts): Promise<void> {
    if (token !== undefined && !this.#hasTables) return;
    if (token !== undefined && this.#digestOf({ servlet, hook }) !== (await hexDigest(token)))
      return;
    this.#create();
    for (const [refusal, count] of Object.entries(counts))
      this.#sql.exec(
        `INSERT INTO refused_deliveries VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
         count = count + excluded.count, at = excluded.at`,
        servlet,
        hook,
        refusal,
        count,
        Date.now(),
      );
    await this.#demandAlarm();
  }

  /** Stores that this caller has a webhook, and returns its token: the one that it had before, if any. */
  issue({ servlet, hook, ...own }: OwnHookRequest): Promise<Settled<string>> {
    return settled(async () => {
      this.#create();
      for (;;) {
        const before = this.#digestOf({ servlet, hook });
        const known = await this.#own({ servlet, hook });
        if (known === undefined) this.#demandPlace();
        // The caller's rights may have changed since.
        const stored: OwnHook = { ...own, token: known?.token ?? own.token };
        const [sealed, digest] = [await this.#seal(stored), await hexDigest(stored.token)];
        // Another request may have issued or revoked one meanwhile, or deleted the empty tables.
        this.#create();
        if (this.#digestOf({ servlet, hook }) !== before) continue;
        this.#sql.exec(
          `INSERT INTO own_hooks VALUES (?, ?, ?, ?, ?)
           ON CONFLICT DO UPDATE SET digest = excluded.digest, sealed = excluded.sealed`,
          servlet,
          hook,
          digest,
          Date.now(),
          sealed,
        );
        return stored.token;
      }
    });
  }

  /** Ends a webhook of this caller; false if there is none. Deliveries whose run has not begun are given up. */
  async revoke(of: HookRef): Promise<boolean> {
    if (!this.#hasTables || this.#digestOf(of) === undefined) return false;
    this.#end(of, "The webhook was revoked before its run began.");
    return true;
  }

  /** What a page shows of these webhooks. */
  async shown(): Promise<ShownHooks> {
    if (!this.#hasTables) return { deliveries: [], refusals: [], own: [] };
    this.#correctTimes();
    const deliveries = this.#sql
      .exec<Row>("SELECT * FROM deliveries ORDER BY at DESC, rowid DESC")
      .toArray()
      .map(({ task, servlet, hook, at, bytes, state, why, again }) => ({
        task,
        servlet,
        hook,
        at,
        bytes,
        state,
        isAgain: again === 1,
        ...(why !== null && { why }),
      }));
    const refusals = this.#sql
      .exec<ShownRefusals & Record<string, SqlStorageValue>>(
        "SELECT * FROM refused_deliveries ORDER BY at DESC",
      )
      .toArray();
    const own = this.#sql
      .exec<HookRef & { made: number } & Record<string, SqlStorageValue>>(
        "SELECT servlet, hook, made FROM own_hooks ORDER BY servlet, hook",
      )
      .toArray();
    // At the end: it deletes the tables of an object that is empty.
    await this.#demandAlarm();
    return { deliveries, refusals, own };
  }

  /** Deletes everything. */
  async forget(): Promise<void> {
    this.#counts.clear();
    await this.ctx.storage.deleteAll();
  }

  /** Begins the runs that are due. */
  override alarm(info?: AlarmInvocationInfo): Promise<void> {
    return this.#alarm.ring(info, async (now) => {
      if (!this.#hasTables) return;
      this.#correctTimes();
      // If this object dies meanwhile, another alarm goes on.
      await this.#alarm.set(now + limits.deliveryRetryMs);
      const due = this.#sql
        .exec<Row>(
          "SELECT * FROM deliveries WHERE next <= ? ORDER BY next, rowid LIMIT ?",
          now,
          limits.deliveryStartsAtOnce,
        )
        .toArray();
      await Promise.all(due.map((row) => this.#begin(row, now)));
      // By its own clock: the alarm may have been set before the clock was set back.
      this.#prune(Date.now());
      await this.#setAlarm(now);
    });
  }

  async #begin(row: Row, now: number): Promise<void> {
    const { task, servlet, hook, own, origin } = row;
    try {
      const input = await this.#input(task);
      if (input === undefined) return this.#giveUp(task, "Its body can no longer be read.");
      const principal = own === 1 ? await this.#callerOf(row) : servletPrincipal(servlet);
      if (principal === undefined)
        return this.#giveUp(task, "Its caller has revoked the webhook, or has lost access.");
      const { unattended } = this.#server;
      if (unattended === undefined) throw new Fault("unavailable", "TASKS is not bound.");
      await unattended.begin({
        id: task,
        principal,
        // A flood at one webhook leaves the others of its servlet, and its schedules, what they may store.
        ...(own === 0 && { countedAs: `${principal.name} webhook ${hook}` }),
        ref: { kind: "webhook", name: servlet, input },
        meta: { [UNTRUSTED_META]: `webhook ${hook}` },
        ...(origin !== null && { origin }),
      });
      this.#sql.exec(
        "UPDATE deliveries SET state = 'begun', next = NULL, why = NULL WHERE task = ?",
        task,
      );
    } catch (error) {
      this.#retry(row, now, report(error).message);
    }
  }

  /** Has the run begin later, or gives it up if that was tried for long enough. */
  #retry({ task, at, failures }: Row, now: number, message: string): void {
    const why = shortened(printableLine(message), limits.statusCharacters);
    if (now >= at + limits.deliveryTryMs) return this.#giveUp(task, why);
    const { deliveryRetryMs, maxDeliveryRetryMs } = limits;
    const delay = Math.min(deliveryRetryMs * 2 ** Math.min(failures, 30), maxDeliveryRetryMs);
    this.#sql.exec(
      "UPDATE deliveries SET next = ?, failures = failures + 1, why = ? WHERE task = ?",
      now + delay,
      why,
      task,
    );
  }

  #giveUp(task: string, why: string): void {
    this.#sql.exec(
      "UPDATE deliveries SET state = 'failed', next = NULL, why = ? WHERE task = ?",
      why,
      task,
    );
  }

  /** The caller of an own webhook with its rights now; undefined if it has lost access, or the webhook is revoked. */
  async #callerOf(of: HookRef): Promise<Principal | undefined> {
    const own = await this.#own(of);
    if (own === undefined) return undefined;
    const found = await this.#rights(own.principal, of.servlet);
    if (found === undefined) this.#end(of, "Its caller has lost access.");
    return found;
  }

  /**
   * This caller with its rights now; undefined if it may not use the servlet any more. Throws `unavailable` while that
   * cannot be told.
   */
  async #rights(before: Principal, servlet: string): Promise<Principal | undefined> {
    const registry = await this.#server.registry();
    try {
      const principal = await this.#server.authenticator.current(before);
      // Whether it is served at all is for the run to tell, which is tried again.
      const isServed = servesIn(registry, servlet);
      return isServed && !servesIn(registry.for({ principal }), servlet) ? undefined : principal;
    } catch (error) {
      const { code } = Fault.from(error);
      if (code === "unauthorized" || code === "insufficient_scope") return undefined;
      throw error;
    }
  }

  /** The webhook with this token, if its caller still has access; otherwise it is dropped. */
  async #ownWith(of: HookRef, digest: string): Promise<OwnHook | undefined> {
    if (!this.#hasTables || this.#digestOf(of) !== digest) return undefined;
    return (await this.#callerOf(of)) && this.#own(of);
  }

  /** Drops a webhook of this caller. */
  #end({ servlet, hook }: HookRef, why: string): void {
    const key = [servlet, hook];
    this.ctx.storage.transactionSync(() => {
      this.#sql.exec("DELETE FROM own_hooks WHERE servlet = ? AND hook = ?", ...key);
      this.#sql.exec(
        "UPDATE deliveries SET state = 'failed', next = NULL, why = ? WHERE state = 'kept' AND servlet = ? AND hook = ?",
        why,
        ...key,
      );
    });
  }

  /** The digest of the token of this caller's webhook, if there is one. */
  #digestOf({ servlet, hook }: HookRef): string | undefined {
    const query = "SELECT digest FROM own_hooks WHERE servlet = ? AND hook = ?";
    return firstRow(this.#sql.exec<{ digest: string }>(query, servlet, hook))?.digest;
  }

  /** Throws `invalid_params` if this caller has too many webhooks. */
  #demandPlace(): void {
    const query = "SELECT COUNT(*) AS count FROM own_hooks";
    const { count } = this.#sql.exec<{ count: number }>(query).one();
    if (count >= limits.callerWebhooks)
      throw new Fault(
        "invalid_params",
        `its caller has too many webhooks (limit ${limits.callerWebhooks}). Revoke one first, on the page My webhooks`,
      );
  }

  async #own({ servlet, hook }: HookRef): Promise<OwnHook | undefined> {
    const row = firstRow(
      this.#sql.exec<{ sealed: ArrayBuffer }>(
        "SELECT sealed FROM own_hooks WHERE servlet = ? AND hook = ?",
        servlet,
        hook,
      ),
    );
    const opened = row && (await this.#lastingSealer.open(new Uint8Array(row.sealed)));
    return opened && (JSON.parse(new TextDecoder().decode(opened)) as OwnHook);
  }

  #seal(own: OwnHook): Promise<Uint8Array<ArrayBuffer>> {
    return this.#lastingSealer.seal(encoder.encode(JSON.stringify(own)));
  }

  /** Webhooks of callers do not expire, so neither does the key that seals them. */
  get #lastingSealer(): Sealer {
    return (this.#lasting ??= this.#server.sealer.lasting("sealed webhooks"));
  }

  #isRepeated({ servlet, hook, repeat }: Omit<NewDelivery, "input">): boolean {
    const query = "SELECT 1 FROM delivery_ids WHERE hook = ? AND id = ?";
    return hasRow(this.#sql, query, keyOf({ servlet, hook }), repeat);
  }

  /** Throws `too_many` above the limit of deliveries per minute. */
  #countOne(of: HookRef, now: number): void {
    const minute = Math.floor(now / MINUTE);
    if (minute !== this.#minute) this.#counts.clear();
    this.#minute = minute;
    const key = keyOf(of);
    const count = (this.#counts.get(key) ?? 0) + 1;
    if (count > limits.deliveriesPerMinute)
      throw new Fault(
        "too_many",
        `Too many deliveries to this webhook in a minute (limit ${limits.deliveriesPerMinute}). Send it again in a minute.`,
        { data: { retryAfter: Math.ceil(((minute + 1) * MINUTE - now) / 1000) } },
      );
    this.#counts.set(key, count);
  }

  /** Throws `too_many` if too much waits for its run to begin. */
  #demandRoom({ servlet, hook, bytes }: HookRef & { bytes: number }): void {
    const waiting = this.#sql
      .exec<{ count: number; bytes: number }>(
        "SELECT COUNT(*) AS count, IFNULL(SUM(bytes), 0) AS bytes FROM deliveries WHERE state = 'kept' AND servlet = ? AND hook = ?",
        servlet,
        hook,
      )
      .one();
    const { waitingDeliveries, waitingDeliveryBytes } = limits;
    if (waiting.count < waitingDeliveries && waiting.bytes + bytes <= waitingDeliveryBytes) return;
    throw new Fault(
      "too_many",
      `Too many deliveries to this webhook wait for their run (limit ${waitingDeliveries}, and ${waitingDeliveryBytes} bytes). Send it again later.`,
      { data: { retryAfter: MINUTE / 1000 } },
    );
  }

  async #keep(
    given: NewDelivery,
    { now, isOwn, isAgain }: { now: number; isOwn: boolean; isAgain: boolean },
  ): Promise<Reception> {
    const { servlet, hook, repeat, input, bytes, origin = null } = given;
    const { unattended } = this.#server;
    if (unattended === undefined)
      throw new Fault("unavailable", "Webhooks need the binding TASKS.");
    const task = unattended.newId();
    const write = await this.#rows.prepare({ texts: { [task]: input } });
    // Meanwhile everything may have been deleted, since it was old or the caller is forgotten.
    this.#create();
    if (isOwn && this.#digestOf(given) === undefined) return "gone";
    // The same delivery may have come again, too.
    if (this.#isRepeated(given)) return "repeated";
    this.ctx.storage.transactionSync(() => {
      write();
      this.#sql.exec(
        "INSERT INTO deliveries VALUES (?, ?, ?, ?, ?, 'kept', ?, 0, NULL, ?, ?, ?)",
        task,
        servlet,
        hook,
        now,
        bytes,
        now,
        origin,
        Number(isOwn),
        Number(isAgain),
      );
      this.#sql.exec(
        "INSERT INTO delivery_ids VALUES (?, ?, ?)",
        keyOf({ servlet, hook }),
        repeat,
        now,
      );
    });
    // In one commit with the rows above, as nothing is awaited between.
    await this.#setAlarm(now);
    return "kept";
  }

  #row(task: string): Row | undefined {
    if (!this.#hasTables) return undefined;
    return firstRow(this.#sql.exec<Row>("SELECT * FROM deliveries WHERE task = ?", task));
  }

  /** A stored delivery; undefined if it is not stored, or its key is gone. */
  async #input(task: string): Promise<WebhookInput | undefined> {
    try {
      return (await this.#rows.text(task)) as WebhookInput | undefined;
    } catch (error) {
      if (error instanceof Unreadable) return undefined;
      throw error;
    }
  }

  /** Deletes what is old or too much. */
  #prune(now: number): void {
    const { shownDeliveries, shownDeliveryBytes, deliveryIds, deliveryIdMs, taskMs } = limits;
    this.ctx.storage.transactionSync(() => {
      const over = this.#sql
        .exec<{ task: string }>(
          `SELECT task FROM (SELECT task, at,
             ROW_NUMBER() OVER (PARTITION BY servlet, hook ORDER BY at DESC, rowid DESC) AS nth,
             SUM(bytes) OVER (PARTITION BY servlet, hook ORDER BY at DESC, rowid DESC) AS sum
           FROM deliveries WHERE state <> 'kept') WHERE nth > ? OR (sum > ? AND nth > 1) OR at < ?`,
          shownDeliveries,
          shownDeliveryBytes,
          now - taskMs,
        )
        .toArray();
      for (const { task } of over) {
        this.#rows.forget(task);
        this.#sql.exec("DELETE FROM deliveries WHERE task = ?", task);
      }
      this.#sql.exec("DELETE FROM delivery_ids WHERE at < ?", now - deliveryIdMs);
      this.#sql.exec("DELETE FROM refused_deliveries WHERE at < ?", now - deliveryIdMs);
      // This reads all of them.
      if (this.#counted <= now && now < this.#counted + HOUR) return;
      this.#counted = now;
      this.#sql.exec(
        `DELETE FROM delivery_ids WHERE (hook, id) IN (SELECT hook, id FROM (SELECT hook, id,
           ROW_NUMBER() OVER (PARTITION BY hook ORDER BY at DESC) AS nth FROM delivery_ids) WHERE nth > ?)`,
        deliveryIds,
      );
    });
  }

  /** Sets the alarm for the next run that is due, else for what is deleted next, if anything. */
  async #setAlarm(now: number): Promise<void> {
    const least = (query: string) =>
      this.#sql.exec<{ at: number | null }>(query).one().at ?? Infinity;
    const due = least("SELECT MIN(next) AS at FROM deliveries WHERE next IS NOT NULL");
    const ended = least("SELECT MIN(at) AS at FROM deliveries") + limits.taskMs + 1;
    const oldest = Math.min(
      least("SELECT MIN(at) AS at FROM delivery_ids"),
      least("SELECT MIN(at) AS at FROM refused_deliveries"),
    );
    const old = oldest + limits.deliveryIdMs + 1;
    const at = Math.min(due, Math.max(Math.min(ended, old), now + MINUTE));
    if (at < Infinity) await this.#alarm.set(at);
    else if (this.#isEmpty) await this.ctx.storage.deleteAll();
    else await this.ctx.storage.deleteAlarm();
  }

  /** Sets the alarm if none is set, or it was lost. */
  async #demandAlarm(): Promise<void> {
    if (!(await this.#alarm.isPlanned())) await this.#setAlarm(Date.now());
  }

  /** Has runs begin now that are due far ahead since the clock was set back. */
  #correctTimes(): void {
    const now = Date.now();
    const latest = now + limits.maxDeliveryRetryMs + limits.clockSlackMs;
    this.#sql.exec("UPDATE deliveries SET next = ? WHERE next > ?", now, latest);
  }

  /** True if all that was stored is deleted. */
  get #isEmpty(): boolean {
    return ["deliveries", "delivery_ids", "refused_deliveries", "own_hooks"].every(
      (table) => !hasRow(this.#sql, `SELECT 1 FROM ${table}`),
    );
  }

  /** True if anything was stored. An address that somebody guesses makes no tables. */
  get #hasTables(): boolean {
    return hasTable(this.#sql, "deliveries");
  }

  #create(): void {
    if (!this.#hasTables) this.#sql.exec(SCHEMA);
  }
}

/** True if the callers of this registry may use anything of the servlet. */
const servesIn = ({ servlets, access: { patterns } }: Registry, servlet: string): boolean =>
  servlets.some(({ name }) => name === servlet) &&
  (patterns?.some((pattern) => fits(pattern.split(":")[0]!, servlet)) ?? true);

const keyOf = ({ servlet, hook }: HookRef): string => `${servlet}/${hook}`;
