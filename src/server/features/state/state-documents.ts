import { firstRow, hasTable } from "../../kernel/storage/tables.ts";
import type { StateSealing } from "./state-sealing.ts";

const TABLE =
  "CREATE TABLE IF NOT EXISTS documents (name TEXT PRIMARY KEY, revision INTEGER NOT NULL, bytes BLOB NOT NULL) WITHOUT ROWID";

/** A text that a feature keeps beside the state of a servlet. */
export interface StateDocument {
  text: string;
  /** Increases with each change. */
  revision: number;
}

/**
 * Sealed texts that features keep beside the state of a servlet in one scope, one for each feature. They are not part of the
 * servlet's memory or files: they survive a reset of the state and a new build of the servlet.
 */
export class StateDocuments {
  readonly #sql: SqlStorage;
  readonly #sealing: StateSealing;

  constructor(sql: SqlStorage, sealing: StateSealing) {
    this.#sql = sql;
    this.#sealing = sealing;
  }

  /** The document with this name; undefined if there is none. Throws if it cannot be opened. */
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

  /** Replaces the document with this revision (0 for none). Returns false if the revision has changed since. */
  replace(name: string, revision: number, sealed: Uint8Array): boolean {
    this.#sql.exec(TABLE);
    const query =
      revision === 0
        ? "INSERT OR IGNORE INTO documents (name, bytes, revision) VALUES (?1, ?2, ?3 + 1)"
        : "UPDATE documents SET bytes = ?2, revision = ?3 + 1 WHERE name = ?1 AND revision = ?3";
    return this.#sql.exec(query, name, sealed, revision).rowsWritten > 0;
  }
}

/** Bytes of all documents of an object, except the one with the name `without`. */
export const documentBytes = (sql: SqlStorage, without = ""): number =>
  hasTable(sql, "documents")
    ? sql
        .exec<{ sum: number }>(
          "SELECT total(length(bytes)) AS sum FROM documents WHERE name <> ?",
          without,
        )
        .one().sum
    : 0;
