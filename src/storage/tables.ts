/** True if this query has a row. */
export const hasRow = (sql: SqlStorage, query: string, ...values: SqlStorageValue[]): boolean =>
  sql.exec(query, ...values).toArray().length > 0;

/** True if the object has made this table. */
export const hasTable = (sql: SqlStorage, name: string): boolean =>
  hasRow(sql, "SELECT 1 FROM sqlite_master WHERE name = ?", name);
