/** Which API keys are revoked, and when each was used: one object has the records, and each isolate a copy of the revoked ones. */
import { DurableObject, waitUntil } from "cloudflare:workers";
import type { Env } from "../bindings.ts";
import { Fault, report } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import { KnownAnswer, nearestCopy, originalOf } from "../storage/copies.ts";

/** A stored record of an API key, besides its configuration. */
export interface KeyRecord {
  /** SHA-256 of the key, in hex. */
  key: string;
  /** When it was last used, in Unix ms, to within a few seconds; null for a key that never was. */
  used: number | null;
  /** When it was revoked, in Unix ms, and by whom; null for a valid key. */
  revoked: number | null;
  by: string | null;
}

/** The Durable Object with the records of all keys. */
export class KeyRecords extends DurableObject<Env> {
  readonly #sql = this.ctx.storage.sql;
  /** In a copy: the revoked keys, which the original returns when the use of keys is reported to it. */
  readonly #known: KnownAnswer<string[]> | undefined;
  #used: Record<string, number> = {};

  constructor(state: DurableObjectState, env: Env) {
    super(state, env);
    const original = originalOf(state.id.name);
    if (original !== undefined) {
      const ask = () => {
        const used = this.#used;
        this.#used = {};
        return env.KEY_RECORDS!.getByName(original).used(used);
      };
      this.#known = new KnownAnswer(ask, () => Math.min(COPY_MS, limits.keyCheckMs));
      return;
    }
    this.#sql.exec(
      "CREATE TABLE IF NOT EXISTS keys (key TEXT PRIMARY KEY, used INTEGER, revoked INTEGER, by TEXT)",
    );
  }

  /** Notes when keys were used (Unix ms, by key), and returns those that are revoked. */
  async used(used: Record<string, number>): Promise<string[]> {
    if (this.#known !== undefined) {
      Object.assign(this.#used, used);
      return this.#known.get();
    }
    for (const [key, at] of Object.entries(used)) {
      this.#sql.exec(
        "INSERT INTO keys (key, used) VALUES (?, ?) ON CONFLICT DO UPDATE SET used = MAX(IFNULL(used, 0), excluded.used)",
        ...[key, at],
      );
    }
    return this.#sql
      .exec<{ key: string }>("SELECT key FROM keys WHERE revoked IS NOT NULL")
      .toArray()
      .map(({ key }) => key);
  }

  async all(): Promise<KeyRecord[]> {
    return this.#sql
      .exec<KeyRecord & Record<string, SqlStorageValue>>("SELECT key, used, revoked, by FROM keys")
      .toArray();
  }

  async revoke(key: string, by: string): Promise<void> {
    this.#sql.exec(
      "INSERT INTO keys (key, revoked, by) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET revoked = excluded.revoked, by = excluded.by",
      ...[key, Date.now(), by],
    );
  }

  /** Undoes a revocation. */
  async restore(key: string): Promise<void> {
    this.#sql.exec("UPDATE keys SET revoked = NULL, by = NULL WHERE key = ?", key);
  }
}

/** The records of keys; undefined where the binding KEY_RECORDS is missing: then no key can be revoked while the server runs. */
export const keyRecordsOf = ({ KEY_RECORDS }: Env) =>
  KEY_RECORDS && (() => KEY_RECORDS.getByName(RECORDS));

/** The copy of them that this isolate asks which keys are revoked. */
export const nearestRecords = (env: Env) =>
  env.KEY_RECORDS && nearestCopy(env.KEY_RECORDS, RECORDS, env);

const RECORDS = "keys";
/** How long a copy goes by what it knows. */
const COPY_MS = 1000;

/** How old an isolate's knowledge of the revoked keys may be: a revoked key is refused everywhere after that. */
const KNOWN_MS = 30_000 - COPY_MS;

/**
 * The revoked keys as this isolate knows them. They are read with the first key, and again with one that comes
 * `limits.keyCheckMs` later; other calls go on by what is known. Knowledge older than `KNOWN_MS` lets no key in: where the
 * records cannot be read, a revoked key does not work for longer.
 */
export class RevokedKeys {
  readonly #records: (() => Pick<KeyRecords, "used">) | undefined;
  readonly #now: () => number;
  #revoked: ReadonlySet<string> = new Set();
  /** When that was read: the time before the read. */
  #knownAt = -Infinity;
  #askedAt = -Infinity;
  #reading: Promise<void> | undefined;
  #used: Record<string, number> = {};

  constructor(records: (() => Pick<KeyRecords, "used">) | undefined, now = () => Date.now()) {
    this.#records = records;
    this.#now = now;
  }

  /** Notes that a key is used, and tells whether it is revoked. Throws `unavailable` while that is not known. */
  async has(key: string): Promise<boolean> {
    if (this.#records === undefined) return false;
    const now = this.#now();
    // The clock may be set back.
    const age = (since: number) => Math.abs(now - since);
    this.#used[key] = now;
    if (age(this.#askedAt) >= limits.keyCheckMs) {
      this.#askedAt = now;
      this.#reading = this.#read(this.#records);
      waitUntil(this.#reading);
    }
    if (age(this.#knownAt) >= 2 * limits.keyCheckMs) await this.#reading;
    if (age(this.#knownAt) < KNOWN_MS) return this.#revoked.has(key);
    // The next call reads again.
    this.#askedAt = -Infinity;
    throw new Fault(
      "unavailable",
      "The server does not know now which keys are revoked. Try again in a moment.",
      { data: { retryAfter: 1 } },
    );
  }

  async #read(records: () => Pick<KeyRecords, "used">): Promise<void> {
    const askedAt = this.#askedAt;
    const used = this.#used;
    this.#used = {};
    try {
      this.#revoked = new Set(await records().used(used));
      this.#knownAt = askedAt;
    } catch (error) {
      report(error);
    }
  }
}

/** The fault of a call with a revoked key. */
export const revokedKey = (name: string): Fault =>
  new Fault(
    "unauthorized",
    `The API key ${name} was revoked. Make another with npm run keys -- create, or have an operator restore it.`,
  );
