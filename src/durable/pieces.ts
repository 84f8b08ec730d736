/** The differences between two memories, as a row of pieces: a call changes few bytes, scattered over its memory. */
import { BLOCK } from "../wasm/marks.ts";

/** Compared and stored as wholes: most pieces are one or two of them. */
const CELL = 16;
/** Before each piece: where it is in the memory, and its bytes. */
const HEAD = 8;

/** How these blocks of a memory differ from what is known of them. A block that is not known is left out. */
export function piecesOf(
  memory: Uint8Array,
  known: ReadonlyMap<number, Uint8Array>,
  blocks: Iterable<number>,
): Uint8Array {
  const found: { at: number; to: number }[] = [];
  let length = 0;
  for (const nth of blocks) {
    const before = known.get(nth);
    if (before === undefined) continue;
    const from = nth * BLOCK;
    let last: { at: number; to: number } | undefined;
    const [now, old] = [words(memory.subarray(from, from + BLOCK)), words(before)];
    for (let word = 0; word < now.length; word++) {
      if (now[word] === old[word]) continue;
      const at = from + Math.floor((word * 4) / CELL) * CELL;
      if (last?.to === at) last.to += CELL;
      else {
        found.push((last = { at, to: at + CELL }));
        length += HEAD;
      }
      length += CELL;
      word = (at - from + CELL) / 4 - 1;
    }
  }
  const pieces = new Uint8Array(length);
  const heads = new DataView(pieces.buffer);
  let end = 0;
  for (const { at, to } of found) {
    heads.setUint32(end, at);
    heads.setUint32(end + 4, to - at);
    pieces.set(memory.subarray(at, to), end + HEAD);
    end += HEAD + to - at;
  }
  return pieces;
}

/** The pieces, each with its place in the memory: none is in two blocks. */
export function* inPieces(pieces: Uint8Array): Generator<{ at: number; bytes: Uint8Array }> {
  const heads = new DataView(pieces.buffer, pieces.byteOffset);
  for (let begin = 0; begin < pieces.length;) {
    const [at, length] = [heads.getUint32(begin), heads.getUint32(begin + 4)];
    yield { at, bytes: pieces.subarray(begin + HEAD, begin + HEAD + length) };
    begin += HEAD + length;
  }
}

const words = ({ buffer, byteOffset, length }: Uint8Array) =>
  new Int32Array(buffer, byteOffset, length / 4);
