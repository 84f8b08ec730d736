/**
 * The state of an instance: its memory and its mutable globals (the kernel's memory is empty in it). An
 * image is how an instance looks after its start functions; a patch is what a script that was loaded
 * after them has changed.
 */
export interface Image {
  /** The memory's size in pages of 64 KiB. */
  pages: number;
  /** Values of the exports `edge_global_0`, `edge_global_1`, … */
  globals: (number | bigint)[];
  /** Ranges that differ from a new instance's memory. */
  runs: { at: number; bytes: Uint8Array }[];
}

const PAGE = 65536;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

function globalsOf(exports: WebAssembly.Exports): WebAssembly.Global[] {
  const found: WebAssembly.Global[] = [];
  for (let at = 0; exports[`edge_global_${at}`] instanceof WebAssembly.Global; at++) {
    found.push(exports[`edge_global_${at}`] as WebAssembly.Global);
  }
  return found;
}

/** The instance's own memory, as bytes; none where it has no memory but the kernel's. */
export function memoryOf(exports: WebAssembly.Exports): Uint8Array<ArrayBuffer> {
  const memory = exports["memory"];
  return new Uint8Array(memory instanceof WebAssembly.Memory ? memory.buffer : new ArrayBuffer());
}

/** A range of a guest's memory. Traps like the guest's own access if it reaches beyond the end. */
export function rangeOf(buffer: ArrayBuffer, at: number, length: number): Uint8Array<ArrayBuffer> {
  if ((at >>> 0) + length > buffer.byteLength) {
    throw new WebAssembly.RuntimeError("memory access out of bounds");
  }
  return new Uint8Array(buffer, at >>> 0, length);
}

const kernelOf = (exports: WebAssembly.Exports): Uint8Array =>
  new Uint8Array((exports["edge_memory"] as WebAssembly.Memory).buffer);

/** The state of an instance in short: equal states have equal fingerprints. For checks, not against attacks. */
export function fingerprint(exports: WebAssembly.Exports): string {
  const hashes = [memoryOf(exports), kernelOf(exports)].map(({ buffer }) => {
    // FNV-1a, in words: http://www.isthe.com/chongo/tech/comp/fnv/
    let hash = 0x811c9dc5;
    for (const word of new Uint32Array(buffer)) hash = Math.imul(hash ^ word, 0x01000193);
    return `${buffer.byteLength}:${hash >>> 0}`;
  });
  return [...hashes, ...globalsOf(exports).map(({ value }) => String(value))].join(" ");
}

/** True if the kernel has never been used. */
export function isKernelNew(exports: WebAssembly.Exports): boolean {
  const kernel = kernelOf(exports);
  return kernel.length === PAGE && kernel.every((byte) => byte === 0);
}

/** Views of an instance's state, looked up once. They become empty when a memory grows. */
export interface Body {
  memory: Uint8Array;
  kernel: Uint8Array;
  globals: WebAssembly.Global[];
}

export const bodyOf = (exports: WebAssembly.Exports): Body => ({
  memory: memoryOf(exports),
  kernel: kernelOf(exports),
  globals: globalsOf(exports),
});

/** True if neither memory has grown beyond the image. */
export function isOfSize({ memory, kernel }: Body, { pages }: Image): boolean {
  return memory.length === pages * PAGE && kernel.length === PAGE;
}

/** Puts an instance of the image's size back into its state, to the byte. */
export function restore({ memory, kernel, globals }: Body, image: Image): void {
  let end = 0;
  for (const { at, bytes } of image.runs) {
    memory.fill(0, end, at);
    memory.set(bytes, at);
    end = at + bytes.length;
  }
  memory.fill(0, end);
  kernel.fill(0);
  for (let at = 0; at < globals.length; at++) globals[at]!.value = image.globals[at];
}

/** How an instance has changed since its memory was `before`. Runs keep to whole blocks of `grain` bytes. */
export function difference(exports: WebAssembly.Exports, before: Uint8Array, grain: number): Image {
  const now = memoryOf(exports);
  const runs: Image["runs"] = [];
  let begin = -1;
  for (let at = 0; at <= now.length; at += grain) {
    const differs = at < now.length && !equal(now, before, at, Math.min(at + grain, now.length));
    if (differs && begin < 0) begin = at;
    if (!differs && begin >= 0) {
      runs.push({ at: begin, bytes: now.slice(begin, at) });
      begin = -1;
    }
  }
  return {
    pages: now.length / PAGE,
    globals: globalsOf(exports).map(({ value }) => value as number | bigint),
    runs,
  };
}

/** True if these memories are equal from `from` to `to`. Beyond its end, `before` is zero. */
function equal(now: Uint8Array, before: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (now[at] !== (before[at] ?? 0)) return false;
  return true;
}

/** Puts an instance into the state of an image. */
export function apply(exports: WebAssembly.Exports, { pages, globals, runs }: Image): void {
  const missing = pages - memoryOf(exports).length / PAGE;
  if (missing > 0) (exports["memory"] as WebAssembly.Memory).grow(missing);
  const memory = memoryOf(exports);
  for (const { at, bytes } of runs) memory.set(bytes, at);
  for (const [at, global] of globalsOf(exports).entries()) global.value = globals[at];
}

/** An image as bytes: the length of a head in JSON, the head, then the bytes of the runs. */
export function encodeImage({ pages, globals, runs }: Image): Uint8Array<ArrayBuffer> {
  const head = encoder.encode(
    JSON.stringify({
      pages,
      globals: globals.map(String),
      runs: runs.map(({ at, bytes }) => [at, bytes.length]),
    }),
  );
  return concatenate([
    new Uint8Array(new Uint32Array([head.length]).buffer),
    head,
    ...runs.map(({ bytes }) => bytes),
  ]);
}

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

/** The image in these bytes, which it shares. Its globals are numbers: guests of images have no others. */
export function decodeImage(encoded: ArrayBuffer): Image {
  const length = new DataView(encoded).getUint32(0, true);
  const head = JSON.parse(decoder.decode(new Uint8Array(encoded, 4, length))) as {
    pages: number;
    globals: string[];
    runs: [number, number][];
  };
  let offset = 4 + length;
  return {
    pages: head.pages,
    globals: head.globals.map(Number),
    runs: head.runs.map(([at, size]) => {
      const bytes = new Uint8Array(encoded, offset, size);
      offset += size;
      return { at, bytes };
    }),
  };
}
