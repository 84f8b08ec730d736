/** The memory of a servlet's state in SQLite: whole blocks, and pieces of them that calls have changed since. */
import type { Sql, SqlValue } from "../../kernel/files/sql.ts";
import { BLOCK, type Range } from "../../kernel/wasm/marks.ts";
import {
  CELL,
  CELLS,
  changedCells,
  inPieces,
  isZero,
  type Piece,
  piecesOf,
  putPiece,
} from "./pieces.ts";
import type { StateSealing } from "./state-sealing.ts";

const TABLES = [
  "CREATE TABLE IF NOT EXISTS blocks (nth INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
  // A row is overwritten in place, which changes one page. Rows with an older `at` than row 0 are no longer valid.
  "CREATE TABLE IF NOT EXISTS pieces (row INTEGER PRIMARY KEY, at INTEGER NOT NULL, bytes BLOB NOT NULL)",
];

const ROWS = "FROM pieces WHERE at >= (SELECT at FROM pieces WHERE row = 0)";

/** Bytes of a stored block: encrypted, with its number. */
export const STORED_BLOCK = BLOCK + 64;
/** Maximum rows of pieces, one for each call; then they are merged into one row. */
const MOST_ROWS = 64;
/** Maximum bytes in these rows, since all of them are read to create an instance. */
const MOST_BYTES = 256 * 1024;
/** Maximum bytes of pieces in a merged row; beyond that their blocks are stored whole. */
const MOST_MERGED_BYTES = 64 * 1024;
/** Maximum blocks cached in memory beside an instance, the most recently written: 1 MiB. */
const MOST_KNOWN = 256;

/** Blocks that are read or sealed before other guests have their turn: 256 KiB. */
const BLOCKS_AT_ONCE = 64;

/** A statement that stores or deletes rows, with its sealed values. */
export type Write = readonly [statement: string, ...values: SqlValue[]];

/** Called after each piece of work with the bytes opened or sealed. Other guests may run before it resolves. */
export type AfterPiece = (bytes: number) => Promise<void>;

/** Copies of stored blocks by number, in the order of their last write. */
export type KnownBlocks = Map<number, Uint8Array>;

/** A memory, and whether it is stored yet. */
interface StoredMemory {
  known: KnownBlocks;
  /** By block number: 1 if the block is not zero in a pristine instance. Other blocks are not stored while zero. */
  used: Uint8Array;
  /** True if none of this memory is stored yet. */
  isNew: boolean;
}

/** The memory blocks that a call has written, to be stored. */
export interface Written {
  memory: Uint8Array;
  known: KnownBlocks;
  /** The numbers of the changed cells in known blocks, and their content as pieces. */
  cells: readonly number[];
  pieces: Uint8Array;
  /** The numbers of the other blocks, which are stored whole. */
  unknown: ReadonlySet<number>;
  /** The numbers of stored blocks that are zero again, as in a pristine instance: they are deleted. */
  empty: ReadonlySet<number>;
  /** True if the rows of pieces must be merged into one row or into whole blocks. */
  isFull: boolean;
  /** Maximum bytes of the whole memory after this write. */
  bytes: number;
  /** Bytes to reserve for it, and for the memory stored before: with the maximum of pieces. */
  room: number;
  roomBefore: number;
}

/** The stored rows of pieces. */
interface Rows {
  count: number;
  bytes: number;
  /** When the last one was stored. */
  newest: number;
  /** By block number: a 1 for each of its cells that is in a row. */
  cells: Map<number, Uint8Array>;
}

const NONE = new Uint8Array();
const noRows = (): Rows => ({ count: 0, bytes: 0, newest: 0, cells: new Map() });

/** Reads and writes the blocks and pieces of one memory. Caches what it has read. */
export class StateBlocks {
  readonly #sql: Sql;
  readonly #sealing: StateSealing;
  readonly #open: (sealed: unknown, place: string) => Promise<Uint8Array>;
  /** The numbers of stored blocks; undefined until they were read. */
  #stored: Set<number> | undefined;
  /** Rows of pieces; empty until `pages` has read them. */
  #rows = noRows();

  /** `open` decrypts a blob that was sealed for a place, such as `block 3`. */
  constructor(
    sql: Sql,
    sealing: StateSealing,
    open: (sealed: unknown, place: string) => Promise<Uint8Array>,
  ) {
    this.#sql = sql;
    this.#sealing = sealing;
    this.#open = open;
  }

  create(): void {
    for (const table of TABLES) this.#sql.exec(table);
  }

  get bytes(): number {
    const [pieces] = this.#sql.exec(`SELECT total(length(bytes)) AS bytes ${ROWS}`).toArray();
    return this.#numbers.size * STORED_BLOCK + Number(pieces?.["bytes"]);
  }

  /** When pieces were last stored, in Unix ms; 0 if there are none. */
  get changedAt(): number {
    const [newest] = this.#sql.exec("SELECT max(at) AS at FROM pieces").toArray();
    return Number(newest?.["at"]);
  }

  /** All blocks in order, with their pieces applied, up to `BLOCKS_AT_ONCE` at a time. Throws what `open` throws. */
  async *pages(): AsyncGenerator<[nth: number, block: Uint8Array][]> {
    const pieces = await this.#readPieces();
    for (let last = -1; ;) {
      const page = this.#sql
        .exec(
          "SELECT nth, bytes FROM blocks WHERE nth > ? ORDER BY nth LIMIT ?",
          last,
          BLOCKS_AT_ONCE,
        )
        .toArray();
      const blocks = page.map(async ({ nth, bytes }): Promise<[number, Uint8Array]> => {
        const block = await this.#open(bytes, `block ${nth as number}`);
        for (const piece of pieces.get(nth as number) ?? []) putPiece(block, piece);
        return [nth as number, block];
      });
      yield await Promise.all(blocks);
      if (page.length < BLOCKS_AT_ONCE) return;
      last = page.at(-1)!["nth"] as number;
    }
  }

  /** The stored pieces by block, in the order in which they were stored. */
  async #readPieces(): Promise<Map<number, Piece[]>> {
    const rows = noRows();
    const pieces = new Map<number, Piece[]>();
    for (const { at, bytes } of this.#sql.exec(`SELECT at, bytes ${ROWS} ORDER BY row`).toArray()) {
      const opened = await this.#open(bytes, `pieces ${at as number}`);
      for (const piece of inPieces(opened)) {
        pieces.getOrInsertComputed(piece.nth, () => []).push(piece);
        flagsIn(rows, piece.nth).fill(1, piece.cell, piece.cell + piece.bytes.length / CELL);
      }
      rows.count++;
      rows.bytes += opened.length;
      rows.newest = at as number;
    }
    this.#rows = rows;
    return pieces;
  }

  /** A call's changes in these ranges of a memory, to be stored by `save`. */
  written(
    memory: Uint8Array,
    ranges: readonly Range[],
    { known, used, isNew }: StoredMemory,
  ): Written {
    const stored = isNew ? new Set<number>() : this.#numbers;
    let count = stored.size;
    const unknown = new Set<number>();
    const empty = new Set<number>();
    const compared: Range[] = [];
    let seen = -1;
    let isCompared = false;
    for (const range of ranges) {
      for (let { from } = range; from < range.to;) {
        const nth = Math.floor(from / BLOCK);
        const to = Math.min(range.to, (nth + 1) * BLOCK);
        if (nth !== seen) {
          seen = nth;
          const isEmpty = used[nth] !== 1 && isZero(memory, nth);
          isCompared = !isEmpty && known.has(nth);
          if (isEmpty && stored.has(nth)) empty.add(nth);
          if (!isEmpty && !isCompared) unknown.add(nth);
          if (!isEmpty && !stored.has(nth)) count++;
        }
        if (isCompared) compared.push({ from, to });
        from = to;
      }
    }
    count -= empty.size;
    const cells = changedCells(memory, known, compared);
    const pieces = piecesOf(memory, cells);
    const rows = isNew ? noRows() : this.#rows;
    const bytes = rows.bytes + pieces.length;
    const isFull =
      rows.count >= MOST_ROWS ||
      bytes > MOST_BYTES ||
      // Otherwise the older pieces would be applied to the newer whole block when it is read.
      !unknown.isDisjointFrom(rows.cells);
    return {
      memory,
      known,
      cells,
      pieces,
      unknown,
      empty,
      isFull,
      bytes: count * STORED_BLOCK + bytes,
      room: count * STORED_BLOCK + MOST_BYTES,
      roomBefore: stored.size * STORED_BLOCK + MOST_BYTES,
    };
  }

  /**
   * Seals changes, and returns the writes to store in one transaction. The cache already has these changes, so if
   * the writes fail, discard this `StateBlocks` and create another.
   */
  async seal(
    { memory, known, cells, pieces, unknown, empty, isFull }: Written,
    afterPiece: AfterPiece = async () => {},
  ): Promise<Write[]> {
    const writes: Write[] = [];
    for (const nth of empty) {
      writes.push(["DELETE FROM blocks WHERE nth = ?", nth]);
      this.#numbers.delete(nth);
      known.delete(nth);
    }
    for (const nth of this.#mark(cells)) putKnown(known, nth, memory);
    const whole = new Set(unknown);
    if (isFull) {
      for (const nth of unknown) this.#rows.cells.delete(nth);
      const merged = this.#merged(memory);
      for (const nth of merged.whole) whole.add(nth);
      writes.push(await this.#row(merged.pieces));
    } else if (cells.length > 0) {
      writes.push(await this.#row(pieces));
    }
    await afterPiece(pieces.length);
    const numbers = [...whole];
    for (let at = 0; at < numbers.length; at += BLOCKS_AT_ONCE) {
      const some = numbers.slice(at, at + BLOCKS_AT_ONCE);
      writes.push(...(await Promise.all(some.map((nth) => this.#whole(nth, memory, known)))));
      await afterPiece(some.length * BLOCK);
    }
    return writes;
  }

  /** True if these known blocks are all stored blocks. */
  areAll(known: KnownBlocks): boolean {
    return known.size === this.#numbers.size;
  }

  /** Returns the writes that delete everything; see `seal`. */
  deletion(): Write[] {
    this.#rows = noRows();
    this.#stored = new Set();
    return [["DELETE FROM blocks"], ["DELETE FROM pieces"]];
  }

  /** Returns the write that stores pieces as the next row. */
  async #row(pieces: Uint8Array): Promise<Write> {
    const at = (this.#rows.newest = Math.max(Date.now(), this.#rows.newest + 1));
    const row = this.#rows.count++;
    this.#rows.bytes += pieces.length;
    const sealed = await this.#sealing.seal(pieces, `pieces ${at}`);
    return ["INSERT OR REPLACE INTO pieces VALUES (?, ?, ?)", row, at, sealed];
  }

  /** Merges the cells of all rows into the pieces of one row, or, if that is too large, returns their blocks to store whole. */
  #merged(memory: Uint8Array): { pieces: Uint8Array; whole: Iterable<number> } {
    const { cells, newest } = this.#rows;
    // Drop pieces of blocks that were deleted because they became zero.
    for (const nth of Array.from(cells.keys())) if (!this.#numbers.has(nth)) cells.delete(nth);
    const changed: number[] = [];
    for (const [nth, flags] of [...cells].toSorted(([a], [b]) => a - b)) {
      for (let cell = flags.indexOf(1); cell >= 0; cell = flags.indexOf(1, cell + 1)) {
        changed.push(nth * CELLS + cell);
      }
    }
    const pieces = piecesOf(memory, changed);
    const isLarge = pieces.length > MOST_MERGED_BYTES;
    this.#rows = { ...noRows(), newest, cells: isLarge ? new Map() : cells };
    return isLarge ? { pieces: NONE, whole: cells.keys() } : { pieces, whole: [] };
  }

  /** Returns the write that stores a block of memory as a whole. */
  async #whole(nth: number, memory: Uint8Array, known: KnownBlocks): Promise<Write> {
    const block = putKnown(known, nth, memory);
    forgetOldest(known);
    this.#numbers.add(nth);
    const sealed = await this.#sealing.seal(block, `block ${nth}`);
    return ["INSERT OR REPLACE INTO blocks VALUES (?, ?)", nth, sealed];
  }

  /** Records that rows have these cells; returns the numbers of their blocks. */
  #mark(cells: readonly number[]): Set<number> {
    const blocks = new Set<number>();
    for (const cell of cells) {
      const nth = Math.floor(cell / CELLS);
      blocks.add(nth);
      flagsIn(this.#rows, nth)[cell % CELLS] = 1;
    }
    return blocks;
  }

  /** The numbers of the stored blocks. */
  get #numbers(): Set<number> {
    this.#stored ??= new Set(
      this.#sql
        .exec("SELECT nth FROM blocks")
        .toArray()
        .map(({ nth }) => nth as number),
    );
    return this.#stored;
  }
}

/** One byte for each cell of a block: 1 if a row has the cell. */
const flagsIn = ({ cells }: Rows, nth: number): Uint8Array =>
  cells.getOrInsertComputed(nth, () => new Uint8Array(CELLS));

/** Copies a block of memory into the known blocks, as the most recently written. Returns the copy. */
function putKnown(known: KnownBlocks, nth: number, memory: Uint8Array): Uint8Array {
  const now = memory.subarray(nth * BLOCK, (nth + 1) * BLOCK);
  const before = known.get(nth);
  known.delete(nth);
  before?.set(now);
  const block = before ?? new Uint8Array(now);
  known.set(nth, block);
  return block;
}

/** Drops the least recently written blocks beyond `MOST_KNOWN`: they are stored whole on their next write. */
export function forgetOldest(known: KnownBlocks): void {
  for (const [nth] of known) {
    if (known.size <= MOST_KNOWN) return;
    known.delete(nth);
  }
}
