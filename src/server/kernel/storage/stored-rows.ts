/**
 * The stored state of a scope. All revealing data is sealed, so rows are copied unchanged to another database with the
 * same key.
 */
import { Fault } from "../core/errors.ts";
import type { Sql, SqlValue } from "../files/sql.ts";
import { limits } from "../core/limits.ts";

/** A table: its columns, the first of which is the key, and how many rows make about 1 MB. */
interface Table {
  name: string;
  columns: string[];
  count: number;
}

const ofFiles = (name: string, count: number): Table => ({
  name: `file_${name}`,
  columns: ["key", "value"],
  count,
});

const TABLES: Table[] = [
  { name: "state", columns: ["id", "hash", "bytes", "changed"], count: 1 },
  { name: "blocks", columns: ["nth", "bytes"], count: 256 },
  { name: "pieces", columns: ["row", "at", "bytes"], count: 16 },
  // The newest endings are the last ones inserted.
  { name: "ending_parts", columns: ["rowid", "seed", "nth", "bytes", "until"], count: 1 },
  ofFiles("nodes", 1000),
  ofFiles("entries", 1000),
  ofFiles("blocks", 256),
  ofFiles("totals", 1),
];

/** A row, with its key first. */
export type StoredRow = SqlValue[];

/** A position in the copying of a database. */
export interface Position {
  /** Index of a table; beyond the last table, copying is complete. */
  table: number;
  /** The key after which rows follow; absent for the first row. */
  after?: string | number;
  /** Bytes copied so far. */
  bytes: number;
}

export const FIRST_POSITION: Position = { table: 0, bytes: 0 };

export const isAtEnd = ({ table }: Position): boolean => table >= TABLES.length;

/** Some rows from a position on; none if its table has no more. */
export function rowsAt(sql: Sql, { table, after }: Position): StoredRow[] {
  const { name, columns, count } = TABLES[table]!;
  const [where, values] = after === undefined ? ["", []] : [`WHERE ${columns[0]} > ?`, [after]];
  const query = `SELECT ${columns.join()} FROM ${name} ${where} ORDER BY ${columns[0]} LIMIT ${count}`;
  const rows = sql.exec(query, ...values).toArray();
  return rows.map((row) => columns.map((column) => row[column] as SqlValue));
}

/** Stores rows of a table; replaces those with a known key. */
export function putRows(sql: Sql, { table }: Position, rows: readonly StoredRow[]): void {
  const { name, columns } = TABLES[table]!;
  const places = columns.map(() => "?").join();
  const statement = `INSERT OR REPLACE INTO ${name} (${columns.join()}) VALUES (${places})`;
  for (const row of rows) sql.exec(statement, ...row);
}

/**
 * The position after these rows. Throws `unavailable` if rows are out of order, do not fit the table, or are too large:
 * they may come from an isolate with a guest in it.
 */
export function positionAfter(at: Position, rows: readonly StoredRow[]): Position {
  const { columns, count } = TABLES[at.table]!;
  let { after, bytes } = at;
  for (const row of rows) {
    if (!Array.isArray(row) || row.length !== columns.length || !follows(row[0], after))
      throw foreign();
    after = row[0];
    bytes += row.reduce((sum: number, value) => sum + sizeOf(value), ROW_OVERHEAD);
  }
  if (rows.length > count || bytes > mostBytes()) throw foreign();
  return after === at.after
    ? { table: at.table + 1, bytes }
    : { table: at.table, after: after!, bytes };
}

const follows = (key: unknown, after: Position["after"]): key is string | number =>
  typeof key === "string"
    ? after === undefined || key > String(after)
    : Number.isSafeInteger(key) && (after === undefined || Number(key) > Number(after));

/** The size of a value. Throws if it is not a database value. */
function sizeOf(value: unknown): number {
  const isBytes = value instanceof ArrayBuffer || value instanceof Uint8Array;
  const isPlain = value === null || ["string", "number"].includes(typeof value);
  const size = isBytes ? value.byteLength : String(value).length;
  if (size > ROW_BYTES || !(isBytes || isPlain)) throw foreign();
  return size;
}

/** Approximate bytes of a row besides its values: without it, empty rows would be free. */
const ROW_OVERHEAD = 64;

/** The platform's limit for one row. */
const ROW_BYTES = 2 * 1024 * 1024;

/** A quarter more than the limits, for the overhead of rows. */
const mostBytes = () => 1.25 * (limits.fileBytes + limits.stateBytes + limits.endingBytes);

const foreign = () =>
  new Fault(
    "unavailable",
    "What this servlet keeps cannot be moved: it is not as it was stored. The server's operator can delete it: npm run servlets -- state delete",
  );
