import { DurableObject } from "cloudflare:workers";
import { limits } from "../core/limits.ts";
import { firstRow } from "./tables.ts";

/** How long one key is used to seal. Everything sealed expires at most `limits.taskMs` later. */
const KEY_MS = 30 * 86_400_000;

/** A key for AES-256-GCM; sealed data begins with its number. */
export interface Key {
  id: number;
  bytes: Uint8Array<ArrayBuffer>;
}

/**
 * The keys with which this deployment seals data that it stores or gives to clients. The ring creates a new key every
 * `KEY_MS`, and keeps old keys until everything sealed with them has expired.
 */
export class KeyRing extends DurableObject {
  constructor(state: DurableObjectState, env: Cloudflare.Env) {
    super(state, env);
    const { sql } = state.storage;
    sql.exec(
      "CREATE TABLE IF NOT EXISTS keys (id INTEGER PRIMARY KEY AUTOINCREMENT, bytes BLOB NOT NULL, made INTEGER NOT NULL)",
    );
  }

  /** The key to seal with. */
  current(): Key {
    const { sql } = this.ctx.storage;
    const now = Date.now();
    const newest = firstRow(
      sql.exec<{ id: number; bytes: ArrayBuffer; made: number }>(
        "SELECT id, bytes, made FROM keys ORDER BY id DESC LIMIT 1",
      ),
    );
    if (newest !== undefined && newest.made > now - KEY_MS) {
      return { id: newest.id, bytes: new Uint8Array(newest.bytes) };
    }
    // The newest stays: a clock that was briefly far ahead must not delete the key in use.
    sql.exec(
      "DELETE FROM keys WHERE made < ? AND id < (SELECT max(id) FROM keys)",
      now - KEY_MS - limits.taskMs,
    );
    const bytes = crypto.getRandomValues(new Uint8Array(32));
    sql.exec("INSERT INTO keys (bytes, made) VALUES (?, ?)", bytes, now);
    const { id } = sql.exec<{ id: number }>("SELECT last_insert_rowid() AS id").one();
    return { id, bytes };
  }

  /** The key for data that does not expire; it is never deleted. */
  lasting(): Uint8Array<ArrayBuffer> {
    const { sql } = this.ctx.storage;
    sql.exec(
      "CREATE TABLE IF NOT EXISTS lasting (id INTEGER PRIMARY KEY CHECK (id = 0), bytes BLOB NOT NULL)",
    );
    const fresh = crypto.getRandomValues(new Uint8Array(32));
    sql.exec("INSERT OR IGNORE INTO lasting VALUES (0, ?)", fresh);
    return new Uint8Array(
      sql.exec<{ bytes: ArrayBuffer }>("SELECT bytes FROM lasting").one().bytes,
    );
  }

  /** The key with this number; undefined if there is none or it was deleted. */
  byId(id: number): Key | undefined {
    const query = "SELECT bytes FROM keys WHERE id = ?";
    const found = firstRow(this.ctx.storage.sql.exec<{ bytes: ArrayBuffer }>(query, id));
    return found && { id, bytes: new Uint8Array(found.bytes) };
  }
}
