import { limits } from "../limits.ts";

/** What has happened to a task, without anything that callers gave or got. */

export const HISTORY_TABLE =
  "CREATE TABLE IF NOT EXISTS history (at INTEGER NOT NULL, what TEXT NOT NULL);";

/** A change of a task: `run` where a run has begun, else its new status. */
export interface TaskChange extends Record<string, SqlStorageValue> {
  /** Unix time in ms. */
  at: number;
  what: string;
}

/** Notes a change. Of too many the oldest are forgotten. */
export function note(sql: SqlStorage, what: string): void {
  sql.exec("INSERT INTO history VALUES (?, ?)", Date.now(), what);
  const last = "(SELECT MAX(rowid) FROM history)";
  sql.exec(`DELETE FROM history WHERE rowid <= ${last} - ?`, limits.shownEntries);
}

/** All that were noted, in order. */
export const historyIn = (sql: SqlStorage): TaskChange[] =>
  sql.exec<TaskChange>("SELECT at, what FROM history ORDER BY rowid").toArray();
