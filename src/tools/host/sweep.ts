/** Gives back the files of Durable Objects that have ended, of which workerd keeps an empty database for ever. */
import type { DatabaseSync } from "node:sqlite";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/** The database of an object itself: its id, as workerd names the file. Facets have a number behind it. */
const OBJECT = /^([0-9a-f]{64})\.sqlite$/;
/** An emptied database has a few pages: larger ones need not be opened. */
const EMPTY_BYTES = 32 * 1024;

/**
 * Deletes the databases in which nothing is stored, neither a row nor an alarm: an object without a file begins the same.
 * Returns how many. No server may run: it would go on with the deleted file. One that cannot be read is kept, and so is an
 * object with facets.
 */
export async function sweepEnded(objects: string): Promise<number> {
  // Node before 22.13 has no SQLite: then all files are kept.
  const sqlite = await import("node:sqlite").catch(() => undefined);
  if (sqlite === undefined) return 0;
  let swept = 0;
  for (const entry of await readdir(objects, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const folder = join(objects, entry.name);
    const names = await readdir(folder);
    const withFacets = new Set(
      names.flatMap((name) => /^([0-9a-f]{64})\.(?:facets|\d)/.exec(name)?.[1] ?? []),
    );
    for (const name of names) {
      const id = OBJECT.exec(name)?.[1];
      if (id === undefined || withFacets.has(id)) continue;
      const path = join(folder, name);
      if ((await stat(path)).size > EMPTY_BYTES || !isEmpty(path, sqlite.DatabaseSync)) continue;
      // The log last: a database without its log could be an older one.
      for (const suffix of ["", "-wal", "-shm"]) await rm(path + suffix, { force: true });
      swept++;
    }
  }
  return swept;
}

/** True for a database whose tables have no rows. Opening it replays its log, if its server was killed. */
function isEmpty(path: string, Database: typeof DatabaseSync): boolean {
  let database: DatabaseSync | undefined;
  try {
    database = new Database(path);
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    return tables.every(({ name }) => {
      const quoted = `"${String(name).replaceAll('"', '""')}"`;
      return database!.prepare(`SELECT 1 FROM ${quoted} LIMIT 1`).get() === undefined;
    });
  } catch {
    return false;
  } finally {
    database?.close();
  }
}
