import { limits } from "./limits.ts";
import { countGarbage, makeRoom } from "./garbage.ts";
import { Guest, type Setup } from "./guest.ts";
import {
  apply,
  currentBody,
  fingerprint,
  imageOf,
  restoreImage,
  usedBlocks,
  type Image,
} from "./image.ts";
import { Journal } from "./journal.ts";
import { instantiate, runExport, type Code, type Instance } from "./link.ts";
import { applyPatch, patchedImage, undoPatch } from "./patch.ts";
import { startWorld } from "./world.ts";

/**
 * Largest instance that is restored if its guest does not mark its writes: above this, rewriting everything costs more
 * than a new instance. Measured, restored against new: at 1 MiB 1.7 times the calls, at 4 MiB 1.16 times, at 8 MiB 0.91
 * times.
 */
const RESTORED_BYTES = 6 * 1024 * 1024;

/** Fuel for each restored byte, which is copied to scattered places. */
const RESTORE_FUEL = 0.25;

/** A prepared servlet, or a prepared interpreter with the patches of a servlet. */
export interface Program extends Code {
  /** SHA-256 of all its parts, in hex. */
  hash?: string;
  /** For an interpreter: the patch that all of its servlets share. An instance with it serves any of them. */
  base?: ArrayBuffer;
  /** The patch over the base that all servlets with the same packages share: instances serve those servlets only. */
  packages?: ArrayBuffer;
  /**
   * The difference of an instance when a call begins: from one with the base and the packages, from one that has started
   * (if it `startsOnce`), or else from a new one.
   */
  patch?: ArrayBuffer;
  /** True if its start functions depend on nothing, so that they run once in an isolate for all calls. */
  startsOnce?: boolean;
  /** True if a used instance may be restored to its pristine state and used again. */
  restorable?: boolean;
  /** Its exports; absent if unknown. */
  exports?: readonly string[];
  /** The SHA-256 of its image, in hex, if its modules have run for values of its environment. */
  environment?: string;
  /** Compares each restored instance with a new one; slow, for tests and debugging. */
  checked?: boolean;
}

/** True if the pristine state includes the start functions; else they run in each call. */
export const isBornStarted = ({ patch, startsOnce }: Program) =>
  patch !== undefined || startsOnce === true;

const knownUsed = new WeakMap<object, Uint8Array>();

/** The blocks in which a pristine instance has data: see `usedBlocks`. */
export function usedWhenPristine({ patch, module }: Program, instance: Instance): Uint8Array {
  const key = patch ?? module;
  const used = knownUsed.get(key) ?? usedBlocks(instance);
  knownUsed.set(key, used);
  return used;
}

/** The idle instances in this isolate of a program, or of all programs of an interpreter. */
interface Pool {
  /** The state of an instance before its first call; for an interpreter, without a servlet's patch. */
  pristine: Image;
  /** Instances in that state, or with a servlet's patch, waiting for a call; the last used one is last. */
  idle: Instance[];
  /**
   * The time that an idle instance saves for each byte that it takes, plus the floor when it was last used: the pool
   * worth least is evicted first ("GreedyDual-Size": Cao and Irani, USITS 1997).
   */
  worth: number;
}

const pools = new Map<ArrayBuffer | WebAssembly.Module, Pool>();
let idleBytes = 0;
/** An idle instance larger than all others may be together: the last such one returned. */
let spare: { pool: Pool; instance: Instance } | undefined;
/** The worth of the last evicted instance: unused pools sink below those in use. */
let floor = 0;
/** Fingerprints of new instances, by patch or module; only for `checked`. */
const fingerprints = new WeakMap<object, string>();

const keyOf = ({ module, base, packages, patch }: Program) =>
  base === undefined ? (patch ?? module) : (packages ?? module);

/**
 * A pristine instance for this guest, idle or new, but not the spare one if the instance `isKept` after the call. For
 * the first call of a program, returns a promise: call again when it has resolved.
 */
export function borrow(
  program: Program,
  guest: Guest,
  isKept = false,
): Instance | Promise<undefined> {
  const pool = pools.get(keyOf(program)) ?? newPool(program);
  if (pool instanceof Promise) return pool.then(() => undefined);
  const isReused = program.restorable === true;
  const waiting = isReused ? waitingIn(pool, program, isKept) : undefined;
  if (waiting === undefined) {
    guest.spend(makingNs(pool));
    return newborn(program, pool, guest);
  }
  waiting.guest = guest;
  return waiting;
}

/**
 * Takes the instance that served this program last, else the last used one, which is still in the processor's caches.
 */
function waitingIn(pool: Pool, program: Program, isKept: boolean): Instance | undefined {
  if (program.base === undefined) return take(pool, -1) ?? takeSpare(pool, isKept);
  const before = pool.pristine.runs;
  const at = pool.idle.findLastIndex(({ patch }) => patch === program.patch);
  const instance = take(pool, at) ?? takeSpare(pool, isKept);
  if (instance === undefined) return undefined;
  const { memory } = currentBody(instance);
  if (at >= 0) {
    // If calls of several servlets alternate, an image that serves one of them would cost more than it saves.
    if (instance.patch !== undefined)
      instance.patched ??= patchedImage(memory, before, instance.patch);
    return instance;
  }
  if (instance.patch !== undefined) undoPatch(memory, before, instance.patch);
  instance.patched = undefined;
  putOn(program, instance);
  if (program.checked === true) check(program, pool, instance);
  return instance;
}

/** Removes an idle instance: the one at an index, or the last at -1. */
function take({ idle }: Pool, at: number): Instance | undefined {
  const [instance] = idle.splice(at, 1);
  if (instance !== undefined) idleBytes -= bytesOf(instance);
  return instance;
}

function takeSpare(pool: Pool, isKept: boolean): Instance | undefined {
  if (isKept || spare?.pool !== pool) return undefined;
  const { instance } = spare;
  spare = undefined;
  return instance;
}

/** Turns an interpreter's instance into a servlet's. */
function putOn({ base, patch }: Program, instance: Instance): void {
  if (base === undefined || patch === undefined) return;
  applyPatch(instance, patch);
  instance.patch = patch;
}

/** A new instance in its pristine state, for a run without a caller. */
export async function newInstanceOf(program: Program): Promise<Instance> {
  const guest = newGuest();
  for (;;) {
    const instance = await borrow(program, guest);
    if (instance !== undefined) return instance;
  }
}

function newborn(program: Program, { pristine }: Pool, guest: Guest): Instance {
  makeRoom(guest);
  const instance = instantiate(program, guest);
  if (!isBornStarted(program)) return instance;
  apply(instance.exports, pristine);
  putOn(program, instance);
  return instance;
}

/**
 * Takes back an instance whose guest has ended in any way: it is restored to its pristine state, and waits for another
 * call. If that is impossible or too expensive, it is dropped.
 */
export function giveBack(program: Program, instance: Instance): void {
  const pool = pools.get(keyOf(program));
  if (pool === undefined || !isRestored(program, pool, instance)) return drop(instance);
  const restored = restoreImage(currentBody(instance), instance.patched ?? pool.pristine);
  instance.guest?.spend(restored * RESTORE_FUEL);
  if (instance.patched === undefined) putOn(program, instance);
  if (program.checked === true) check(program, pool, instance);
  addIdle(pool, instance);
}

/** True if an instance can be restored, and restoring it costs less than a new instance. */
function isRestored(program: Program, { idle }: Pool, instance: Instance): boolean {
  if (program.restorable !== true || idle.length >= limits.idleInstances) return false;
  const bytes = bytesOf(instance);
  const isMarked = currentBody(instance).marks !== undefined;
  return isMarked || bytes <= RESTORED_BYTES;
}

/** Adds a pristine instance to the idle instances. */
function addIdle(pool: Pool, instance: Instance): void {
  const bytes = bytesOf(instance);
  instance.guest = undefined;
  instance.hasStarted = false;
  if (bytes > limits.idleBytes) {
    if (spare !== undefined) drop(spare.instance);
    spare = { pool, instance };
    return;
  }
  pool.idle.push(instance);
  pool.worth = floor + makingNs(pool) / bytes;
  idleBytes += bytes;
  while (idleBytes > limits.idleBytes) giveUpOne();
}

/** Leaves an instance to the garbage collector. */
export const drop = (instance: Instance): void => countGarbage(bytesOf(instance));

/** Throws for an instance that differs from a new one. */
function check(program: Program, pool: Pool, instance: Instance): void {
  const key = program.patch ?? program.module;
  const wanted = fingerprints.get(key) ?? fingerprint(newborn(program, pool, newGuest()).exports);
  fingerprints.set(key, wanted);
  if (fingerprint(instance.exports) !== wanted) {
    throw new Error("an instance that was put back differs from a newborn one");
  }
}

/** Drops an idle instance of the pool that is worth least. */
function giveUpOne(): void {
  let least: Pool | undefined;
  for (const pool of pools.values()) {
    if (pool.idle.length > 0 && (least === undefined || pool.worth < least.worth)) least = pool;
  }
  if (least === undefined) return;
  floor = least.worth;
  const instance = least.idle.shift()!;
  idleBytes -= bytesOf(instance);
  drop(instance);
}

/** Approximate time to make an instance: V8's part, and copying its memory. */
const makingNs = ({ pristine: { runs } }: Pool) =>
  100_000 + runs.reduce((sum, { bytes }) => sum + bytes.length, 0) / 8;

/** The number of idle instances of a program. */
export function idleInstances(program: Program): number {
  const pool = pools.get(keyOf(program));
  return pool === undefined ? 0 : pool.idle.length + (spare?.pool === pool ? 1 : 0);
}

function bytesOf(instance: Instance): number {
  const { memory, kernel } = currentBody(instance);
  return memory.length + kernel.length + (instance.patched?.ownBytes ?? 0);
}

/**
 * Determines the pristine state of a program's instances; synchronously, unless they start once for all calls. The
 * instance that it made waits for that call.
 */
function newPool(program: Program): Pool | Promise<Pool> {
  const guest = newGuest();
  const instance = instantiate(program, guest);
  if (!isBornStarted(program)) return poolOf(program, instance);
  guest.attach(instance.exports);
  const hasStart = program.startsOnce === true && instance.exports["edge_start"] !== undefined;
  const started = hasStart ? runExport(instance, "edge_start") : 0;
  if (started instanceof Promise) return started.then(() => poolOf(program, instance));
  return poolOf(program, instance);
}

/** The pool of a program, with the image of an instance that has started. */
function poolOf(program: Program, instance: Instance): Pool {
  const { base, packages, patch } = program;
  const { exports } = instance;
  const shared = base === undefined ? [patch] : [base, packages];
  if (isBornStarted(program))
    for (const one of shared) if (one !== undefined) applyPatch(instance, one);
  // Another call may have made the pool meanwhile.
  const known = pools.get(keyOf(program));
  const pool: Pool = known ?? { pristine: imageOf(exports), idle: [], worth: 0 };
  pools.set(keyOf(program), pool);
  if (!isRestored(program, pool, instance)) drop(instance);
  else {
    restoreImage(currentBody(instance), pool.pristine);
    addIdle(pool, instance);
  }
  return pool;
}

const newGuest = () =>
  new Guest(nobody, new Journal({ hash: "", input: "" }, startWorld, undefined));

/** A call without settings, network, files or anybody to ask. */
export const nobody: Setup = {
  world: startWorld,
  config: {},
  allowedHosts: [],
  secret: () => undefined,
  logLevel: "error",
  signal: () => new AbortController().signal,
  log: () => {},
  notify: () => {},
  ask: () => Promise.reject(new Error("users cannot be asked while a servlet starts")),
};
