import { DurableObject } from "cloudflare:workers";
import { namespaceOf } from "../env.ts";
import { logError } from "../errors.ts";
import { limits } from "../limits.ts";
import type { StateObject } from "./remote-hooks.ts";
import { PART } from "../parts.ts";
import { hasRow, hasTable } from "./tables.ts";

const MINUTE = 60_000;

const HELD =
  "CREATE TABLE IF NOT EXISTS held (object TEXT PRIMARY KEY, bytes INTEGER NOT NULL, nth INTEGER NOT NULL)";

interface Held extends Record<string, SqlStorageValue> {
  object: string;
  /** Rises with each count. */
  nth: number;
}

/**
 * Counts what one caller takes. Calls are counted in memory: an object is evicted only after a pause in which its
 * buckets have refilled. Each bucket holds a minute's calls and refills steadily. Bytes that servlets keep for
 * the caller are stored, by the object that has them.
 */
export class Quota extends DurableObject {
  readonly #buckets = new Map<string, { left: number; at: number }>();
  /** When the objects may be asked again what they hold, in Unix ms. */
  #nextAudit = 0;

  /** Counts a call of this tool (empty for any call) and returns 0; if none is left, counts nothing and returns the wait in ms. */
  take(tool: string, perMinute: number): number {
    const now = Date.now();
    const { left, at } = this.#buckets.get(tool) ?? { left: perMinute, at: now };
    const full = Math.min(perMinute, left + ((now - at) * perMinute) / MINUTE);
    const isThere = full >= 1;
    this.#buckets.set(tool, { left: isThere ? full - 1 : full, at: now });
    return isThere ? 0 : ((1 - full) * MINUTE) / perMinute;
  }

  /**
   * Sets how many bytes an object of servlet state holds for this caller; 0 if it holds nothing any more. False, and
   * nothing is set, if it were more than before and more than `most` with what others hold.
   */
  async hold(object: string, bytes: number, most: number): Promise<boolean> {
    const { sql } = this.ctx.storage;
    sql.exec(HELD);
    if (!this.#fits(object, bytes, most)) {
      await this.#audit(object);
      if (!this.#fits(object, bytes, most)) return false;
    }
    this.#set(object, bytes);
    // A caller for whom nothing is kept any more leaves nothing here either.
    if (!hasRow(sql, "SELECT 1 FROM held")) await this.ctx.storage.deleteAll();
    return true;
  }

  /** The bytes that `hold` would let this object hold now, where all may hold `most`. */
  async available(object: string, most: number): Promise<number> {
    const { sql } = this.ctx.storage;
    if (!hasTable(sql, "held")) return most;
    if (!this.#fits(object, this.#held(object).own + PART, most)) await this.#audit(object);
    const { own, others } = this.#held(object);
    return Math.max(own, most - others);
  }

  #fits(object: string, bytes: number, most: number): boolean {
    const { own, others } = this.#held(object);
    return bytes <= own || others + bytes <= most;
  }

  /** The bytes that this object holds, and all others together. */
  #held(object: string) {
    const query = `SELECT COALESCE(SUM(bytes) FILTER (WHERE object = ?), 0) AS own,
      COALESCE(SUM(bytes) FILTER (WHERE object <> ?), 0) AS others FROM held`;
    const { sql } = this.ctx.storage;
    return sql.exec<{ own: number; others: number }>(query, object, object).one();
  }

  #set(object: string, bytes: number): void {
    const { sql } = this.ctx.storage;
    if (bytes === 0) sql.exec("DELETE FROM held WHERE object = ?", object);
    else {
      const next = "(SELECT COALESCE(MAX(nth), 0) + 1 FROM held)";
      sql.exec(`INSERT OR REPLACE INTO held VALUES (?, ?, ${next})`, object, bytes);
    }
  }

  /**
   * Asks the objects that were longest unheard of what they hold: one that died between a change of its own and the
   * count of it here is counted for too much until then.
   */
  async #audit(asking: string): Promise<void> {
    const objects = namespaceOf<StateObject>(this.env, "SERVLET_STATES");
    if (objects === undefined || Date.now() < this.#nextAudit) return;
    this.#nextAudit = Date.now() + limits.auditMs;
    const query = "SELECT object, nth FROM held WHERE object <> ? ORDER BY nth LIMIT ?";
    const { sql } = this.ctx.storage;
    const rows = sql.exec<Held>(query, asking, limits.auditedObjects).toArray();
    await Promise.all(
      rows.map(async ({ object, nth }) => {
        try {
          const bytes = await objects.get(objects.idFromString(object)).held();
          // Unless it was heard of meanwhile: its answer is older then.
          if (hasRow(sql, "SELECT 1 FROM held WHERE object = ? AND nth = ?", object, nth)) {
            this.#set(object, bytes);
          }
        } catch (error) {
          logError(error); // It counts as before.
        }
      }),
    );
  }
}
