/** The first row of this query. */
export const rowOf = <T extends Record<string, SqlStorageValue>>(
  sql: SqlStorage,
  query: string,
  ...values: SqlStorageValue[]
): T | undefined => sql.exec<T>(query, ...values).toArray()[0];

/** True if this query has a row. */
export const hasRow = (sql: SqlStorage, query: string, ...values: SqlStorageValue[]): boolean =>
  rowOf(sql, query, ...values) !== undefined;

/** True if the object has made this table. */
export const hasTable = (sql: SqlStorage, name: string): boolean =>
  hasRow(sql, "SELECT 1 FROM sqlite_master WHERE name = ?", name);
