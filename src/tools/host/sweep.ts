/** Deletes the files of deleted Durable Objects: workerd keeps an empty database for each. */
import type { DatabaseSync } from "node:sqlite";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/** Name of an object's own database: its id. Databases of facets have a number after the id. */
const OBJECT = /^([0-9a-f]{64})\.sqlite$/;
/** Maximum size of an empty database, which has a few pages. Larger ones need not be opened. */
const EMPTY_BYTES = 32 * 1024;

/**
 * Deletes the databases that contain no rows, including alarms: an object without a file starts equally empty. Returns
 * the number of deleted databases. Keeps unreadable databases, and objects with facets. No server may be running: it
 * would continue to use the deleted files.
 */
export async function sweepEnded(objects: string): Promise<number> {
  // Node before 22.13 has no SQLite: keep all files.
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
      // Delete the database before its log: without its log, a database could be in an older state.
      for (const suffix of ["", "-wal", "-shm"]) await rm(path + suffix, { force: true });
      swept++;
    }
  }
  return swept;
}

/** True if no table of the database has rows. Opening it replays the log of a killed server. */
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
