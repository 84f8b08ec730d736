import type { Announced, InnerRow, JournalEntry } from "../core/record.ts";
import { partsOf, release, smallText, valuesIn, type ValuePart } from "../core/parts.ts";
import { hasRow, hasTable, firstRow } from "./tables.ts";
import {
  openParts,
  SEALED_HEAD,
  sealPart,
  sealParts,
  type PartPosition,
  type Sealer,
} from "./vault.ts";

/** Values that `prepare` writes together. */
export interface Writes {
  /** Values by name; null deletes one. */
  texts?: Record<string, unknown>;
  /** New answers; they delete the stored rows of nested calls. */
  answers?: readonly (readonly [position: number, entry: JournalEntry])[];
  /** Rows of nested calls; an entry deletes the stored rows of the calls nested in its call. */
  inner?: readonly InnerRow[];
}

/** Characters of a value's JSON that is cached in memory: an idle object must stay small. */
const KEPT = 4096;

interface KnownText {
  /** The head of its first row: key number and nonce, which no other sealed value has. */
  head: string;
  json: string;
}

/**
 * Named values and a call's answers in an object's SQLite, sealed and in parts. Small values of the names in `kept` are
 * not opened again while their rows are the last ones read or written.
 */
export class SealedRows {
  readonly #sql: SqlStorage;
  readonly #sealer: Sealer;
  readonly #kept: readonly string[];
  readonly #known = new Map<string, KnownText>();

  constructor(sql: SqlStorage, sealer: Sealer, kept: readonly string[] = []) {
    this.#sql = sql;
    this.#sealer = sealer;
    this.#kept = kept;
  }

  static readonly texts = `
CREATE TABLE IF NOT EXISTS texts (name TEXT NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (name, part)) WITHOUT ROWID;
`;
  static readonly answers = `
CREATE TABLE IF NOT EXISTS answers (position INTEGER NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (position, part)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS intents (position INTEGER PRIMARY KEY, digest TEXT NOT NULL);
`;
  /** Rows of nested calls: part -1 is the digest of an announced request. */
  static readonly inner = `
CREATE TABLE IF NOT EXISTS inner_rows (place TEXT NOT NULL, position INTEGER NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (place, position, part)) WITHOUT ROWID;
`;

  /** Encrypts the values and returns a synchronous function that writes them, for use in a transaction. */
  async prepare({ texts = {}, answers = [], inner = [] }: Writes): Promise<() => void> {
    const sealedTexts: [string, Parts | null][] = [];
    for (const [name, value] of Object.entries(texts)) {
      const parts = value === null ? null : await this.#seal(value);
      if (parts) this.#keep(name, headOf(parts[0]!), value);
      sealedTexts.push([name, parts]);
    }
    const sealedAnswers: [number, Parts][] = [];
    for (const [position, entry] of answers) {
      sealedAnswers.push([position, await this.#seal(entry)]);
    }
    const sealedInner: [InnerRow, Parts][] = [];
    for (const row of inner) sealedInner.push([row, await this.#seal(row.value)]);
    return () => {
      for (const [name, parts] of sealedTexts) this.#put("texts", name, parts ?? []);
      if (answers.length > 0) this.clearInner();
      for (const [row, parts] of sealedInner) this.#putInner(row, parts);
      for (const [position, parts] of sealedAnswers) {
        this.#put("answers", position, parts);
        this.withdraw(position);
      }
    };
  }

  /** Encrypts one part of a text or an answer, and returns a function that writes it. */
  async preparePart(key: string | number, part: ValuePart & PartPosition): Promise<() => void> {
    const { bytes, nth } = part;
    const sealed = await sealPart(this.#sealer, bytes, part);
    release(bytes);
    const table = typeof key === "string" ? "texts" : "answers";
    return () => {
      this.#sql.exec(SealedRows.texts + SealedRows.answers);
      this.#sql.exec(`INSERT OR REPLACE INTO ${table} VALUES (?, ?, ?)`, key, nth, sealed);
      release(sealed);
    };
  }

  /** Throws if uploaded parts are missing; the sender then uploads all again. */
  demand(answers: number, names: readonly string[]): void {
    if (answers === 0 && names.length === 0) return;
    this.#sql.exec(SealedRows.texts + SealedRows.answers);
    const found = this.#positions().length;
    if (found !== answers) throw new Error(`${found} of ${answers} answers were uploaded.`);
    for (const name of names) {
      if (!hasRow(this.#sql, "SELECT 1 FROM texts WHERE name = ?", name))
        throw new Error(`The text ${name} was not uploaded.`);
    }
  }

  async text(name: string): Promise<unknown> {
    const rows = this.#sql
      .exec<Row>("SELECT part, bytes FROM texts WHERE name = ? ORDER BY part", name)
      .toArray();
    if (rows[0] === undefined) return undefined;
    const head = headOf(new Uint8Array(rows[0].bytes));
    const known = this.#known.get(name);
    if (known?.head === head) return JSON.parse(known.json);
    const value = await this.#open(rows);
    this.#keep(name, head, value);
    return value;
  }

  #keep(name: string, head: string, value: unknown): void {
    if (!this.#kept.includes(name)) return;
    const json = smallText(value, KEPT);
    if (json === undefined) this.#known.delete(name);
    else this.#known.set(name, { head, json });
  }

  forget(name: string): void {
    this.#put("texts", name, []);
  }

  /** All answers in order, or the first `most`. Opens one at a time, to save memory. */
  async answers(most = Infinity): Promise<JournalEntry[]> {
    const entries: JournalEntry[] = [];
    for (const position of this.#positions().slice(0, most)) {
      const entry = await this.#answer(position);
      if (entry === undefined) break; // All were deleted meanwhile.
      entries.push(entry);
    }
    return entries;
  }

  /** The number of answers, and the newest one. */
  async newest(): Promise<{ count: number; entry: JournalEntry | undefined }> {
    const positions = this.#positions();
    const last = positions.at(-1);
    const entry = last === undefined ? undefined : await this.#answer(last);
    return { count: positions.length, entry };
  }

  #positions(): number[] {
    return this.#sql
      .exec<{ position: number }>("SELECT DISTINCT position FROM answers ORDER BY position")
      .toArray()
      .map(({ position }) => position);
  }

  async #answer(position: number): Promise<JournalEntry | undefined> {
    const rows = this.#sql
      .exec<Row>("SELECT part, bytes FROM answers WHERE position = ? ORDER BY part", position)
      .toArray();
    return rows.length === 0 ? undefined : ((await this.#open(rows)) as JournalEntry);
  }

  /** The stored rows of nested calls; the announced requests last. */
  async innerRows(): Promise<InnerRow[]> {
    if (!hasTable(this.#sql, "inner_rows")) return [];
    const places = this.#sql
      .exec<{ place: string; position: number }>(
        "SELECT DISTINCT place, position FROM inner_rows WHERE part >= 0 ORDER BY place, position",
      )
      .toArray();
    const rows: InnerRow[] = [];
    for (const { place, position } of places) {
      const parts = this.#sql
        .exec<Row>(
          "SELECT part, bytes FROM inner_rows WHERE place = ? AND position = ? AND part >= 0 ORDER BY part",
          place,
          position,
        )
        .toArray();
      rows.push({ place, position, value: (await this.#open(parts)) as InnerRow["value"] });
    }
    const announced = this.#sql
      .exec<Row & Omit<InnerRow, "value">>(
        "SELECT place, position, part, bytes FROM inner_rows WHERE part = -1",
      )
      .toArray();
    for (const { place, position, bytes } of announced) {
      const key = new TextDecoder().decode(bytes);
      rows.push({ place, position, value: { position, key } });
    }
    return rows;
  }

  /**
   * Deletes the rows of nested calls. If the call waits, its record has them, and only the announced requests are kept.
   */
  clearInner(isWaiting = false): void {
    if (!hasTable(this.#sql, "inner_rows")) return;
    this.#sql.exec(`DELETE FROM inner_rows WHERE part >= ${isWaiting ? 0 : -1}`);
  }

  #putInner({ place, position }: InnerRow, parts: Parts): void {
    this.#sql.exec(SealedRows.inner);
    const inside = "place > ? || '/' AND place < ? || '0'";
    this.#sql.exec(`DELETE FROM inner_rows WHERE ${inside}`, place, place);
    this.#sql.exec("DELETE FROM inner_rows WHERE place = ? AND position = ?", place, position);
    for (const [nth, part] of parts.entries()) {
      this.#sql.exec("INSERT INTO inner_rows VALUES (?, ?, ?, ?)", place, position, nth, part);
      release(part);
    }
  }

  #intendInner(place: string, position: number, key: string): boolean {
    this.#sql.exec(SealedRows.inner);
    const query =
      "SELECT part, bytes FROM inner_rows WHERE place = ? AND position = ? AND part = -1";
    const before = firstRow(this.#sql.exec<Row>(query, place, position));
    const digest = new TextEncoder().encode(key);
    this.#sql.exec(
      "INSERT OR REPLACE INTO inner_rows VALUES (?, ?, -1, ?)",
      place,
      position,
      digest,
    );
    return before !== undefined && new TextDecoder().decode(before.bytes) === key;
  }

  /**
   * Records that the request with this key is about to be sent at this position, in a nested call if there is a place;
   * true if it was recorded before.
   */
  intend(position: number, key: string, place?: string): boolean {
    if (place !== undefined) return this.#intendInner(place, position, key);
    const query = "SELECT digest FROM intents WHERE position = ?";
    const before = firstRow(this.#sql.exec<{ digest: string }>(query, position));
    this.#sql.exec("INSERT OR REPLACE INTO intents VALUES (?, ?)", position, key);
    return before?.digest === key;
  }

  /** Deletes the record of the request at this position. */
  withdraw(position: number, place?: string): void {
    if (place !== undefined) {
      if (!hasTable(this.#sql, "inner_rows")) return;
      const one = "place = ? AND position = ? AND part = -1";
      this.#sql.exec(`DELETE FROM inner_rows WHERE ${one}`, place, position);
      return;
    }
    this.#sql.exec("DELETE FROM intents WHERE position = ?", position);
  }

  /** The recorded requests without an answer. */
  intents(): Announced[] {
    return this.#sql
      .exec<{ position: number; digest: string }>("SELECT position, digest FROM intents")
      .toArray()
      .map(({ position, digest }) => ({ position, key: digest }));
  }

  /** Deletes all answers and, with `but`, all texts except these. */
  clear(but?: readonly string[]): void {
    this.#sql.exec("DELETE FROM answers");
    this.#sql.exec("DELETE FROM intents");
    this.clearInner();
    const names = but?.map(() => "?").join();
    if (but) this.#sql.exec(`DELETE FROM texts WHERE name NOT IN (${names})`, ...but);
  }

  #put(table: "texts" | "answers", key: string | number, parts: Parts): void {
    this.#sql.exec(
      `DELETE FROM ${table} WHERE ${table === "texts" ? "name" : "position"} = ?`,
      key,
    );
    for (const [nth, part] of parts.entries()) {
      this.#sql.exec(`INSERT INTO ${table} VALUES (?, ?, ?)`, key, nth, part);
      release(part);
    }
  }

  #seal(value: unknown): Promise<Parts> {
    return sealParts(this.#sealer, partsOf([value]));
  }

  async #open(rows: Row[]): Promise<unknown> {
    const sealed = rows.map(({ bytes }) => new Uint8Array(bytes));
    const [value] = await valuesIn(openParts(this.#sealer, sealed, sealed.length));
    return value;
  }
}

const headOf = (sealed: Uint8Array): string => sealed.subarray(0, SEALED_HEAD).toHex();

type Parts = readonly Uint8Array<ArrayBuffer>[];

interface Row extends Record<string, SqlStorageValue> {
  part: number;
  bytes: ArrayBuffer;
}
