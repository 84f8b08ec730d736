/** The memory of a servlet's state, in SQLite: blocks of it, and in pieces what calls have changed of them since. */
import type { Sealing } from "../files/sealing.ts";
import type { Sql } from "../files/sql.ts";
import { BLOCK, type Range } from "../wasm/marks.ts";
import { CELLS, changedCells, inPieces, piecesOf, putPiece } from "./pieces.ts";

const TABLES = [
  "CREATE TABLE IF NOT EXISTS blocks (nth INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
  // Each row is overwritten in its place, which changes one page. Those that are older than the first are over.
  "CREATE TABLE IF NOT EXISTS pieces (row INTEGER PRIMARY KEY, at INTEGER NOT NULL, bytes BLOB NOT NULL)",
];

const ROWS = "FROM pieces WHERE at >= (SELECT at FROM pieces WHERE row = 0)";

/** A block as it is stored: sealed, with its number. */
export const STORED_BLOCK = BLOCK + 64;
/** Rows of pieces, each of one call, until one row takes their place. */
const MOST_ROWS = 64;
/** Bytes of these rows, which are read when an instance is made. */
const MOST_BYTES = 256 * 1024;
/** Bytes of pieces in one row: beyond, their blocks are stored as wholes. */
const MOST_MERGED_BYTES = 64 * 1024;
/** Blocks that are known beside an instance, the last ones to be written: 1 MiB. */
const MOST_KNOWN = 256;

/** Blocks as they are stored, by number; the last to be written is the last. */
export type KnownBlocks = Map<number, Uint8Array>;

/** The memory blocks that a call has written, to be stored. */
export interface Written {
  memory: Uint8Array;
  known: KnownBlocks;
  /** The changed cells of known blocks, and the same as pieces. */
  cells: readonly number[];
  pieces: Uint8Array;
  /** The other blocks, which are stored as wholes. */
  unknown: ReadonlySet<number>;
  /** True if all rows of pieces are to become one, or whole blocks. */
  isFull: boolean;
  /** The most bytes that all of it takes then. */
  bytes: number;
}

/** Rows of pieces that are stored. */
interface Rows {
  count: number;
  bytes: number;
  /** When the last one was stored. */
  newest: number;
  /** By block, a 1 for each cell that they have. */
  cells: Map<number, Uint8Array>;
}

const NONE = new Uint8Array();
const noRows = (): Rows => ({ count: 0, bytes: 0, newest: 0, cells: new Map() });

export class StateBlocks {
  readonly #sql: Sql;
  readonly #sealing: Sealing;
  readonly #open: (sealed: unknown, place: string) => Uint8Array;
  #stored: Set<number> | undefined;
  /** Known once they were read. */
  #rows = noRows();

  /** `open` opens what is sealed for a place. */
  constructor(sql: Sql, sealing: Sealing, open: (sealed: unknown, place: string) => Uint8Array) {
    this.#sql = sql;
    this.#sealing = sealing;
    this.#open = open;
  }

  create(): void {
    for (const table of TABLES) this.#sql.exec(table);
  }

  /** Bytes that are stored. */
  get bytes(): number {
    const [pieces] = this.#sql.exec(`SELECT total(length(bytes)) AS bytes ${ROWS}`).toArray();
    return this.#numbers.size * STORED_BLOCK + Number(pieces?.["bytes"]);
  }

  /** When pieces were last stored, in Unix ms; 0 where none are. */
  get changedAt(): number {
    const [newest] = this.#sql.exec("SELECT max(at) AS at FROM pieces").toArray();
    return Number(newest?.["at"]);
  }

  /** All blocks as they are with all pieces. */
  all(): KnownBlocks {
    const blocks: KnownBlocks = new Map();
    const stored = this.#sql.exec("SELECT nth, bytes FROM blocks");
    try {
      for (const { nth, bytes } of stored) {
        blocks.set(nth as number, this.#open(bytes, `block ${nth as number}`).slice());
      }
    } finally {
      // Where one cannot be opened: no table could be dropped while a query has rows left.
      stored.toArray();
    }
    this.#rows = noRows();
    for (const { at, bytes } of this.#sql.exec(`SELECT at, bytes ${ROWS} ORDER BY row`).toArray()) {
      const pieces = this.#open(bytes, `pieces ${at as number}`);
      for (const piece of inPieces(pieces)) {
        putPiece(piece, blocks.get(piece.nth), this.#flagsOf(piece.nth));
      }
      this.#rows.count++;
      this.#rows.bytes += pieces.length;
      this.#rows.newest = at as number;
    }
    return blocks;
  }

  /** The changes of a call in these ranges of a memory. `isNew`: nothing of this memory is stored yet. */
  written(
    memory: Uint8Array,
    known: KnownBlocks,
    ranges: readonly Range[],
    isNew: boolean,
  ): Written {
    const stored = isNew ? new Set<number>() : this.#numbers;
    let count = stored.size;
    const unknown = new Set<number>();
    for (const { from, to } of ranges) {
      for (let nth = from / BLOCK; nth * BLOCK < to; nth++) {
        if (!known.has(nth)) unknown.add(nth);
        if (!stored.has(nth)) count++;
      }
    }
    const cells = changedCells(memory, known, ranges);
    const pieces = piecesOf(memory, cells);
    const rows = isNew ? noRows() : this.#rows;
    const bytes = rows.bytes + pieces.length;
    const isFull =
      rows.count >= MOST_ROWS ||
      bytes > MOST_BYTES ||
      // Older pieces would be put into the newer block.
      !unknown.isDisjointFrom(rows.cells);
    return { memory, known, cells, pieces, unknown, isFull, bytes: count * STORED_BLOCK + bytes };
  }

  /** Stores it. Run it in a transaction; if that fails, make another `StateBlocks`. */
  save({ memory, known, cells, pieces, unknown, isFull }: Written): void {
    for (const nth of this.#mark(cells)) putKnown(known, nth, memory);
    if (!isFull) {
      if (cells.length > 0) this.#addRow(pieces);
    } else {
      for (const nth of unknown) this.#rows.cells.delete(nth);
      this.#merge(memory, known);
    }
    for (const nth of unknown) this.#putWhole(nth, memory, known);
    forgetOldest(known);
  }

  clear(): void {
    this.#sql.exec("DELETE FROM blocks");
    this.#sql.exec("DELETE FROM pieces");
    this.#rows = noRows();
    this.#stored = undefined;
  }

  /** Stores pieces as the next row. */
  #addRow(pieces: Uint8Array): void {
    const at = (this.#rows.newest = Math.max(Date.now(), this.#rows.newest + 1));
    const sealed = this.#sealing.seal(pieces, `pieces ${at}`);
    this.#sql.exec("INSERT OR REPLACE INTO pieces VALUES (?, ?, ?)", this.#rows.count, at, sealed);
    this.#rows.count++;
    this.#rows.bytes += pieces.length;
  }

  /** Stores all cells that rows have as one row, or their blocks as wholes. */
  #merge(memory: Uint8Array, known: KnownBlocks): void {
    const { cells, newest } = this.#rows;
    const changed: number[] = [];
    for (const [nth, flags] of [...cells].toSorted(([a], [b]) => a - b)) {
      for (let cell = flags.indexOf(1); cell >= 0; cell = flags.indexOf(1, cell + 1)) {
        changed.push(nth * CELLS + cell);
      }
    }
    const pieces = piecesOf(memory, changed);
    const isLarge = pieces.length > MOST_MERGED_BYTES;
    this.#rows = { ...noRows(), newest, cells: isLarge ? new Map() : cells };
    this.#addRow(isLarge ? NONE : pieces);
    if (isLarge) for (const [nth] of cells) this.#putWhole(nth, memory, known);
  }

  #putWhole(nth: number, memory: Uint8Array, known: KnownBlocks): void {
    putKnown(known, nth, memory);
    const sealed = this.#sealing.seal(known.get(nth)!, `block ${nth}`);
    this.#sql.exec("INSERT OR REPLACE INTO blocks VALUES (?, ?)", nth, sealed);
    this.#numbers.add(nth);
  }

  /** Counts cells that rows have; gives their blocks. */
  #mark(cells: readonly number[]): Set<number> {
    const blocks = new Set<number>();
    for (const cell of cells) {
      const nth = Math.floor(cell / CELLS);
      blocks.add(nth);
      this.#flagsOf(nth)[cell % CELLS] = 1;
    }
    return blocks;
  }

  /** The cells of a block that rows have. */
  #flagsOf(nth: number): Uint8Array {
    const { cells } = this.#rows;
    let flags = cells.get(nth);
    if (flags === undefined) cells.set(nth, (flags = new Uint8Array(CELLS)));
    return flags;
  }

  /** The numbers of the blocks that are stored. */
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

/** Makes a block known as it is in a memory: the last to be written. */
function putKnown(known: KnownBlocks, nth: number, memory: Uint8Array): void {
  const now = memory.subarray(nth * BLOCK, (nth + 1) * BLOCK);
  const block = known.get(nth);
  known.delete(nth);
  block?.set(now);
  known.set(nth, block ?? now.slice());
}

/** True if these are all blocks that are stored: none was forgotten. */
export const areAll = (known: KnownBlocks): boolean => known.size < MOST_KNOWN;

/** Leaves so many blocks as are worth their room: others are stored as wholes when they are written. */
export function forgetOldest(known: KnownBlocks): void {
  for (const [nth] of known) {
    if (known.size <= MOST_KNOWN) return;
    known.delete(nth);
  }
}
