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
 * True for one in some additions to a table of at most `most` rows: once for each tenth of them. So it is not read whole
 * at each, and no count of its rows is kept, which would be written each time.
 */
export const isDue = (added: number, most: number): boolean => Math.random() * most < added * 10;
