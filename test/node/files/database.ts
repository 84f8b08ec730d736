import { FileStore } from "../../../src/files/file-store.ts";
import { sealingWith } from "../../../src/files/sealing.ts";
import { Database as TestDatabase } from "../../../src/testing/database.ts";

export class Database extends TestDatabase {
  transaction(change: () => void): void {
    this.transactionSync(change);
  }

  /** Rows of a table. */
  count(table: string): number {
    return this.exec(`SELECT count(*) AS rows FROM ${table}`).toArray()[0]!["rows"] as number;
  }
}

export const sealing = sealingWith(new Uint8Array(32).fill(7));

/** A scope's files in a database of their own. */
export function newStore(database = new Database()): { database: Database; store: FileStore } {
  return { database, store: new FileStore(database, sealing) };
}
