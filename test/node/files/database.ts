import { DatabaseSync, type StatementSync } from "node:sqlite";
import { FileStore } from "../../../src/files/file-store.ts";
import { sealingWith } from "../../../src/files/sealing.ts";
import type { Sql, SqlValue } from "../../../src/files/sql.ts";

/** A database of Node's SQLite with the interface of a Durable Object's. */
export class Database implements Sql {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(path = ":memory:") {
    this.#database = new DatabaseSync(path);
  }

  exec(query: string, ...bindings: SqlValue[]): { toArray(): Record<string, unknown>[] } {
    let statement = this.#statements.get(query);
    if (statement === undefined) {
      statement = this.#database.prepare(query);
      this.#statements.set(query, statement);
    }
    const rows = statement.all(...bindings) as Record<string, unknown>[];
    return { toArray: () => rows };
  }

  /** `transactionSync` of a Durable Object. */
  transaction(change: () => void): void {
    this.#database.exec("BEGIN");
    try {
      change();
      this.#database.exec("COMMIT");
    } catch (error) {
      this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  /** Rows of a table. */
  count(table: string): number {
    return this.exec(`SELECT count(*) AS rows FROM ${table}`).toArray()[0]!["rows"] as number;
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }
}

export const sealing = sealingWith(new Uint8Array(32).fill(7));

/** A scope's files in a database of their own. */
export function newStore(database = new Database()): { database: Database; store: FileStore } {
  return { database, store: new FileStore(database, sealing) };
}
