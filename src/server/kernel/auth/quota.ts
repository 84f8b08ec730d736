import { isRecent } from "../core/recent.ts";
import { DurableObject } from "cloudflare:workers";
import { logError } from "../core/errors.ts";
import { PART } from "../core/parts.ts";
import { hasRow, hasTable } from "../storage/tables.ts";

/**
 * Before a caller is refused more bytes, so many of the objects that reported longest ago are asked how much they hold,
 * with such a pause between audits. One request may create a thousand objects.
 */
const AUDITED_OBJECTS = 200;
const AUDIT_MS = 60_000;

const MINUTE = 60_000;

/** Reserve available to one object: one 1 MiB part. */
export const MOST_LENT = PART;

const TABLES = [
  "CREATE TABLE IF NOT EXISTS held (object TEXT PRIMARY KEY, bytes INTEGER NOT NULL, nth INTEGER NOT NULL)",
  // The bytes of an object that come from the reserve.
  "CREATE TABLE IF NOT EXISTS lent (object TEXT PRIMARY KEY, bytes INTEGER NOT NULL)",
];

/** An object that holds bytes of a caller. */
interface Holder extends Rpc.DurableObjectBranded {
  /** How many bytes it holds. */
  held(): Promise<number>;
}

interface HolderEnv {
  SERVLET_STATES?: DurableObjectNamespace<Holder>;
}

/** The binding of the class below. */
export interface QuotaEnv {
  QUOTAS?: DurableObjectNamespace<Quota>;
}

/** The most bytes that a caller may hold in all objects together. */
export interface Most {
  most: number;
  /** Additional bytes that may be lent; 0 for files. */
  reserve: number;
}

interface Held extends Record<string, SqlStorageValue> {
  object: string;
  /** Rises with each count. */
  nth: number;
}

/**
 * Counts what one caller uses. Calls are counted in memory: an object is evicted only after a pause in which its
 * buckets have refilled. Each bucket holds a minute's calls and refills steadily. Bytes that servlets keep for the
 * caller are stored, by object.
 */
export class Quota extends DurableObject<HolderEnv> {
  readonly #buckets = new Map<string, { left: number; at: number }>();
  /** When the objects may be audited again, in Unix ms. */
  #audited = 0;

  /**
   * Counts a call of this tool (empty for any call) and returns 0; if none is left, counts nothing and returns the wait
   * in ms.
   */
  take(tool: string, perMinute: number): number {
    const now = Date.now();
    const { left, at } = this.#buckets.get(tool) ?? { left: perMinute, at: now };
    const full = Math.min(perMinute, left + (Math.max(0, now - at) * perMinute) / MINUTE);
    const isThere = full >= 1;
    this.#buckets.set(tool, { left: isThere ? full - 1 : full, at: now });
    return isThere ? 0 : ((1 - full) * MINUTE) / perMinute;
  }

  /**
   * Sets how many bytes an object of servlet state holds for this caller; 0 for an object that holds none any more.
   * Returns how many of them come from the reserve; undefined, without a change, if they are more than before and do
   * not fit.
   */
  async hold(object: string, bytes: number, of: Most): Promise<number | undefined> {
    const { sql } = this.ctx.storage;
    for (const table of TABLES) sql.exec(table);
    let lent = this.#lentFor(object, bytes, of);
    if (lent === undefined) {
      await this.#audit(object);
      lent = this.#lentFor(object, bytes, of);
      if (lent === undefined) return undefined;
    }
    this.#set(object, bytes, lent);
    // A caller without held bytes leaves no record here either.
    if (!hasRow(sql, "SELECT 1 FROM held")) await this.ctx.storage.deleteAll();
    return lent;
  }

  /** The ids of the objects that hold bytes for this caller. */
  async holding(): Promise<string[]> {
    const { sql } = this.ctx.storage;
    if (!hasTable(sql, "held")) return [];
    const query = "SELECT object FROM held";
    return sql
      .exec<{ object: string }>(query)
      .toArray()
      .map(({ object }) => object);
  }

  /** The bytes that `hold` would allow this object now, if all objects may hold `most`. */
  async available(object: string, most: number): Promise<number> {
    const { sql } = this.ctx.storage;
    if (!hasTable(sql, "held")) return most;
    for (const table of TABLES) sql.exec(table);
    const before = this.#held(object);
    if (before.others + before.own + PART > most) await this.#audit(object);
    const { own, lent, others } = this.#held(object);
    return Math.max(own - lent, most - others);
  }

  /** The reserve bytes of an object that holds so many bytes; undefined if they do not fit. */
  #lentFor(object: string, bytes: number, { most, reserve }: Most): number | undefined {
    const { own, lent, others } = this.#held(object);
    const excess = Math.max(0, others + bytes - most);
    const lentThen = Math.min(excess, bytes, lent + Math.max(0, bytes - own));
    // Half is for objects that already hold something, so that their content can be read and deleted.
    const lendable = own > 0 ? reserve : reserve / 2;
    const fits =
      bytes <= own - lent ||
      lentThen === 0 ||
      (reserve > 0 && (bytes <= own || (lentThen <= MOST_LENT && excess <= lendable)));
    return fits ? lentThen : undefined;
  }

  /** The bytes of this object, those of them from the reserve, and the bytes of all others together. */
  #held(object: string) {
    const query = `SELECT COALESCE(SUM(bytes) FILTER (WHERE object = ?1), 0) AS own,
      COALESCE(SUM(bytes) FILTER (WHERE object <> ?1), 0) AS others,
      COALESCE((SELECT bytes FROM lent WHERE object = ?1), 0) AS lent FROM held`;
    const { sql } = this.ctx.storage;
    return sql.exec<{ own: number; others: number; lent: number }>(query, object).one();
  }

  #set(object: string, bytes: number, lent: number): void {
    const { sql } = this.ctx.storage;
    if (lent === 0) sql.exec("DELETE FROM lent WHERE object = ?", object);
    else sql.exec("INSERT OR REPLACE INTO lent VALUES (?, ?)", object, lent);
    if (bytes === 0) sql.exec("DELETE FROM held WHERE object = ?", object);
    else {
      const next = "(SELECT COALESCE(MAX(nth), 0) + 1 FROM held)";
      sql.exec(`INSERT OR REPLACE INTO held VALUES (?, ?, ${next})`, object, bytes);
    }
  }

  /**
   * Asks the objects that reported longest ago how much they hold: an object that died between a change of its own and
   * its report is counted too high until then.
   */
  async #audit(asking: string): Promise<void> {
    const { SERVLET_STATES: objects } = this.env;
    if (objects === undefined || isRecent(this.#audited, AUDIT_MS)) return;
    this.#audited = Date.now();
    const query = "SELECT object, nth FROM held WHERE object <> ? ORDER BY nth LIMIT ?";
    const { sql } = this.ctx.storage;
    const rows = sql.exec<Held>(query, asking, AUDITED_OBJECTS).toArray();
    await Promise.all(
      rows.map(async ({ object, nth }) => {
        try {
          const bytes = await objects.get(objects.idFromString(object)).held();
          // Unless it has reported meanwhile: then its answer is older.
          if (hasRow(sql, "SELECT 1 FROM held WHERE object = ? AND nth = ?", object, nth)) {
            this.#set(object, bytes, Math.min(bytes, this.#held(object).lent));
          }
        } catch (error) {
          logError(error); // It counts as before.
        }
      }),
    );
  }
}
