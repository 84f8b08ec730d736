/** The first of these rows. */
export const firstRow = <T extends Record<string, SqlStorageValue>>(
  rows: SqlStorageCursor<T>,
): T | undefined => rows.toArray()[0];

/** True if this query has a row. */
export const hasRow = (sql: SqlStorage, query: string, ...values: SqlStorageValue[]): boolean =>
  firstRow(sql.exec(query, ...values)) !== undefined;

/** True if the object has made this table. */
export const hasTable = (sql: SqlStorage, name: string): boolean =>
  hasRow(sql, "SELECT 1 FROM sqlite_master WHERE name = ?", name);

/**
 * Decides at random whether to trim a table that may have `most` rows, after `added` of them were added: on average once
 * for every tenth of `most`. Trimming reads the whole table, and keeping a count instead would write a row each time.
 */
export const isDue = (added: number, most: number): boolean => Math.random() * most < added * 10;
