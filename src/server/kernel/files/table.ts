/** A table of sealed values in a database, as one call reads and changes it. */
import { FileSystemError } from "./errors.ts";
import type { Sealing } from "./sealing.ts";
import type { Sql, SqlValue } from "./sql.ts";

export interface Codec<V> {
  encode(value: V): Uint8Array;
  decode(bytes: Uint8Array): V;
  /** Memory that the value takes. */
  memoryBytes(value: V): number;
}

/** Work done so far. */
export interface Work {
  /** SQL statements, rows sealed or opened, names hashed. */
  steps: number;
  /** Rows looked up or skipped, in memory or not, or returned by a statement. */
  lookUps: number;
  /** Bytes sealed or opened, and bytes of paths that were followed. */
  bytes: number;
}

/** The database and its key, shared by the tables of one call. */
export interface Backing {
  readonly sql: Sql;
  readonly sealing: Sealing;
  readonly work: Work;
  /** Functions that undo the changes of the current atomic operation, in the order of the changes. */
  readonly undo: (() => void)[] | undefined;
  /** Called when reads have made a table take more memory. */
  makeRoom(): void;
}

interface Slot<V> {
  /** Undefined if there is no such row. */
  value: V | undefined;
  bytes: number;
  /** True if it was used since rows were last evicted. */
  isUsed: boolean;
}

/** Memory of a slot beyond its value, measured. */
const SLOT_BYTES = 200;

/**
 * A table of sealed values as one call sees it: rows in memory hide staged rows of the call, which hide rows of earlier
 * calls. Only `commit` changes the last.
 */
export class Table<K extends number | string, V> {
  protected readonly name: string;
  protected readonly memory = new Map<K, Slot<V>>();
  /** Keys in memory whose rows are neither staged nor committed. */
  protected readonly changed = new Set<K>();
  /** True if the staging table may have rows. */
  protected hasStaged = false;
  protected readonly backing: Backing;
  /** Sealed values of changed keys. */
  readonly #sealed = new Map<K, Uint8Array>();
  readonly #codec: Codec<V>;
  #memoryBytes = 0;
  #bytesToWrite = 0;

  constructor(name: string, codec: Codec<V>, backing: Backing) {
    this.name = name;
    this.#codec = codec;
    this.backing = backing;
  }

  /** Creates the table and its staging table if missing. */
  static create(sql: Sql, name: string, keys: "INTEGER" | "TEXT"): void {
    const kind = keys === "TEXT" ? " WITHOUT ROWID" : "";
    for (const table of [name, `${name}_staged`]) {
      sql.exec(
        `CREATE TABLE IF NOT EXISTS ${table} (key ${keys} NOT NULL PRIMARY KEY, value BLOB)${kind}`,
      );
    }
  }

  /** Memory of its rows. */
  get memoryBytes(): number {
    return this.#memoryBytes;
  }

  /** Bytes that `commit` writes; call it after `seal`. */
  get bytesToWrite(): number {
    return this.#bytesToWrite;
  }

  get isChanged(): boolean {
    return this.hasStaged || this.changed.size > 0;
  }

  get(key: K): V | undefined {
    this.backing.work.lookUps++;
    const known = this.memory.get(key);
    if (known !== undefined) {
      // Not moved to the end of the map: if a key is deleted and set again, V8 walks over all of its earlier positions.
      known.isUsed = true;
      return known.value;
    }
    const value = this.#stored(key);
    this.#remember(key, value);
    this.backing.makeRoom();
    return value;
  }

  /** True if there is such a row; does not open it. */
  has(key: K): boolean {
    const known = this.memory.get(key);
    if (known !== undefined) return known.value !== undefined;
    const stored = this.#layers(key).map((table) =>
      this.exec(`SELECT value IS NOT NULL AS is_there FROM ${table} WHERE key = ?`, key).at(0),
    );
    return stored.find((row) => row !== undefined)?.["is_there"] === 1;
  }

  set(key: K, value: V): void {
    this.#change(key, value);
  }

  delete(key: K): void {
    this.#change(key, undefined);
  }

  /** Evicts rows until they take at most this much memory, first those not used lately; changed ones are staged. */
  shrinkTo(bytes: number): void {
    for (const [key, slot] of this.memory) {
      if (this.#memoryBytes <= bytes) return;
      if (slot.isUsed) {
        // It is considered again after all others.
        slot.isUsed = false;
        this.memory.delete(key);
        this.memory.set(key, slot);
        continue;
      }
      if (this.changed.has(key)) this.#stage(key, slot.value);
      this.forget(key);
    }
  }

  /** Stages every changed row. */
  stageAll(): void {
    for (const key of this.changed) this.#stage(key, this.memory.get(key)!.value);
    this.changed.clear();
  }

  /** Seals the changes of this call, for `commit`. */
  seal(): void {
    for (const key of this.changed) {
      const { value } = this.memory.get(key)!;
      // The statement that writes it.
      this.backing.work.steps++;
      if (value === undefined) continue;
      const sealed = this.#seal(key, value);
      this.#sealed.set(key, sealed);
      this.#bytesToWrite += sealed.length;
    }
  }

  /** Stores the sealed changes of this call for later calls. */
  commit(): void {
    const { name } = this;
    if (this.hasStaged) {
      this.exec(
        `DELETE FROM ${name} WHERE key IN (SELECT key FROM ${name}_staged WHERE value IS NULL)`,
      );
      this.exec(
        `INSERT OR REPLACE INTO ${name} SELECT key, value FROM ${name}_staged WHERE value IS NOT NULL`,
      );
      this.drop();
    }
    for (const key of this.changed) {
      const sealed = this.#sealed.get(key);
      if (sealed === undefined) this.exec(`DELETE FROM ${name} WHERE key = ?`, key);
      else this.exec(`INSERT OR REPLACE INTO ${name} VALUES (?, ?)`, key, sealed);
    }
  }

  /** Deletes the staged rows. */
  drop(): void {
    if (this.hasStaged) this.exec(`DELETE FROM ${this.name}_staged`);
    this.hasStaged = false;
  }

  /** True if this call has deleted the row of earlier calls at this key, without a row of its own. */
  protected isHidden(_key: K): boolean {
    return false;
  }

  /** Called when a row was added in memory. */
  protected remembered(_key: K): void {}

  protected forget(key: K): void {
    this.#memoryBytes -= this.memory.get(key)?.bytes ?? 0;
    this.memory.delete(key);
    this.changed.delete(key);
  }

  protected exec(query: string, ...bindings: SqlValue[]): Record<string, unknown>[] {
    const { sql, work } = this.backing;
    const rows = sql.exec(query, ...bindings).toArray();
    work.steps++;
    work.lookUps += rows.length;
    return rows;
  }

  /** Charges for bytes that are sealed, opened or hashed at once. */
  protected countSealing(bytes: number): void {
    this.backing.work.steps++;
    this.backing.work.bytes += bytes;
  }

  /** The value in a row. Throws `io` if it was not sealed for this key. */
  protected open(key: K, stored: unknown): V {
    const sealed = new Uint8Array(stored as ArrayBuffer | Uint8Array<ArrayBuffer>);
    this.countSealing(sealed.length);
    try {
      return this.#codec.decode(this.backing.sealing.open(sealed, this.#about(key)));
    } catch {
      const message = `The stored files are damaged: ${this.#about(key)} cannot be opened. Restore them from an export, or delete them.`;
      throw new FileSystemError("io", message);
    }
  }

  #seal(key: K, value: V): Uint8Array {
    const bytes = this.#codec.encode(value);
    this.countSealing(bytes.length);
    return this.backing.sealing.seal(bytes, this.#about(key));
  }

  #about(key: K): string {
    return `${this.name} ${key}`;
  }

  /** Changes a row in memory only, so that it cannot fail. */
  #change(key: K, value: V | undefined): void {
    const before = this.memory.get(key);
    const wasChanged = this.changed.has(key);
    this.backing.undo?.push(() => {
      this.forget(key);
      if (before !== undefined) this.#remember(key, before.value);
      if (wasChanged) this.changed.add(key);
    });
    this.#remember(key, value);
    this.changed.add(key);
  }

  #remember(key: K, value: V | undefined): void {
    const before = this.memory.get(key);
    if (before === undefined) this.remembered(key);
    else this.#memoryBytes -= before.bytes;
    const bytes =
      SLOT_BYTES +
      (typeof key === "string" ? key.length : 0) +
      (value === undefined ? 0 : this.#codec.memoryBytes(value));
    this.memory.set(key, { value, bytes, isUsed: before !== undefined });
    this.#memoryBytes += bytes;
  }

  #stage(key: K, value: V | undefined): void {
    this.hasStaged = true;
    const sealed = value === undefined ? null : this.#seal(key, value);
    this.exec(`INSERT OR REPLACE INTO ${this.name}_staged VALUES (?, ?)`, key, sealed);
    this.#bytesToWrite += sealed?.length ?? 0;
  }

  /** The tables that may have a row with this key, the newest first. */
  #layers(key: K): string[] {
    return [
      ...(this.hasStaged ? [`${this.name}_staged`] : []),
      ...(this.isHidden(key) ? [] : [this.name]),
    ];
  }

  #stored(key: K): V | undefined {
    for (const table of this.#layers(key)) {
      const row = this.exec(`SELECT value FROM ${table} WHERE key = ?`, key).at(0);
      if (row !== undefined)
        return row["value"] === null ? undefined : this.open(key, row["value"]);
    }
    return undefined;
  }
}
