/**
 * Which parts of its memories a guest has written. The bundle step (src/tools/bundle/wasm/tracking.ts) adds to each
 * store a mark, a byte 1 for each KiB, in a separate memory. Guests cannot access that memory, as none of their
 * instructions names it.
 */

/** The block size of images, patches and state, in bytes. */
export const BLOCK = 4096;
/**
 * Bytes that one mark stands for: an interpreter updates reference counts all over its heap, so with 4 KiB twice as
 * much would be restored.
 */
export const MARKED = 1024;
/** The export of the marks, named after their granularity: with a wrong one, writes would remain. */
export const MARKS_EXPORT = `edge_marks_${MARKED}` as const;
/**
 * This many bytes after marked ones may have been written too: a store may extend beyond them, and nearby stores share
 * the mark of the lowest.
 */
export const SPILL = 256;

/** The number of marks of a memory of so many pages of 64 KiB, each a byte. */
export const marksOf = (pages: number) => (pages * 65536) / MARKED;

/** The marks of the guest's memory, which are the first half, and of the kernel's memory. */
export const marksIn = (buffer: ArrayBuffer) => ({
  memory: new Uint8Array(buffer, 0, buffer.byteLength / 2),
  kernel: new Uint8Array(buffer, buffer.byteLength / 2),
});

/** Marks a range that the host has written. */
export function mark(marks: Uint8Array, at: number, length: number): void {
  if (length > 0)
    marks.fill(1, Math.floor(at / MARKED), Math.floor((at + length - 1) / MARKED) + 1);
}

/** Bytes of a memory. */
export interface Range {
  from: number;
  to: number;
}

/**
 * The ranges of a memory of `length` bytes that may have been written, in order; clears their marks. Each begins at a
 * mark. Ranges with at most `gap` bytes between them are joined.
 */
export function takeWritten(all: Uint8Array, length: number, gap = 0): Range[] {
  const marks = all.subarray(0, length / MARKED);
  const words = new Uint32Array(marks.buffer, marks.byteOffset, marks.length / 4);
  const ranges: Range[] = [];
  // Loops: for a few thousand marks, array methods cost several times more.
  for (let word = 0; word < words.length; word++) {
    if (words[word] === 0) continue;
    let at = word * 4;
    while (marks[at] === 0) at++;
    const from = at * MARKED;
    while (at < marks.length && marks[at] !== 0) marks[at++] = 0;
    const to = Math.min(at * MARKED + SPILL, length);
    const last = ranges.at(-1);
    if (last !== undefined && from - last.to <= gap) last.to = to;
    else ranges.push({ from, to });
    // Its other marks are checked again.
    word = Math.floor(at / 4) - 1;
  }
  return ranges;
}
