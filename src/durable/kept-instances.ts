import { limits } from "../limits.ts";
import type { KnownBlocks } from "./state-blocks.ts";
import { stringBytes } from "../text.ts";
import { BLOCK } from "../wasm/marks.ts";
import type { Instance } from "../wasm/link.ts";

/** Extism's variables. */
export type Variables = ReadonlyMap<string, Uint8Array>;

/** An instance in the stored state of its object, and its variables. */
export interface Kept {
  instance: Instance;
  vars: Variables;
  /** The blocks of its memory as they are stored. */
  blocks: KnownBlocks;
}

/** The instances that objects of this isolate keep in memory between calls; the least recently used first. */
const all = new Map<object, { kept: Kept; bytes: number }>();
let bytesOfAll = 0;

/** Takes the instance that an object keeps, if it is still there. */
export function takeKept(object: object): Kept | undefined {
  const found = all.get(object);
  if (found === undefined) return undefined;
  all.delete(object);
  bytesOfAll -= found.bytes;
  return found.kept;
}

/** Keeps an instance for the next call of its object. What is too much for the isolate is dropped, and loaded again. */
export function keepInstance(object: object, kept: Kept): void {
  const { memory, kernel } = kept.instance.body!;
  let bytes = memory.length + kernel.length + kept.blocks.size * BLOCK;
  for (const [name, value] of kept.vars) bytes += stringBytes(name) + value.length;
  all.set(object, { kept, bytes });
  bytesOfAll += bytes;
  for (const [oldest] of all) {
    if (bytesOfAll <= limits.keptInstanceBytes) return;
    takeKept(oldest);
  }
}
