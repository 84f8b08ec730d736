import { FileStore } from "../../../src/server/kernel/files/file-store.ts";
import { sealingWith } from "../../../src/server/kernel/files/sealing.ts";
import { Database as TestDatabase } from "../../../src/tools/bundle/database.ts";

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

/** Numbers of a generator that repeats itself (mulberry32). */
export function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}
