import { limits } from "./limits.ts";
import type { KnownBlocks } from "./state-blocks.ts";
import { stringBytes } from "../../kernel/core/text.ts";
import { BLOCK, mark } from "../../kernel/wasm/marks.ts";
import { drop, giveBack, type Program } from "../../kernel/wasm/pool.ts";
import type { Instance } from "../../kernel/wasm/link.ts";

/** Extism's variables. */
export type Variables = ReadonlyMap<string, Uint8Array>;

/** An instance whose memory and globals are those that its object has stored, and the variables that go with it. */
export interface KeptInstance {
  instance: Instance;
  vars: Variables;
  /** The blocks of its memory as they are stored. */
  blocks: KnownBlocks;
  /** By the numbers of blocks: 1 if a pristine instance has something there. */
  used: Uint8Array;
}

interface Evictable extends KeptInstance {
  program: Program;
  /** True if its blocks are all that are stored. */
  hasAllBlocks: boolean;
}

/** Something that is kept in memory, and its bytes there. */
interface Held<T> {
  kept: T;
  bytes: number;
}

/** The instances that objects of this isolate keep between calls. */
const instances = new Map<object, Held<Evictable>>();
/** The blocks of objects whose instances were evicted, so that they need not be read again; the oldest first. */
const memories = new Map<object, Held<KnownBlocks>>();
let bytesOfAll = 0;

/** Takes out what is still kept for an object: its instance, else its blocks, else nothing. */
export function takeKept(
  object: object,
): KeptInstance | { instance?: undefined; blocks?: KnownBlocks } {
  return take(instances, object) ?? { blocks: take(memories, object) };
}

/**
 * Keeps an instance for the next call of its object. Beyond `limits.keptInstanceBytes` in the isolate, others are evicted:
 * first instances, which go back to the pool of their servlet, then the oldest blocks. An instance is evicted at random:
 * where objects are called in turn and one too many is kept, the oldest is always the one that is called next.
 */
export function keepInstance(object: object, kept: Evictable): void {
  let bytes = heldBytes(kept) + bytesOf(kept.blocks);
  for (const [name, value] of kept.vars) bytes += stringBytes(name) + value.length;
  // An instance that exceeds the limit by itself must not evict others.
  if (bytes > limits.keptInstanceBytes) evict(object, kept);
  else put(instances, object, { kept, bytes });
  while (bytesOfAll > limits.keptInstanceBytes && instances.size > 0) {
    const nth = Math.floor(Math.random() * instances.size);
    const chosen = instances.keys().drop(nth).next().value!;
    evict(chosen, take(instances, chosen)!);
  }
  for (const oldest of memories.keys()) {
    if (bytesOfAll <= limits.keptInstanceBytes) return;
    take(memories, oldest);
  }
}

/**
 * Bytes of an instance's memories. Blocks that are zero in a pristine instance and are not stored do not count: most were
 * never written, so the operating system has not allocated them.
 */
function heldBytes({ instance, used, blocks, hasAllBlocks }: Evictable): number {
  const { memory, kernel } = instance.body!;
  if (!hasAllBlocks) return memory.length + kernel.length;
  // Memory that the instance has grown by counts in full.
  let bytes = kernel.length + memory.length - used.length * BLOCK;
  for (let nth = 0; nth < used.length; nth++)
    if (used[nth] === 1 || blocks.has(nth)) bytes += BLOCK;
  return bytes;
}

/** Drops what is kept for an object. */
export function dropKept(object: object): void {
  const { instance } = takeKept(object);
  if (instance !== undefined) drop(instance);
}

/** Keeps an instance's blocks and gives it back to the pool; drops both if not all of its blocks are known. */
function evict(object: object, { instance, program, blocks, hasAllBlocks }: Evictable): void {
  if (!hasAllBlocks) return drop(instance);
  put(memories, object, { kept: blocks, bytes: bytesOf(blocks) });
  const { marks } = instance.body!;
  if (marks === undefined) return drop(instance);
  // The pool resets what is marked. Storing the state has cleared the marks, so all blocks that differ are marked again.
  for (const nth of blocks.keys()) mark(marks.memory, nth * BLOCK, BLOCK);
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
