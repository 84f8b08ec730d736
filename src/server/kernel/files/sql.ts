/** The synchronous SQL interface of one database, such as `ctx.storage.sql` of a Durable Object. */
export interface Sql {
  /** Runs one statement; its rows are read as needed. */
  exec(query: string, ...bindings: SqlValue[]): Iterable<SqlRow> & { toArray(): SqlRow[] };
}

export type SqlValue = string | number | Uint8Array | null;

export type SqlRow = Record<string, unknown>;
