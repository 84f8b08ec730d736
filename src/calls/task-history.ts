import { limits } from "../core/limits.ts";

/** The history of a task: when it ran and changed, without what callers gave or got. */

export const HISTORY_TABLE = "CREATE TABLE history (at INTEGER NOT NULL, what TEXT NOT NULL);";

export interface TaskChange extends Record<string, SqlStorageValue> {
  /** Unix time in ms. */
  at: number;
  /** `run` for the start of a run, otherwise the new status. */
  what: string;
}

/** Records a change, and drops the oldest above `limits.shownEntries`. */
export function note(sql: SqlStorage, what: string): void {
  sql.exec("INSERT INTO history VALUES (?, ?)", Date.now(), what);
  const last = "(SELECT MAX(rowid) FROM history)";
  sql.exec(`DELETE FROM history WHERE rowid <= ${last} - ?`, limits.shownEntries);
}

/** All recorded changes, in order. */
export const historyIn = (sql: SqlStorage): TaskChange[] =>
  sql.exec<TaskChange>("SELECT at, what FROM history ORDER BY rowid").toArray();
