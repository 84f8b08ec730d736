/**
 * Which parts of its memories a guest has written. The bundle step (src/bundle/wasm/tracking.ts) puts a
 * mark, a byte that is 1, into a memory of its own beside each store: one for each block of 4 KiB. Guests
 * cannot reach that memory, as no instruction of theirs names it.
 */

/** Bytes that one mark stands for. */
export const BLOCK = 4096;
/**
 * So many bytes after a marked block may have been written too: a store may reach beyond its block, and
 * stores near each other share the mark of the lowest.
 */
export const SPILL = 256;

/** The marks of a memory of so many pages of 64 KiB: one byte for each of its blocks. */
export const marksOf = (pages: number) => (pages * 65536) / BLOCK;

/** The marks of the guest's memory, which are the first half, and of the kernel's memory. */
export const marksIn = (buffer: ArrayBuffer) => ({
  memory: new Uint8Array(buffer, 0, buffer.byteLength / 2),
  kernel: new Uint8Array(buffer, buffer.byteLength / 2),
});

/** Marks a range that the host has written. */
export function mark(marks: Uint8Array, at: number, length: number): void {
  if (length > 0) marks.fill(1, Math.floor(at / BLOCK), Math.floor((at + length - 1) / BLOCK) + 1);
}

/** Bytes of a memory; it begins with a block. */
export interface Range {
  from: number;
  to: number;
}

/** The ranges of a memory of `length` bytes that may have been written, in order; clears their marks. */
export function takeWritten(all: Uint8Array, length: number): Range[] {
  const marks = all.subarray(0, length / BLOCK);
  const ranges: Range[] = [];
  // Loops: for a few hundred marks, the methods of arrays cost several times more.
  for (let at = 0; at < marks.length; at++) {
    if (marks[at] === 0) continue;
    const from = at * BLOCK;
    while (at < marks.length && marks[at] !== 0) marks[at++] = 0;
    ranges.push({ from, to: Math.min(at * BLOCK + SPILL, length) });
  }
  return ranges;
}
