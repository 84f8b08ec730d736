import type { Announced, Entry } from "../model.ts";
import type { Sealer } from "./vault.ts";

/** What is written at once, or not at all. */
export interface Writes {
  /** Values by name; null to forget one. */
  texts?: Record<string, unknown>;
  answers?: readonly (readonly [position: number, entry: Entry])[];
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A row may have 2 MB: https://developers.cloudflare.com/durable-objects/platform/limits/ */
const PART = 1024 * 1024;

/** Thrown for what is stored and cannot be opened any more, now or later: the key that sealed it is gone. */
export class Unreadable extends Error {
  override name = "Unreadable";
  constructor() {
    super("what is stored can no longer be opened: the key that sealed it is gone");
  }
}

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

  /** Seals everything, then gives what writes it: that waits for nothing, so it fits into a transaction. */
  async prepare({ texts = {}, answers = [] }: Writes): Promise<() => void> {
    const sealed = async <K>([key, value]: readonly [K, unknown]) =>
      [key, value === null ? null : await this.#seal(value)] as const;
    const sealedTexts = await Promise.all(Object.entries(texts).map(sealed));
    const sealedAnswers = await Promise.all(answers.map(sealed));
    return () => {
      for (const [name, bytes] of sealedTexts) this.#put("texts", name, bytes);
      for (const [position, bytes] of sealedAnswers) {
        this.#put("answers", position, bytes);
        this.#sql.exec("DELETE FROM intents WHERE position = ?", position);
      }
    };
  }

  async text(name: string): Promise<unknown> {
    const rows = this.#sql
      .exec<{ bytes: ArrayBuffer }>("SELECT bytes FROM texts WHERE name = ? ORDER BY part", name)
      .toArray();
    return rows.length === 0 ? undefined : this.#open(rows);
  }

  forget(name: string): void {
    this.#put("texts", name, null);
  }

  /** In their order. */
  async answers(): Promise<Entry[]> {
    const rows = this.#sql
      .exec<{ position: number; bytes: ArrayBuffer }>(
        "SELECT position, bytes FROM answers ORDER BY position, part",
      )
      .toArray();
    const entries: Entry[] = [];
    for (const parts of Map.groupBy(rows, ({ position }) => position).values()) {
      entries.push((await this.#open(parts)) as Entry);
    }
    return entries;
  }

  /** Notes that the request with this key is about to be sent for this position; true where that was noted before. */
  intend(position: number, key: string): boolean {
    const before = this.#sql
      .exec<{ digest: string }>("SELECT digest FROM intents WHERE position = ?", position)
      .toArray()[0];
    this.#sql.exec("INSERT OR REPLACE INTO intents VALUES (?, ?)", position, key);
    return before?.digest === key;
  }

  /** The requests that were noted and have no answer. */
  intents(): Announced[] {
    return this.#sql
      .exec<{ position: number; digest: string }>("SELECT position, digest FROM intents")
      .toArray()
      .map(({ position, digest }) => ({ position, key: digest }));
  }

  /** Forgets all answers, or everything. */
  clear(what?: "answers"): void {
    for (const table of ["answers", "intents", ...(what === undefined ? ["texts"] : [])]) {
      this.#sql.exec(`DELETE FROM ${table}`);
    }
  }

  #put(table: "texts" | "answers", key: string | number, bytes: Uint8Array | null): void {
    this.#sql.exec(
      `DELETE FROM ${table} WHERE ${table === "texts" ? "name" : "position"} = ?`,
      key,
    );
    for (let at = 0; at < (bytes?.length ?? 0); at += PART) {
      this.#sql.exec(`INSERT INTO ${table} VALUES (?, ?, ?)`, key, at, bytes!.slice(at, at + PART));
    }
  }

  #seal(value: unknown): Promise<Uint8Array> {
    return this.#sealer.seal(new Uint8Array(encoder.encode(JSON.stringify(value))));
  }

  async #open(rows: { bytes: ArrayBuffer }[]): Promise<unknown> {
    const bytes = await new Blob(rows.map((one) => one.bytes)).arrayBuffer();
    const opened = await this.#sealer.open(new Uint8Array(bytes));
    if (opened === undefined) throw new Unreadable();
    return JSON.parse(decoder.decode(opened)) as unknown;
  }
}
