import { BLOCK, MARKED, MARKS_EXPORT, marksIn, takeWritten } from "./marks.ts";

/** The state of an instance: its memory and mutable globals, with an empty kernel memory. */
export interface Image {
  /** The memory's size in pages of 64 KiB. */
  pages: number;
  /** Values of the exports `edge_global_0`, `edge_global_1`, … */
  globals: (number | bigint)[];
  /** Ranges that are not zero. */
  runs: { at: number; bytes: Uint8Array }[];
}

/** The state with a patch (patch.ts) applied, of which only the patched blocks take memory. */
export interface Patched extends Image {
  /** Bytes of these blocks. */
  ownBytes: number;
}

/** Bytes of a page of memory. */
export const PAGE = 65536;

export function globalsOf(exports: WebAssembly.Exports): WebAssembly.Global[] {
  const found: WebAssembly.Global[] = [];
  for (let at = 0; exports[`edge_global_${at}`] instanceof WebAssembly.Global; at++) {
    found.push(exports[`edge_global_${at}`] as WebAssembly.Global);
  }
  return found;
}

/**
 * The size of the instance's own memory in bytes, as the guest sees it: the memory may have grown in an earlier call.
 */
export function sizeOf(exports: WebAssembly.Exports): number {
  const pages = exports["edge_pages"];
  return pages instanceof WebAssembly.Global ? (pages.value as number) * PAGE : 0;
}

/** The instance's own memory, as bytes; empty if it has only the kernel's memory. */
export function memoryOf(exports: WebAssembly.Exports): Uint8Array<ArrayBuffer> {
  const memory = exports["memory"];
  return memory instanceof WebAssembly.Memory
    ? new Uint8Array(memory.buffer, 0, sizeOf(exports))
    : new Uint8Array();
}

/** A range of a guest's memory. Traps like the guest's own access if it reaches beyond the end. */
export function rangeOf(
  buffer: ArrayBuffer,
  at: number,
  length: number,
  size = buffer.byteLength,
): Uint8Array<ArrayBuffer> {
  if ((at >>> 0) + length > size) {
    throw new WebAssembly.RuntimeError("memory access out of bounds");
  }
  return new Uint8Array(buffer, at >>> 0, length);
}

const kernelOf = (exports: WebAssembly.Exports): Uint8Array<ArrayBuffer> =>
  new Uint8Array((exports["edge_memory"] as WebAssembly.Memory).buffer);

/**
 * A short hash of an instance's state: equal states have equal fingerprints. Trailing zeros of its memories do not
 * count. For checks, not against attacks.
 */
export function fingerprint(exports: WebAssembly.Exports): string {
  const memories = ["memory", "edge_memory", MARKS_EXPORT].flatMap((name) => {
    const memory = exports[name];
    return memory instanceof WebAssembly.Memory ? [new Uint32Array(memory.buffer)] : [];
  });
  const hashes = memories.map((words) => {
    // FNV-1a, in words: http://www.isthe.com/chongo/tech/comp/fnv/
    let hash = 0x811c9dc5;
    const end = words.findLastIndex((word) => word !== 0) + 1;
    for (let at = 0; at < end; at++) hash = Math.imul(hash ^ words[at]!, 0x01000193);
    return `${end}:${hash >>> 0}`;
  });
  const globals = globalsOf(exports).map(({ value }) => String(value));
  return [...hashes, sizeOf(exports), ...globals].join(" ");
}

/** True if the kernel has never been used. */
export function isKernelNew(exports: WebAssembly.Exports): boolean {
  const kernel = kernelOf(exports);
  return kernel.length === PAGE && kernel.every((byte) => byte === 0);
}

/** Views of an instance's state. Those of a memory become empty when it grows. */
export interface InstanceViews {
  memory: Uint8Array<ArrayBuffer>;
  kernel: Uint8Array<ArrayBuffer>;
  globals: WebAssembly.Global[];
  /** The size of its memory in pages, as the guest sees it. */
  pages: WebAssembly.Global | undefined;
  /** The marks of writes to each memory; absent in a guest that does not mark. */
  marks?: { memory: Uint8Array; kernel: Uint8Array };
}

/** The views of an instance, renewed if a memory has grown. */
export function currentBody(instance: {
  exports: WebAssembly.Exports;
  body?: InstanceViews;
}): InstanceViews {
  const { body } = instance;
  if (body !== undefined && !body.memory.buffer.detached && !body.kernel.buffer.detached)
    return body;
  return (instance.body = viewsOf(instance.exports));
}

export function viewsOf(exports: WebAssembly.Exports): InstanceViews {
  const { memory, [MARKS_EXPORT]: marks, edge_pages: pages } = exports;
  return {
    memory: new Uint8Array(
      memory instanceof WebAssembly.Memory ? memory.buffer : new ArrayBuffer(),
    ),
    kernel: kernelOf(exports),
    globals: globalsOf(exports),
    pages: pages instanceof WebAssembly.Global ? pages : undefined,
    ...(marks instanceof WebAssembly.Memory && { marks: marksIn(marks.buffer) }),
  };
}

/** Ranges with at most this many bytes between them are copied as one, which is faster. */
const NEAR = 2 * MARKED;

/**
 * Restores an instance to the state of an image, to the byte. Its memories may be larger. Returns the number of bytes
 * written.
 */
export function restoreImage(body: InstanceViews, image: Image): number {
  const { memory, globals, pages, marks } = body;
  let bytes = 0;
  if (marks === undefined) {
    putBack(memory, image.runs, 0, memory.length);
    bytes = memory.length;
  } else {
    for (const { from, to } of takeWritten(marks.memory, memory.length, NEAR)) {
      putBack(memory, image.runs, from, to);
      bytes += to - from;
    }
  }
  bytes += clearKernel(body);
  if (pages !== undefined) pages.value = image.pages;
  for (let at = 0; at < globals.length; at++) globals[at]!.value = image.globals[at];
  return bytes;
}

/** Resets the kernel. Returns the number of bytes written. */
export function clearKernel({ kernel, marks }: InstanceViews): number {
  if (marks === undefined) {
    kernel.fill(0);
    return kernel.length;
  }
  let bytes = 0;
  for (const { from, to } of takeWritten(marks.kernel, kernel.length)) {
    kernel.fill(0, from, to);
    bytes += to - from;
  }
  return bytes;
}

/** Writes a range of a memory from these runs, which are in order. */
function putBack(memory: Uint8Array, runs: Image["runs"], from: number, to: number): void {
  let written = from;
  for (let index = firstAfter(runs, from); index < runs.length && runs[index]!.at < to; index++) {
    const { at, bytes } = runs[index]!;
    const begin = Math.max(at, from);
    const end = Math.min(at + bytes.length, to);
    if (written < begin) memory.fill(0, written, begin);
    memory.set(bytes.subarray(begin - at, end - at), begin);
    written = end;
  }
  if (written < to) memory.fill(0, written, to);
}

/** The index of the first run that ends after an address. */
function firstAfter(runs: Image["runs"], address: number): number {
  let low = 0;
  for (let high = runs.length; low < high;) {
    const middle = (low + high) >> 1;
    const { at, bytes } = runs[middle]!;
    if (at + bytes.length > address) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** One byte for each block: 1 if the instance's memory has something there. */
export function usedBlocks({ exports }: { exports: WebAssembly.Exports }): Uint8Array<ArrayBuffer> {
  const memory = memoryOf(exports);
  const words = new Uint32Array(memory.buffer, 0, memory.length / 4);
  const used = new Uint8Array(memory.length / BLOCK);
  for (let word = 0; word < words.length; word++) {
    if (words[word] === 0) continue;
    const nth = Math.floor((word * 4) / BLOCK);
    used[nth] = 1;
    word = ((nth + 1) * BLOCK) / 4 - 1;
  }
  return used;
}

/** The current image of an instance. */
export function imageOf(exports: WebAssembly.Exports): Image {
  return {
    pages: sizeOf(exports) / PAGE,
    globals: globalsOf(exports).map(({ value }) => value as number | bigint),
    runs: usedRuns(exports),
  };
}

/** The nonzero blocks of a memory. */
export function usedRuns(exports: WebAssembly.Exports): Image["runs"] {
  const memory = memoryOf(exports);
  const words = new Uint32Array(memory.buffer, 0, memory.length / 4);
  const runs: Image["runs"] = [];
  let begin = -1;
  for (let at = 0; at <= memory.length; at += BLOCK) {
    const end = Math.min(words.length, (at + BLOCK) / 4);
    let word = at / 4;
    while (word < end && words[word] === 0) word++;
    const isUsed = word < end;
    if (isUsed && begin < 0) begin = at;
    if (!isUsed && begin >= 0) {
      runs.push({ at: begin, bytes: memory.slice(begin, at) });
      begin = -1;
    }
  }
  return runs;
}

/** Puts a new instance into the state of an image. */
export function apply(exports: WebAssembly.Exports, { pages, globals, runs }: Image): void {
  growTo(exports, pages);
  const memory = memoryOf(exports);
  for (const { at, bytes } of runs) memory.set(bytes, at);
  for (const [at, global] of globalsOf(exports).entries()) global.value = globals[at];
}

/** Grows a memory to this many pages for the guest. The memory itself may be larger, not smaller. */
export function growTo({ memory, edge_pages: size }: WebAssembly.Exports, pages: number): void {
  if (!(memory instanceof WebAssembly.Memory)) return;
  const missing = pages - memory.buffer.byteLength / PAGE;
  if (missing > 0) memory.grow(missing);
  if (size instanceof WebAssembly.Global) size.value = pages;
}

/** Values of globals as texts; those of i64 end in n. */
export const globalsText = (values: readonly (number | bigint)[]): string[] =>
  values.map((value) =>
    typeof value === "bigint" ? `${value}n` : Object.is(value, -0) ? "-0" : String(value),
  );

export const globalsFrom = (texts: readonly string[]): (number | bigint)[] =>
  texts.map((text) => (text.endsWith("n") ? BigInt(text.slice(0, -1)) : Number(text)));

export function concatenate(
  parts: readonly (Uint8Array | readonly number[])[],
): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
