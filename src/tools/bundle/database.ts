import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { SqlRow, Sql, SqlValue } from "../../server/kernel/files/sql.ts";

/** A database of Node's SQLite with the interface of a Durable Object's. */
export class Database implements Sql {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(path = ":memory:") {
    this.#database = new DatabaseSync(path);
  }

  get sql(): Sql {
    return this;
  }

  exec(query: string, ...bindings: SqlValue[]) {
    const prepare = () => this.#database.prepare(query);
    const statement = this.#statements.getOrInsertComputed(query, prepare);
    const rows = statement.all(...bindings) as SqlRow[];
    return Object.assign(rows, { toArray: () => rows });
  }

  transactionSync(change: () => void): void {
    this.#database.exec("BEGIN");
    try {
      change();
      this.#database.exec("COMMIT");
    } catch (error) {
      this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }
}
