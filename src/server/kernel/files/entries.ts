import { entryCodec, type FolderEntry } from "./records.ts";
import { Table, type Backing } from "./table.ts";

/** Changed names in memory that are sorted for each page of a list; more are staged first. */
const SORTED = 200;

/** An entry, and where it stands in its folder's order: listing goes on after it. */
export interface PositionedEntry extends FolderEntry {
  position: bigint;
}

/**
 * The names in all folders. They are found, and ordered, by a keyed hash: a folder of any size is neither
 * loaded nor scanned, and a list goes on where it was although names come and go.
 */
export class Entries extends Table<string, FolderEntry> {
  constructor(backing: Backing) {
    super("file_entries", entryCodec, backing);
  }

  key(folder: number, name: string): string {
    this.countSealing(name.length);
    return `${folder}/${this.backing.sealing.tag(name, String(folder))}`;
  }

  /** At most `count` entries of a folder after a position, in their order; 0n is before the first. */
  list(folder: number, after: bigint, count: number): PositionedEntry[] {
    if (this.changed.size > SORTED) this.stageAll();
    // All hashes that begin with the position are before `~`, and all of the folder before `0`, which follows `/`.
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
      // Of rows with one key, the newest layer's is first.
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

  /** The rows of one table in the order of their keys, also of names that are gone: each is paid for. */
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

/** A row of a folder: an entry, one that is still sealed, or neither where the name is gone. */
interface Row {
  key: string;
  entry?: FolderEntry | undefined;
  sealed?: unknown;
}

/** The first 16 hex digits of the hash: of 100,000 names, two have the same with a chance of one in 10^9. */
const positionOf = (key: string): bigint => {
  const begin = key.indexOf("/") + 1;
  return BigInt(`0x${key.slice(begin, begin + 16)}`);
};
