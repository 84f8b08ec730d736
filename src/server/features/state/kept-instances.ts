import { limits } from "./limits.ts";
import type { KnownBlocks } from "./state-blocks.ts";
import { stringBytes } from "../../kernel/core/text.ts";
import { BLOCK, mark } from "../../kernel/wasm/marks.ts";
import { drop, giveBack, type Program } from "../../kernel/wasm/pool.ts";
import type { Instance } from "../../kernel/wasm/link.ts";

/** Extism's variables. */
export type Variables = ReadonlyMap<string, Uint8Array>;

/** An instance with the stored memory and globals of its object, and its variables. */
export interface KeptInstance {
  instance: Instance;
  vars: Variables;
  /** The stored content of its memory blocks. */
  blocks: KnownBlocks;
  /** By block number: 1 if the block is not zero in a pristine instance. */
  used: Uint8Array;
}

interface Evictable extends KeptInstance {
  program: Program;
  /** True if `blocks` has all stored blocks. */
  hasAllBlocks: boolean;
}

/** A cached value and the bytes of memory that it takes. */
interface Held<T> {
  kept: T;
  bytes: number;
}

/** The instances that objects of this isolate cache between calls. */
const instances = new Map<object, Held<Evictable>>();
/** The blocks of objects whose instances were evicted, so that they need not be read again; the oldest first. */
const memories = new Map<object, Held<KnownBlocks>>();
let bytesOfAll = 0;

/** Removes and returns what is cached for an object: its instance, or else its blocks. */
export function takeKept(
  object: object,
): KeptInstance | { instance?: undefined; blocks?: KnownBlocks } {
  return take(instances, object) ?? { blocks: take(memories, object) };
}

/**
 * Caches an instance for the next call of its object. Beyond `limits.keptInstanceBytes` an isolate evicts others:
 * first instances, which return to the pool of their servlet, then the oldest blocks. A random instance is evicted:
 * if objects are called in turn and one instance too many is cached, the oldest is always the next to be called.
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

/** Drops what is cached for an object. */
export function dropKept(object: object): void {
  const { instance } = takeKept(object);
  if (instance !== undefined) drop(instance);
}

/** Caches an instance's blocks and returns it to the pool; drops both if not all of its blocks are known. */
function evict(object: object, { instance, program, blocks, hasAllBlocks }: Evictable): void {
  if (!hasAllBlocks) return drop(instance);
  put(memories, object, { kept: blocks, bytes: bytesOf(blocks) });
  const { marks } = instance.body!;
  if (marks === undefined) return drop(instance);
  // The pool resets marked blocks. Storing the state has cleared the marks, so mark all blocks that differ.
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
