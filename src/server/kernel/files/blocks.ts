import { blockCodec } from "./records.ts";
import { Table, type Backing } from "./table.ts";

/** Blocks that one file may have: 16 GiB, more than a Durable Object stores. */
export const MAX_BLOCKS = 2 ** 20;

/** How many truncated files are remembered in memory; beyond that, blocks are deleted one by one. */
const CUTS = 1000;

const nodeOf = (key: number): number => Math.floor(key / MAX_BLOCKS);

/** The blocks of all files. A missing block is a hole. */
export class Blocks extends Table<number, Uint8Array> {
  /** By file, the index from which blocks of earlier calls are gone. */
  readonly #cuts = new Map<number, number>();
  /** By file, the keys of its blocks in memory, and of its known holes. */
  readonly #held = new Map<number, Set<number>>();
  /** Truncations of the current atomic operation. */
  #marked: [node: number, from: number, before: number][] = [];

  constructor(backing: Backing) {
    super("file_blocks", blockCodec, backing);
  }

  static key = (node: number, index: number): number => node * MAX_BLOCKS + index;

  /** Deletes the blocks of a file from this index on; it has no block at `before` or beyond. */
  cut(node: number, from: number, before: number): void {
    if (this.backing.undo === undefined) this.#cut(node, from, before);
    else this.#marked.push([node, from, before]);
  }

  /** Applies the truncations of an operation that can no longer fail except by the storage. */
  cutMarked(): void {
    for (const cut of this.#marked) this.#cut(...cut);
  }

  unmark(): void {
    this.#marked = [];
  }

  #cut(node: number, from: number, before: number): void {
    const begin = Blocks.key(node, from);
    const end = Blocks.key(node, before);
    // First, because it can fail.
    if (this.hasStaged) {
      this.exec("DELETE FROM file_blocks_staged WHERE key >= ? AND key < ?", begin, end);
    }
    for (const key of this.#heldBetween(begin, end)) this.forget(key);
    this.#cuts.set(node, Math.min(from, this.#cuts.get(node) ?? from));
  }

  /** The number of blocks of a file before this index. */
  count(node: number, before: number): number {
    const begin = Blocks.key(node, 0);
    const end = Blocks.key(node, before);
    const there = new Set<number>();
    const stored = Blocks.key(node, Math.min(before, this.#cuts.get(node) ?? before));
    const keys = "SELECT key, value IS NULL AS is_gone FROM";
    for (const [table, upTo] of [
      ["file_blocks", stored] as const,
      ["file_blocks_staged", end] as const,
    ]) {
      if (table === "file_blocks_staged" && !this.hasStaged) continue;
      for (const row of this.exec(`${keys} ${table} WHERE key >= ? AND key < ?`, begin, upTo)) {
        if (row["is_gone"] === 1) there.delete(row["key"] as number);
        else there.add(row["key"] as number);
      }
    }
    for (const key of this.#heldBetween(begin, end)) {
      if (this.memory.get(key)!.value === undefined) there.delete(key);
      else there.add(key);
    }
    return there.size;
  }

  /** The keys in memory between two keys of one file. Each key looked at is charged. */
  #heldBetween(begin: number, end: number): number[] {
    const held = this.#held.get(nodeOf(begin));
    if (held === undefined) return [];
    const count = Math.min(held.size, end - begin);
    this.backing.work.lookUps += count;
    if (count === held.size) return [...held].filter((key) => key >= begin && key < end);
    return Array.from({ length: count }, (_, at) => begin + at).filter((key) => held.has(key));
  }

  protected override remembered(key: number): void {
    const node = nodeOf(key);
    const held = this.#held.get(node);
    if (held === undefined) this.#held.set(node, new Set([key]));
    else held.add(key);
  }

  protected override forget(key: number): void {
    super.forget(key);
    const held = this.#held.get(nodeOf(key));
    if (held?.delete(key) === true && held.size === 0) this.#held.delete(nodeOf(key));
  }

  override get isChanged(): boolean {
    return this.#cuts.size > 0 || super.isChanged;
  }

  override commit(): void {
    for (const [node, from] of this.#cuts) {
      this.exec(
        "DELETE FROM file_blocks WHERE key >= ? AND key < ?",
        Blocks.key(node, from),
        Blocks.key(node + 1, 0),
      );
    }
    super.commit();
  }

  protected override isHidden(key: number): boolean {
    const from = this.#cuts.get(nodeOf(key));
    return from !== undefined && key % MAX_BLOCKS >= from;
  }

  /** If many files were truncated, stages the deletion of each block, unless the call has written it since. */
  limitCuts(): void {
    if (this.#cuts.size <= CUTS) return;
    this.hasStaged = true;
    for (const [node, from] of this.#cuts) {
      this.exec(
        "INSERT OR IGNORE INTO file_blocks_staged SELECT key, NULL FROM file_blocks WHERE key >= ? AND key < ? RETURNING 1 AS paid",
        Blocks.key(node, from),
        Blocks.key(node + 1, 0),
      );
    }
    this.#cuts.clear();
  }
}
