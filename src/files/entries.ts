import { entryCodec, type Entry } from "./records.ts";
import { Table, type Backing } from "./table.ts";

/** Changed names in memory that are sorted for each page of a list; more are staged first. */
const SORTED = 200;

/** An entry, and where it stands in its folder's order: listing goes on after it. */
export interface Listed extends Entry {
  position: bigint;
}

/**
 * The names in all folders. They are found, and ordered, by a keyed hash: a folder of any size is neither
 * loaded nor scanned, and a list goes on where it was although names come and go.
 */
export class Entries extends Table<string, Entry> {
  constructor(backing: Backing) {
    super("file_entries", entryCodec, backing);
    this.#tag = (folder, name) => backing.sealing.tag(name, String(folder));
  }

  readonly #tag: (folder: number, name: string) => string;

  key(folder: number, name: string): string {
    this.countSealing(name.length);
    return `${folder}/${this.#tag(folder, name)}`;
  }

  /** At most `count` entries of a folder after a position, in their order; 0n is before the first. */
  list(folder: number, after: bigint, count: number): Listed[] {
    if (this.changed.size > SORTED) this.stageAll();
    // All hashes that begin with the position are before `~`, and all of the folder before `0`, which follows `/`.
    const begin = `${folder}/${after.toString(16).padStart(16, "0")}~`;
    const end = `${folder}0`;
    const own = this.changed.values().filter((key) => key > begin && key < end);
    const hidden = new Map(own.map((key) => [key, this.memory.get(key)!.value]));
    const rows = this.#stored(begin, end, count + hidden.size).filter(([key]) => !hidden.has(key));
    const isWhole = rows.length < count;
    const last = rows.at(count - 1)?.[0];
    const added = [...hidden].flatMap(([key, value]) =>
      value !== undefined && (isWhole || key <= last!) ? [[key, value] as const] : [],
    );
    return [...rows, ...added]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .slice(0, count)
      .map(([key, entry]) => ({ ...entry, position: positionOf(key) }));
  }

  #stored(begin: string, end: string, count: number): (readonly [string, Entry])[] {
    const base = "SELECT key, value FROM file_entries AS stored WHERE key > ?1 AND key < ?2";
    const query = this.hasStaged
      ? `SELECT key, value FROM file_entries_staged WHERE key > ?1 AND key < ?2 AND value IS NOT NULL
         UNION ALL ${base} AND NOT EXISTS (SELECT 1 FROM file_entries_staged AS staged WHERE staged.key = stored.key)`
      : base;
    return this.exec(`${query} ORDER BY key LIMIT ?3`, begin, end, count).map((row) => {
      const key = row["key"] as string;
      return [key, this.open(key, row["value"])] as const;
    });
  }
}

/** The first 16 hex digits of the hash: of 100,000 names, two have the same with a chance of one in 10^9. */
const positionOf = (key: string): bigint => {
  const begin = key.indexOf("/") + 1;
  return BigInt(`0x${key.slice(begin, begin + 16)}`);
};
