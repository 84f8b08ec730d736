/** The synchronous SQL of a database of its own: `ctx.storage.sql` of a Durable Object is one. */
export interface Sql {
  /** Runs one statement; its rows are read as they are needed. */
  exec(query: string, ...bindings: SqlValue[]): Iterable<SqlRow> & { toArray(): SqlRow[] };
}

export type SqlValue = string | number | Uint8Array | null;

export type SqlRow = Record<string, unknown>;
