import { entryCodec, type FolderEntry } from "./records.ts";
import { Table, type Backing } from "./table.ts";

/** Changed names in memory that are sorted for each page of a list; more are staged first. */
const SORTED = 200;

/** An entry and its position in its folder's order, after which a listing can continue. */
export interface PositionedEntry extends FolderEntry {
  position: bigint;
}

/**
 * The names in all folders. They are found and ordered by a keyed hash: a folder of any size is neither loaded nor
 * scanned, and a listing continues at its position while names come and go.
 */
export class Entries extends Table<string, FolderEntry> {
  constructor(backing: Backing) {
    super("file_entries", entryCodec, backing);
  }

  key(folder: number, name: string): string {
    this.countSealing(name.length);
    return `${folder}/${this.backing.sealing.tag(name, String(folder))}`;
  }

  /** At most `count` entries of a folder after a position, in order; 0n is before the first. */
  list(folder: number, after: bigint, count: number): PositionedEntry[] {
    if (this.changed.size > SORTED) this.stageAll();
    // All hashes with this prefix sort before `~`, and all entries of the folder before `0`, which follows `/`.
    const begin = `${folder}/${after.toString(16).padStart(16, "0")}~`;
    const end = `${folder}0`;
    const own = this.changed
      .values()
      .filter((key) => key > begin && key < end)
      .toArray()
      .toSorted()
      .map((key): Row => ({ key, entry: this.memory.get(key)!.value }));
    this.backing.work.lookUps += own.length;
    const layers = [
      own.values(),
      ...(this.hasStaged ? [this.#rows("file_entries_staged", begin, end, count)] : []),
      this.#rows("file_entries", begin, end, count),
    ];
    const next = layers.map((layer) => layer.next().value);
    const listed: PositionedEntry[] = [];
    while (listed.length < count) {
      let first: Row | undefined;
      // Of rows with the same key, the newest layer's is first.
      for (const row of next) if (row && (first === undefined || row.key < first.key)) first = row;
      if (first === undefined) break;
      const { key } = first;
      for (const [nth, row] of next.entries()) {
        if (row?.key === key) next[nth] = layers[nth]!.next().value;
      }
      const entry = first.sealed === undefined ? first.entry : this.open(key, first.sealed);
      if (entry !== undefined) listed.push({ ...entry, position: positionOf(key) });
    }
    return listed;
  }

  /** The rows of one table in key order, including deleted names. Each is charged. */
  *#rows(table: string, begin: string, end: string, count: number): Generator<Row, undefined> {
    for (let after = begin; ;) {
      const query = `SELECT key, value FROM ${table} WHERE key > ? AND key < ? ORDER BY key LIMIT ?`;
      const rows = this.exec(query, after, end, count);
      for (const { key, value } of rows) {
        yield { key: key as string, ...(value !== null && { sealed: value }) };
      }
      if (rows.length < count) return;
      after = rows.at(-1)!["key"] as string;
    }
  }
}

/** A row of a folder: an entry, a sealed entry, or neither if the name was deleted. */
interface Row {
  key: string;
  entry?: FolderEntry | undefined;
  sealed?: unknown;
}

/** The first 16 hex digits of the hash: among 100,000 names, a collision has a chance of one in 10^9. */
const positionOf = (key: string): bigint => {
  const begin = key.indexOf("/") + 1;
  return BigInt(`0x${key.slice(begin, begin + 16)}`);
};
