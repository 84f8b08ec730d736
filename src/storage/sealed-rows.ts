import type { Announced, Entry } from "../core/record.ts";
import { partsOf, release, valuesIn, type Part } from "../core/parts.ts";
import { hasRow } from "./tables.ts";
import { openParts, sealPart, sealParts, type Place, type Sealer } from "./vault.ts";

/** Values that `prepare` writes together. */
export interface Writes {
  /** Values by name; null deletes one. */
  texts?: Record<string, unknown>;
  answers?: readonly (readonly [position: number, entry: Entry])[];
}

/** Older versions cut one sealed value at each multiple of this, and numbered the parts by byte. */
const OLD_PART = 1024 * 1024;

/** Named values and a call's answers in an object's SQLite, sealed and in parts. */
export class SealedRows {
  readonly #sql: SqlStorage;
  readonly #sealer: Sealer;

  constructor(sql: SqlStorage, sealer: Sealer) {
    this.#sql = sql;
    this.#sealer = sealer;
  }

  static readonly texts = `
CREATE TABLE IF NOT EXISTS texts (name TEXT NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (name, part));
`;
  static readonly answers = `
CREATE TABLE IF NOT EXISTS answers (position INTEGER NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (position, part));
CREATE TABLE IF NOT EXISTS intents (position INTEGER PRIMARY KEY, digest TEXT NOT NULL);
`;

  /** Encrypts the values and returns a synchronous function that writes them, for use in a transaction. */
  async prepare({ texts = {}, answers = [] }: Writes): Promise<() => void> {
    const sealedTexts: [string, Parts | null][] = [];
    for (const [name, value] of Object.entries(texts)) {
      sealedTexts.push([name, value === null ? null : await this.#seal(value)]);
    }
    const sealedAnswers: [number, Parts][] = [];
    for (const [position, entry] of answers) {
      sealedAnswers.push([position, await this.#seal(entry)]);
    }
    return () => {
      for (const [name, parts] of sealedTexts) this.#put("texts", name, parts ?? []);
      for (const [position, parts] of sealedAnswers) {
        this.#put("answers", position, parts);
        this.#sql.exec("DELETE FROM intents WHERE position = ?", position);
      }
    };
  }

  /** The same for one part of a text or an answer. */
  async preparePart(key: string | number, part: Part & Place): Promise<() => void> {
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
    return rows.length === 0 ? undefined : this.#open(rows);
  }

  forget(name: string): void {
    this.#put("texts", name, []);
  }

  /** All answers in order, or the first `most`. Opens one at a time, to save memory. */
  async answers(most = Infinity): Promise<Entry[]> {
    const entries: Entry[] = [];
    for (const position of this.#positions().slice(0, most)) {
      const entry = await this.#answer(position);
      if (entry === undefined) break; // All were deleted meanwhile.
      entries.push(entry);
    }
    return entries;
  }

  /** How many answers there are, and the newest. */
  async newest(): Promise<{ count: number; entry: Entry | undefined }> {
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

  async #answer(position: number): Promise<Entry | undefined> {
    const rows = this.#sql
      .exec<Row>("SELECT part, bytes FROM answers WHERE position = ? ORDER BY part", position)
      .toArray();
    return rows.length === 0 ? undefined : ((await this.#open(rows)) as Entry);
  }

  /** Records that the request with this key is about to be sent at this position; true if it was recorded before. */
  intend(position: number, key: string): boolean {
    const before = this.#sql
      .exec<{ digest: string }>("SELECT digest FROM intents WHERE position = ?", position)
      .toArray()[0];
    this.#sql.exec("INSERT OR REPLACE INTO intents VALUES (?, ?)", position, key);
    return before?.digest === key;
  }

  /** The recorded requests without an answer. */
  intents(): Announced[] {
    return this.#sql
      .exec<{ position: number; digest: string }>("SELECT position, digest FROM intents")
      .toArray()
      .map(({ position, digest }) => ({ position, key: digest }));
  }

  /** Deletes all answers and, if `but` is given, all other texts. */
  clear(but?: readonly string[]): void {
    this.#sql.exec("DELETE FROM answers");
    this.#sql.exec("DELETE FROM intents");
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
    const isOld = rows[1]?.part === OLD_PART;
    const parts = isOld ? [await new Blob(rows.map(bytesOf)).arrayBuffer()] : rows.map(bytesOf);
    const sealed = parts.map((part) => new Uint8Array(part));
    const [value] = await valuesIn(openParts(this.#sealer, sealed, sealed.length));
    return value;
  }
}

const bytesOf = ({ bytes }: Row): ArrayBuffer => bytes;

type Parts = readonly Uint8Array<ArrayBuffer>[];

interface Row extends Record<string, SqlStorageValue> {
  part: number;
  bytes: ArrayBuffer;
}
