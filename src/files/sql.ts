/** The synchronous SQL of a database of its own: `ctx.storage.sql` of a Durable Object is one. */
export interface Sql {
  exec(query: string, ...bindings: SqlValue[]): { toArray(): Record<string, unknown>[] };
}

export type SqlValue = string | number | Uint8Array | null;
