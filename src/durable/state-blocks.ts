/** The memory of a servlet's state, in SQLite: blocks of it, and in pieces what calls have changed of them since. */
import type { Sealing } from "../files/sealing.ts";
import type { Sql } from "../files/sql.ts";
import { BLOCK } from "../wasm/marks.ts";
import { inPieces, piecesOf } from "./pieces.ts";

const TABLES = [
  "CREATE TABLE IF NOT EXISTS blocks (nth INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
  "CREATE TABLE IF NOT EXISTS changes (nth INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
];

/** A block as it is stored: sealed, with its number. */
export const STORED_BLOCK = BLOCK + 64;
/** Changes that are stored until their blocks are stored as wholes: so many calls share what that costs. */
const MOST_CHANGES = 64;
const MOST_CHANGED_BYTES = 256 * 1024;
/** Blocks that are known beside an instance, the last ones to be written: 1 MiB. */
const MOST_KNOWN = 256;

/** Blocks as they are stored, by number; the last to be written is the last. */
export type KnownBlocks = Map<number, Uint8Array>;

/** What a call has written, to be stored. */
export interface Written {
  memory: Uint8Array;
  known: KnownBlocks;
  /** What has changed of known blocks; undefined where all that is stored in pieces is stored as wholes now. */
  pieces: Uint8Array | undefined;
  /** The blocks that are stored as wholes. */
  wholes: ReadonlySet<number>;
  /** Bytes of all of it then. */
  bytes: number;
}

const noChanges = () => ({ count: 0, bytes: 0, blocks: new Set<number>() });

export class StateBlocks {
  readonly #sql: Sql;
  readonly #sealing: Sealing;
  readonly #open: (sealed: unknown, place: string) => Uint8Array;
  #stored: Set<number> | undefined;
  /** The changes that are stored; known once they were read. */
  #changes = noChanges();

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
    const [changes] = this.#sql.exec("SELECT total(length(bytes)) AS bytes FROM changes").toArray();
    return this.#numbers.size * STORED_BLOCK + Number(changes?.["bytes"]);
  }

  /** All blocks that are stored, as they are with all changes. */
  all(): KnownBlocks {
    const blocks: KnownBlocks = new Map();
    for (const { nth, bytes } of this.#sql.exec("SELECT nth, bytes FROM blocks")) {
      blocks.set(nth as number, this.#open(bytes, `block ${nth as number}`).slice());
    }
    this.#changes = noChanges();
    for (const { nth, bytes } of this.#sql.exec("SELECT nth, bytes FROM changes ORDER BY nth")) {
      this.#apply(this.#open(bytes, `changes ${nth as number}`), blocks);
    }
    return blocks;
  }

  /** What a call has written, in these blocks of a memory. `isNew`: nothing of it is stored yet. */
  written(
    memory: Uint8Array,
    known: KnownBlocks,
    blocks: ReadonlySet<number>,
    isNew: boolean,
  ): Written {
    const stored = isNew ? new Set<number>() : this.#numbers;
    const count = stored.size + blocks.difference(stored).size;
    const found = piecesOf(memory, known, blocks);
    const { bytes: before, blocks: changed } = this.#changes;
    const unknown = blocks.difference(known);
    const isFull =
      this.#changes.count >= MOST_CHANGES ||
      before + found.length > MOST_CHANGED_BYTES ||
      // Older pieces would be put into the newer block.
      !unknown.isDisjointFrom(changed);
    return {
      memory,
      known,
      pieces: isFull ? undefined : found,
      wholes: isFull ? blocks.union(changed) : unknown,
      bytes: count * STORED_BLOCK + (isFull ? 0 : before + found.length),
    };
  }

  /** Stores it. Run it in a transaction; if that fails, make another `StateBlocks`. */
  save({ memory, known, pieces, wholes }: Written): void {
    if (pieces === undefined) this.#forgetChanges();
    else if (pieces.length > 0) {
      const { count } = this.#changes;
      const sealed = this.#sealing.seal(pieces, `changes ${count}`);
      this.#sql.exec("INSERT INTO changes VALUES (?, ?)", count, sealed);
      this.#apply(pieces, known);
    }
    for (const nth of wholes) {
      const bytes = memory.slice(nth * BLOCK, (nth + 1) * BLOCK);
      const sealed = this.#sealing.seal(bytes, `block ${nth}`);
      this.#sql.exec("INSERT OR REPLACE INTO blocks VALUES (?, ?)", nth, sealed);
      known.delete(nth);
      known.set(nth, bytes);
      this.#numbers.add(nth);
    }
    forgetOldest(known);
  }

  clear(): void {
    this.#sql.exec("DELETE FROM blocks");
    this.#forgetChanges();
    this.#stored = undefined;
  }

  /** Counts changes that are stored, and makes them in these blocks. */
  #apply(pieces: Uint8Array, blocks: KnownBlocks): void {
    this.#changes.count++;
    this.#changes.bytes += pieces.length;
    for (const { at, bytes } of inPieces(pieces)) {
      const nth = Math.floor(at / BLOCK);
      const block = blocks.get(nth)!;
      block.set(bytes, at % BLOCK);
      blocks.delete(nth);
      blocks.set(nth, block);
      this.#changes.blocks.add(nth);
    }
  }

  #forgetChanges(): void {
    this.#sql.exec("DELETE FROM changes");
    this.#changes = noChanges();
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

/** Leaves so many blocks as are worth their room: others are stored as wholes when they are written. */
export function forgetOldest(known: KnownBlocks): void {
  for (const [nth] of known) {
    if (known.size <= MOST_KNOWN) return;
    known.delete(nth);
  }
}
