/**
 * Which API keys were made while the server runs, which are revoked, and when each was used. One object holds the
 * records; each isolate has a copy of what it needs.
 */
import { DurableObject, waitUntil } from "cloudflare:workers";
import { Fault, report } from "../core/errors.ts";
import { KEY_PREFIX } from "../core/key-name.ts";
import { limits } from "./limits.ts";
import { settled, type Settled } from "../core/settled.ts";
import { storageRoom } from "../core/storage-room.ts";
import { KnownAnswer, nearestCopy, originalOf } from "../storage/copies.ts";
import { ownerOf, type KnownKey, type Known } from "./principal.ts";

/** The stored record of an API key, apart from its configuration. */
export interface KeyRecord {
  /** SHA-256 of the key, in hex. */
  key: string;
  /** When it was last used, in Unix ms, to within a few seconds; null if never. */
  used: number | null;
  /** When it was revoked, in Unix ms, and by whom; null for a valid key. */
  revoked: number | null;
  by: string | null;
}

/** An API key that was made while the server runs, and is not in the configuration. */
export interface MadeKey {
  /** SHA-256 of the key, in hex. */
  key: string;
  name: string;
  /** Null grants all but `operator`. */
  scopes: readonly string[] | null;
  /** When it expires, in Unix ms; null for never. */
  expires: number | null;
  /** When it was made, in Unix ms, and by whom. */
  made: number;
  maker: string;
}

/** The records of which every isolate has a copy. */
interface KeysKnown {
  /** Hashes of the revoked keys. */
  revoked: string[];
  made: MadeKey[];
}

/** The most keys that may be made while the server runs. */
const MADE_KEYS = 200;
/** How long a removed key is refused by name: isolates remember a key's owner for minutes. */
const REMOVED_MS = 86_400_000;

const TABLES = `
CREATE TABLE IF NOT EXISTS keys (key TEXT PRIMARY KEY, used INTEGER, revoked INTEGER, by TEXT);
CREATE TABLE IF NOT EXISTS made (key TEXT PRIMARY KEY, name TEXT NOT NULL, scopes TEXT, expires INTEGER, made INTEGER NOT NULL,
  maker TEXT NOT NULL, removed INTEGER)`;

/** The binding of the class below. */
export interface KeyRecordsEnv {
  KEY_RECORDS?: DurableObjectNamespace<KeyRecords>;
}

/** The Durable Object with the records of all keys. */
export class KeyRecords extends DurableObject<KeyRecordsEnv> {
  readonly #sql = this.ctx.storage.sql;
  /** In a copy: the known records, which the original returns when key use is reported to it. */
  readonly #known: KnownAnswer<KeysKnown> | undefined;
  #used: Record<string, number> = {};

  constructor(state: DurableObjectState, env: KeyRecordsEnv) {
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
    this.#sql.exec(TABLES);
  }

  /** Records when keys were used (Unix ms, by key), and returns the records for isolates. */
  async used(used: Record<string, number>): Promise<KeysKnown> {
    if (this.#known !== undefined) {
      Object.assign(this.#used, used);
      return this.#known.get();
    }
    // On a full disk keys can still be read: calls that store nothing need them.
    for (const [key, at] of storageRoom.isFull ? [] : Object.entries(used)) {
      this.#sql.exec(
        "INSERT INTO keys (key, used) VALUES (?, ?) ON CONFLICT DO UPDATE SET used = MAX(IFNULL(used, 0), excluded.used)",
        key,
        at,
      );
    }
    const revoked = this.#sql
      .exec<{ key: string }>("SELECT key FROM keys WHERE revoked IS NOT NULL")
      .toArray()
      .map(({ key }) => key);
    return { revoked, made: this.#made() };
  }

  /** The keys that were made here and not removed. */
  async made(): Promise<MadeKey[]> {
    return this.#made();
  }

  #made(): MadeKey[] {
    type Row = Omit<MadeKey, "scopes"> & { scopes: string | null };
    return this.#sql
      .exec<Row & Record<string, SqlStorageValue>>(
        "SELECT key, name, scopes, expires, made, maker FROM made WHERE removed IS NULL ORDER BY made",
      )
      .toArray()
      .map(({ scopes, ...row }) => ({
        ...row,
        scopes: scopes === null ? null : (JSON.parse(scopes) as string[]),
      }));
  }

  /** Adds a key. Throws `conflict` if its name is taken. Isolates know the key within two seconds. */
  make({ key, name, scopes, expires, maker }: Omit<MadeKey, "made">): Promise<Settled<void>> {
    return settled(() => {
      const now = Date.now();
      const old = "SELECT key FROM made WHERE removed < ?";
      this.#sql.exec(`DELETE FROM keys WHERE key IN (${old})`, now - REMOVED_MS);
      this.#sql.exec("DELETE FROM made WHERE removed < ?", now - REMOVED_MS);
      const all = this.#made();
      if (all.some((one) => one.name === name))
        throw new Fault("conflict", `There is a key ${name} already. Take another name.`);
      if (all.length >= MADE_KEYS)
        throw new Fault(
          "conflict",
          `${MADE_KEYS} keys were made here, which is the limit. Remove one.`,
        );
      const granted = scopes === null ? null : JSON.stringify(scopes);
      const row = [key, name, granted, expires, now, maker];
      this.#sql.exec("INSERT INTO made VALUES (?, ?, ?, ?, ?, ?, NULL)", ...row);
    });
  }

  /** Removes a key that was made here. It stays revoked while isolates remember it. */
  async remove(key: string, by: string): Promise<void> {
    await this.revoke(key, by);
    this.#sql.exec("UPDATE made SET removed = ? WHERE key = ?", Date.now(), key);
  }

  async all(): Promise<KeyRecord[]> {
    return this.#sql
      .exec<KeyRecord & Record<string, SqlStorageValue>>("SELECT key, used, revoked, by FROM keys")
      .toArray();
  }

  async revoke(key: string, by: string): Promise<void> {
    this.#sql.exec(
      "INSERT INTO keys (key, revoked, by) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET revoked = excluded.revoked, by = excluded.by",
      key,
      Date.now(),
      by,
    );
  }

  /** Undoes a revocation. */
  async restore(key: string): Promise<void> {
    this.#sql.exec("UPDATE keys SET revoked = NULL, by = NULL WHERE key = ?", key);
  }
}

/**
 * The records of keys; undefined where the binding KEY_RECORDS is missing: then no key can be revoked while the server
 * runs.
 */
export const keyRecordsOf = ({ KEY_RECORDS }: KeyRecordsEnv) =>
  KEY_RECORDS && (() => KEY_RECORDS.getByName(RECORDS));

/** The copy of the records that this isolate asks. */
export const nearestRecords = (env: KeyRecordsEnv) =>
  env.KEY_RECORDS && nearestCopy(env.KEY_RECORDS, RECORDS, env);

const RECORDS = "keys";
/** How long a copy uses its records before it asks again. */
const COPY_MS = 1000;

/** The greatest age of an isolate's records: after that, a revoked key is refused everywhere. */
const KNOWN_MS = 30_000 - COPY_MS;

/**
 * The API keys as this isolate knows them: from the configuration and the records. The records are read with the first
 * key, and again with a key that comes `limits.keyCheckMs` later or is unknown; other calls use the records as known.
 * Records older than `KNOWN_MS` admit no key: where they cannot be read, a revoked key works no longer than that.
 */
export class KnownKeys {
  readonly #configured: readonly KnownKey[];
  readonly #records: (() => Pick<KeyRecords, "used">) | undefined;
  readonly #now: () => number;
  #revoked: ReadonlySet<string> = new Set();
  #made: readonly KnownKey[] = [];
  /** When the records were read: the time before the read. */
  #knownAt = -Infinity;
  /** Why the last read failed. */
  #failure: Fault | undefined;
  #askedAt = -Infinity;
  /** Numbers of reads: of the last one begun, and of the last one whose answer was applied. */
  #begun = 0;
  #applied = 0;
  #reading: Promise<void> | undefined;
  #used: Record<string, number> = {};

  constructor(
    configured: readonly KnownKey[],
    records: (() => Pick<KeyRecords, "used">) | undefined,
    now = () => Date.now(),
  ) {
    this.#configured = configured;
    this.#records = records;
    this.#now = now;
  }

  /** True if any key is known. */
  get hasAny(): boolean {
    return this.#configured.length + this.#made.length > 0;
  }

  /** The key of this name, if known. A caller's own key was known when the caller was admitted. */
  named(name: string): KnownKey | undefined {
    const isIt = (one: KnownKey) => one.name === name;
    return this.#configured.find(isIt) ?? this.#made.find(isIt);
  }

  /** The owner of a key; undefined for an unknown key. Throws `unauthorized` for an expired key, `unavailable`. */
  async ownerOf(token: string): Promise<Known | undefined> {
    const owner = ownerOf(token, this.#configured);
    // Tokens of issuers need no records.
    if (owner !== undefined || !token.startsWith(KEY_PREFIX)) return owner;
    await this.#know(COPY_MS);
    return ownerOf(token, this.#made);
  }

  /** The key of this name if it is valid, else undefined. Throws `unavailable`. */
  async find(name: string): Promise<KnownKey | undefined> {
    if (this.named(name) === undefined) await this.#know(COPY_MS);
    const key = this.named(name);
    const isValid = key !== undefined && (key.expires ?? Infinity) > this.#now();
    return isValid && !(await this.isRevoked(key.hash.toHex())) ? key : undefined;
  }

  /** Records that a key is used, and tells whether it is revoked. Throws `unavailable` while that is unknown. */
  async isRevoked(key: string): Promise<boolean> {
    if (this.#records === undefined) return false;
    this.#used[key] = this.#now();
    await this.#know(2 * limits.keyCheckMs);
    return this.#revoked.has(key);
  }

  /** Waits until the records were read in the last `mostMs`. Throws `unavailable` if they cannot be read. */
  async #know(mostMs: number): Promise<void> {
    if (this.#records === undefined) return;
    const now = this.#now();
    // The clock may be set back.
    const age = (since: number) => Math.abs(now - since);
    if (age(this.#askedAt) >= Math.min(mostMs, limits.keyCheckMs)) {
      this.#askedAt = now;
      this.#reading = this.#read(this.#records);
      waitUntil(this.#reading);
    }
    if (age(this.#knownAt) >= mostMs) await this.#reading;
    if (age(this.#knownAt) < KNOWN_MS) return;
    // The next call reads again.
    this.#askedAt = -Infinity;
    if (this.#failure?.code === "storage_full") throw this.#failure;
    throw new Fault(
      "unavailable",
      "The server does not know now which keys are revoked. Try again in a moment.",
      { data: { retryAfter: 1 } },
    );
  }

  async #read(records: () => Pick<KeyRecords, "used">): Promise<void> {
    const askedAt = this.#askedAt;
    const nth = ++this.#begun;
    const used = this.#used;
    this.#used = {};
    try {
      const { revoked, made } = await records().used(used);
      // A newer answer is known already.
      if (nth < this.#applied) return;
      this.#applied = nth;
      this.#revoked = new Set(revoked);
      // If the configuration later uses a name, only the configured key has it: a name identifies one caller.
      const own = made.filter(({ name }) => this.#configured.every((one) => one.name !== name));
      this.#made = own.map(({ key, name, scopes, expires }) => ({
        name,
        hash: new Uint8Array(Uint8Array.fromHex(key)),
        ...(scopes && { scopes }),
        ...(expires !== null && { expires }),
      }));
      this.#knownAt = askedAt;
      this.#failure = undefined;
    } catch (error) {
      this.#failure = report(error);
    }
  }
}

/** The fault of a call with a revoked key. */
export const revokedKey = (name: string): Fault =>
  new Fault(
    "unauthorized",
    `The API key ${name} was revoked. Make another, or have an operator restore it.`,
  );
