import { limits } from "../limits.ts";
import { Guest, type Setup } from "./guest.ts";
import {
  apply,
  bodyOf,
  decodeImage,
  difference,
  fingerprint,
  isOfSize,
  restore,
  type Image,
} from "./image.ts";
import { Journal } from "./journal.ts";
import { instantiate, run, type Code, type Instance } from "./link.ts";
import { startWorld } from "./world.ts";

/** A prepared servlet, or a prepared engine and the patch that makes a servlet of it. */
export interface Program extends Code {
  /** SHA-256 of all of it, in hex. */
  hash?: string;
  /** An encoded image: what a script has changed in the engine since it started. */
  patch?: ArrayBuffer;
  /** True if its start functions depend on nothing, so that they run once for all calls. */
  startsOnce?: boolean;
  /** True if a used instance may be restored to its pristine state and used again. */
  restorable?: boolean;
  /** Compares each restored instance with a new one; slow, for tests and debugging. */
  checked?: boolean;
}

/** True if the start functions have run in the pristine state; else they run in each call. */
export const isBornStarted = ({ patch, startsOnce }: Program) =>
  patch !== undefined || startsOnce === true;

/** The idle instances of a program in this isolate. */
interface Pool {
  /** How an instance looks before its first call. */
  pristine: Image;
  /** Instances in that state, waiting for a call. */
  idle: Instance[];
  /** The fingerprint of a new instance; only for `checked`. */
  fingerprint?: string;
}

/** By the program's patch, or its module where it has none; the least recently used first. */
const pools = new Map<ArrayBuffer | WebAssembly.Module, Pool>();
let idleBytes = 0;

const keyOf = ({ module, patch }: Program) => patch ?? module;

/** An instance in its pristine state for this guest: one that waits, or a new one. */
export async function borrow(program: Program, guest: Guest): Promise<Instance> {
  const key = keyOf(program);
  const pool = pools.get(key);
  const waiting = program.restorable === true ? pool?.idle.pop() : undefined;
  if (pool !== undefined && waiting !== undefined) {
    pools.delete(key);
    pools.set(key, pool);
    idleBytes -= sizeOf(pool);
    waiting.guest = guest;
    return waiting;
  }
  return newborn(program, pool ?? (await newPool(program)), guest);
}

function newborn(program: Program, { pristine }: Pool, guest: Guest): Instance {
  const instance = instantiate(program, guest);
  if (isBornStarted(program)) apply(instance.exports, pristine);
  return instance;
}

/**
 * Takes back an instance whose call has ended in the normal way. It is put into its pristine state, and
 * waits for another call; where that cannot be done it is dropped.
 */
export function giveBack(program: Program, instance: Instance): void {
  const pool = pools.get(keyOf(program));
  if (program.restorable !== true || pool === undefined) return;
  const body = (instance.body ??= bodyOf(instance.exports));
  if (!isOfSize(body, pool.pristine)) return;
  if (sizeOf(pool) > limits.restoredBytes || pool.idle.length >= limits.idleInstances) return;
  restore(body, pool.pristine);
  if (program.checked === true) {
    pool.fingerprint ??= fingerprint(newborn(program, pool, newGuest()).exports);
    if (fingerprint(instance.exports) !== pool.fingerprint) {
      throw new Error("an instance that was put back differs from a newborn one");
    }
  }
  instance.guest = undefined;
  pool.idle.push(instance);
  idleBytes += sizeOf(pool);
  for (const other of pools.values()) {
    while (idleBytes > limits.idleBytes && other.idle.pop() !== undefined)
      idleBytes -= sizeOf(other);
  }
}

/** How many instances of a program wait for a call. */
export function idleInstances(program: Program): number {
  return pools.get(keyOf(program))?.idle.length ?? 0;
}

const sizeOf = ({ pristine }: Pool) => pristine.pages * 65536 + 65536;

/** The size of a memory page: writes touch whole pages, so finer runs would gain nothing. */
const GRAIN = 4096;

/** Finds out how a program's instances look before their first call. */
async function newPool(program: Program): Promise<Pool> {
  const guest = newGuest();
  const instance = instantiate(program, guest);
  const { exports } = instance;
  if (isBornStarted(program)) {
    guest.attach(exports);
    await run(instance, "edge_start");
    // A script was loaded after its engine had started, in the same world.
    if (program.patch !== undefined) apply(exports, decodeImage(program.patch));
  }
  const pool = { pristine: difference(exports, new Uint8Array(0), GRAIN), idle: [] };
  pools.set(keyOf(program), pool);
  return pool;
}

const newGuest = () =>
  new Guest(nobody, new Journal({ hash: "", input: "" }, startWorld, undefined));

/** A call that has nothing and reaches nobody. */
export const nobody: Setup = {
  world: startWorld,
  config: {},
  allowedHosts: [],
  secret: () => undefined,
  logLevel: "error",
  signal: () => new AbortController().signal,
  log: () => {},
  notify: () => {},
  ask: () => Promise.reject(new Error("nobody can be asked while a servlet starts")),
};
