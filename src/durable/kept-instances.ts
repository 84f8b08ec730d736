import { limits } from "../limits.ts";
import { areAll, type KnownBlocks } from "./state-blocks.ts";
import { stringBytes } from "../text.ts";
import { BLOCK } from "../wasm/marks.ts";
import { giveBack, type Program } from "../wasm/pool.ts";
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

/** State that is kept in memory, and its size there. */
interface Held<T> {
  kept: T;
  bytes: number;
}

/** The instances that objects of this isolate keep between calls; the least recently used first. */
const instances = new Map<object, Held<Kept & { program: Program }>>();
/** The blocks of objects whose instances were too much, so that they need not be read again; in the same order. */
const memories = new Map<object, Held<KnownBlocks>>();
let bytesOfAll = 0;

/** Takes the state that an object keeps, as far as it is still there: an instance, or else its blocks. */
export function takeKept(object: object): Kept | { instance?: undefined; blocks?: KnownBlocks } {
  return take(instances, object) ?? { blocks: take(memories, object) };
}

/**
 * Keeps an instance for the next call of its object. What is too much for the isolate is given up: first instances,
 * which then wait for any call of their servlet, and then their blocks.
 */
export function keepInstance(object: object, program: Program, kept: Kept): void {
  const { memory, kernel } = kept.instance.body!;
  let bytes = memory.length + kernel.length + bytesOf(kept.blocks);
  for (const [name, value] of kept.vars) bytes += stringBytes(name) + value.length;
  put(instances, object, { kept: { ...kept, program }, bytes });
  for (const oldest of instances.keys()) {
    if (bytesOfAll <= limits.keptInstanceBytes) return;
    giveUp(oldest, take(instances, oldest)!);
  }
  for (const oldest of memories.keys()) {
    if (bytesOfAll <= limits.keptInstanceBytes) return;
    take(memories, oldest);
  }
}

/** Gives up an instance, but keeps its blocks. */
function giveUp(object: object, { instance, program, blocks }: Kept & { program: Program }): void {
  if (!areAll(blocks)) return;
  put(memories, object, { kept: blocks, bytes: bytesOf(blocks) });
  const { marks } = instance.body!;
  if (marks === undefined) return;
  // All that differs from a pristine instance: its marks were cleared when it was stored.
  for (const nth of blocks.keys()) marks.memory[nth] = 1;
  giveBack(program, instance);
}

function put<T>(all: Map<object, Held<T>>, object: object, held: Held<T>): void {
  all.set(object, held);
  bytesOfAll += held.bytes;
}

function take<T>(all: Map<object, Held<T>>, object: object): T | undefined {
  const found = all.get(object);
  if (found === undefined) return undefined;
  all.delete(object);
  bytesOfAll -= found.bytes;
  return found.kept;
}

const bytesOf = (blocks: KnownBlocks) => blocks.size * BLOCK;
