/** Code that marks what a guest writes, and that sizes its memory; see tracking.ts. */
import { concatenate } from "../../../server/kernel/wasm/image.ts";
import { MARKED } from "../../../server/kernel/wasm/marks.ts";
import { leb, signedLeb } from "./bytes.ts";
import { OP } from "./instructions.ts";

export const I32 = 0x7f;
export const MEMORY_SIZE = 0x3f;
export const MARK_SHIFT = Math.log2(MARKED);

/** The mark of a store, of the stores after it that have the same base, and where its base is. */
export interface Mark {
  memory: number;
  local: number;
  /** The lowest offset of these stores, and the end of the one that reaches farthest. */
  offset: number;
  end: number;
}

/** Indices and addresses that the added code uses. */
export interface Tracker {
  /** Indices of the memory of marks, of `edge_pages`, and of the added functions. */
  marks: number;
  pages: number;
  grow: number;
  markRange: number;
  /** Where the marks of each memory begin. */
  marksAt: readonly number[];
  functionOf(index: number): { params: number; results: number };
}

/** Marks the address in a local, plus an offset. */
export function markCode({ memory, local, offset }: Mark, tracker: Tracker): number[] {
  const added = offset === 0 ? [] : [0x41, ...signedI32(offset), 0x6a];
  const block = [0x20, ...leb(local), ...added, 0x41, MARK_SHIFT, 0x76];
  return [...block, 0x41, 1, ...storeMark(memory, 0, tracker)];
}

/** `i32.store8` into the marks of a memory. */
export const storeMark = (memory: number, block: number, { marks, marksAt }: Tracker): number[] => [
  0x3a,
  0x40,
  ...leb(marks),
  ...leb(marksAt[memory]! + block),
];

/** Grows the memory by so many pages: its result is that of `memory.grow`. */
export function growFunction(maximumPages: number, { pages }: Tracker): Uint8Array {
  const [more, now] = [
    [0x20, 0],
    [0x23, ...leb(pages)],
  ];
  const wanted = [...now, ...more, 0x6a];
  return whole([
    [0],
    // More than is left below the maximum, as unsigned numbers: the difference is never negative.
    [...more, 0x41, ...signedLeb(maximumPages), ...now, 0x6b, 0x4b],
    [OP.if, 0x40, 0x41, 0x7f, OP.return, OP.end],
    [...wanted, MEMORY_SIZE, 0, 0x4b, OP.if, 0x40],
    [...wanted, MEMORY_SIZE, 0, 0x6b, OP.memoryGrow, 0, 0x41, 0x7f, 0x46],
    [OP.if, 0x40, 0x41, 0x7f, OP.return, OP.end, OP.end],
    [...now, ...wanted, 0x24, ...leb(pages), OP.end],
  ]);
}

/** Marks a range of the guest's memory that is about to be written: its address and its length. */
export function markRangeFunction(tracker: Tracker): Uint8Array {
  const [at, length, first, last] = [0, 1, 2, 3].map((local) => [0x20, local]);
  const markAt = (block: number[]) => [...block, 0x41, 1, ...storeMark(0, 0, tracker)];
  return whole([
    [1, 2, I32],
    [...length!, 0x45, OP.if, 0x40, OP.return, OP.end],
    // A store beyond the end will trap, and there are no marks for it.
    [...at!, 0xad, ...length!, 0xad, 0x7c, MEMORY_SIZE, 0, 0xad, 0x42, 16, 0x86, 0x56],
    [OP.if, 0x40, OP.return, OP.end],
    [...at!, 0x41, MARK_SHIFT, 0x76, 0x21, 2],
    [...at!, ...length!, 0x6a, 0x41, 1, 0x6b, 0x41, MARK_SHIFT, 0x76, 0x21, 3],
    [...markAt(first!), ...markAt(last!)],
    [...last!, ...first!, 0x6b, 0x41, 1, 0x4b, OP.if, 0x40],
    [...first!, 0x41, 1, 0x6a, 0x41, 1, ...last!, ...first!, 0x6b, 0x41, 1, 0x6b],
    [OP.bulk, 11, ...leb(tracker.marks), OP.end, OP.end],
  ]);
}

function signedI32(value: number): number[] {
  const bytes: number[] = [];
  for (let left = value | 0; ; left >>= 7) {
    const low = left & 0x7f;
    const isLast = left >> 6 === 0 || left >> 6 === -1;
    bytes.push(isLast ? low : low | 0x80);
    if (isLast) return bytes;
  }
}

/** The body of a function, with its length before it. */
export function whole(parts: readonly (Uint8Array | readonly number[])[]): Uint8Array {
  const body = concatenate(parts);
  return concatenate([leb(body.length), body]);
}
