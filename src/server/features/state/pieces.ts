/** The differences between two memories, as a row of pieces: a call changes few bytes, scattered over its memory. */
import { BLOCK, type Range } from "../../kernel/wasm/marks.ts";

/** Bytes that are compared and stored as a whole: most pieces are one or two of these cells. */
export const CELL = 16;
export const CELLS = BLOCK / CELL;
/** Header of each piece, one word: its first cell in the memory, and in the lowest byte the number of further cells. */
const HEAD = 4;
const WORD = 4;

/** The cells in these ranges that differ from their known blocks, in order. Skips blocks that are not known. */
export function changedCells(
  memory: Uint8Array,
  known: ReadonlyMap<number, Uint8Array>,
  ranges: Iterable<Range>,
): number[] {
  const changed: number[] = [];
  const now = words(memory);
  for (const { from, to } of ranges) {
    for (let begin = from; begin < to;) {
      const nth = Math.floor(begin / BLOCK);
      let at = begin / WORD;
      begin = Math.min(to, (nth + 1) * BLOCK);
      const block = known.get(nth);
      if (block === undefined) continue;
      const before = words(block);
      const end = begin / WORD;
      // In words of 32 bits: V8 allocates an object for each 64-bit word in code that it has not optimized.
      for (let word = at % (BLOCK / WORD); at < end; word += 4, at += 4) {
        const isSame =
          now[at] === before[word] &&
          now[at + 1] === before[word + 1] &&
          now[at + 2] === before[word + 2] &&
          now[at + 3] === before[word + 3];
        if (!isSame) changed.push(at / 4);
      }
    }
  }
  return changed;
}

/** True if a block of a memory is zero. */
export function isZero(memory: Uint8Array, nth: number): boolean {
  const block = words(memory.subarray(nth * BLOCK, (nth + 1) * BLOCK));
  for (let word = 0; word < block.length; word++) if (block[word] !== 0) return false;
  return true;
}

/** These cells of a memory, in ascending order, as pieces. No piece crosses a block boundary. */
export function piecesOf(memory: Uint8Array, cells: readonly number[]): Uint8Array {
  const pieces = new Uint8Array(cells.length * (HEAD + CELL));
  const heads = new DataView(pieces.buffer);
  let end = 0;
  for (let from = 0; from < cells.length;) {
    const first = cells[from]!;
    let to = from + 1;
    while (cells[to] === first + to - from && cells[to]! % CELLS !== 0) to++;
    heads.setUint32(end, first * CELLS + (to - from - 1));
    const bytes = memory.subarray(first * CELL, (first + to - from) * CELL);
    pieces.set(bytes, end + HEAD);
    end += HEAD + bytes.length;
    from = to;
  }
  return pieces.subarray(0, end);
}

/** A run of changed bytes in block `nth` that begins at cell `cell` of the block. */
export interface Piece {
  nth: number;
  cell: number;
  bytes: Uint8Array;
}

/** Iterates over the pieces. */
export function* inPieces(pieces: Uint8Array): Generator<Piece> {
  const heads = new DataView(pieces.buffer, pieces.byteOffset);
  for (let begin = 0; begin < pieces.length;) {
    const head = heads.getUint32(begin);
    const first = Math.floor(head / CELLS);
    const length = ((head % CELLS) + 1) * CELL;
    const [nth, cell] = [Math.floor(first / CELLS), first % CELLS];
    yield { nth, cell, bytes: pieces.subarray(begin + HEAD, begin + HEAD + length) };
    begin += HEAD + length;
  }
}

const words = ({ buffer, byteOffset, length }: Uint8Array) =>
  new Int32Array(buffer, byteOffset, length / WORD);

/** Copies a piece into its block. */
export const putPiece = (block: Uint8Array, { cell, bytes }: Piece): void =>
  block.set(bytes, cell * CELL);
