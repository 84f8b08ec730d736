import { firstRow, hasTable } from "../../kernel/storage/tables.ts";
import type { StateSealing } from "./state-sealing.ts";

const TABLE =
  "CREATE TABLE IF NOT EXISTS documents (name TEXT PRIMARY KEY, revision INTEGER NOT NULL, bytes BLOB NOT NULL) WITHOUT ROWID";

/** A text that a feature keeps beside the state of a servlet. */
export interface StateDocument {
  text: string;
  /** Goes up with each change. */
  revision: number;
}

/**
 * Texts that features keep beside the state of a servlet in one scope, sealed; one for each feature. They are neither memory
 * nor files of the servlet: they last when these are reset, and when the servlet changes.
 */
export class StateDocuments {
  readonly #sql: SqlStorage;
  readonly #sealing: StateSealing;

  constructor(sql: SqlStorage, sealing: StateSealing) {
    this.#sql = sql;
    this.#sealing = sealing;
  }

  /** The document of this name; undefined if there is none. Throws if it cannot be opened. */
  async read(name: string): Promise<StateDocument | undefined> {
    if (!hasTable(this.#sql, "documents")) return undefined;
    const row = firstRow(
      this.#sql.exec<{ revision: number; bytes: ArrayBuffer }>(
        "SELECT revision, bytes FROM documents WHERE name = ?",
        name,
      ),
    );
    if (row === undefined) return undefined;
    const opened = await this.#sealing.open(new Uint8Array(row.bytes), `document ${name}`);
    return { text: new TextDecoder().decode(opened), revision: row.revision };
  }

  seal(name: string, text: string): Promise<Uint8Array> {
    return this.#sealing.seal(new TextEncoder().encode(text), `document ${name}`);
  }

  /** Stores a sealed document in place of the one with this revision, 0 for none. False if there is another one by now. */
  replace(name: string, revision: number, sealed: Uint8Array): boolean {
    this.#sql.exec(TABLE);
    const query =
      revision === 0
        ? "INSERT OR IGNORE INTO documents (name, bytes, revision) VALUES (?1, ?2, ?3 + 1)"
        : "UPDATE documents SET bytes = ?2, revision = ?3 + 1 WHERE name = ?1 AND revision = ?3";
    return this.#sql.exec(query, name, sealed, revision).rowsWritten > 0;
  }
}

/** Bytes of the documents of an object; without that of a name. */
export const documentBytes = (sql: SqlStorage, without = ""): number =>
  hasTable(sql, "documents")
    ? sql
        .exec<{ sum: number }>(
          "SELECT total(length(bytes)) AS sum FROM documents WHERE name <> ?",
          without,
        )
        .one().sum
    : 0;
