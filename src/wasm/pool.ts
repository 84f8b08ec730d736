import { limits } from "../limits.ts";
import { Guest, type Setup } from "./guest.ts";
import {
  apply,
  currentBody,
  decodeImage,
  difference,
  fingerprint,
  restore,
  type Image,
} from "./image.ts";
import { Journal } from "./journal.ts";
import { instantiate, run, type Code, type Instance } from "./link.ts";
import { BLOCK } from "./marks.ts";
import { startWorld } from "./world.ts";

/** A prepared servlet, or a prepared engine and the patch that makes a servlet of it. */
export interface Program extends Code {
  /** SHA-256 of all of it, in hex. */
  hash?: string;
  /**
   * An encoded image: how an instance differs when a call begins from one that has started (where it
   * `startsOnce`) or else from a new one.
   */
  patch?: ArrayBuffer;
  /** True if its start functions depend on nothing, so that they run once in an isolate for all calls. */
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
  /**
   * The time that an idle instance saves for each byte that it takes, and the floor when it was last used:
   * the least are given up first ("GreedyDual-Size": Cao and Irani, USITS 1997).
   */
  worth: number;
  /** The fingerprint of a new instance; only for `checked`. */
  fingerprint?: string;
}

/** By the program's patch, or its module where it has none. */
const pools = new Map<ArrayBuffer | WebAssembly.Module, Pool>();
let idleBytes = 0;
/** The worth of what was last given up: what has not been used since sinks below what is used now. */
let floor = 0;

const keyOf = ({ module, patch }: Program) => patch ?? module;

/** An instance in its pristine state for this guest: one that waits, or a new one. */
export async function borrow(program: Program, guest: Guest): Promise<Instance> {
  const pool = pools.get(keyOf(program));
  const waiting = program.restorable === true ? pool?.idle.pop() : undefined;
  if (waiting !== undefined) {
    idleBytes -= bytesOf(waiting);
    waiting.guest = guest;
    return waiting;
  }
  return newborn(program, pool ?? (await newPool(program)), guest);
}

/** A new instance in its pristine state. */
export async function makeInstance(program: Program, guest: Guest): Promise<Instance> {
  return newborn(program, pools.get(keyOf(program)) ?? (await newPool(program)), guest);
}

function newborn(program: Program, { pristine }: Pool, guest: Guest): Instance {
  const instance = instantiate(program, guest);
  if (isBornStarted(program)) apply(instance.exports, pristine);
  return instance;
}

/**
 * Takes back an instance whose guest has come to its end, in whatever way: it is put into its pristine
 * state, and waits for another call. Where that cannot be done, or does not pay, it is dropped.
 */
export function giveBack(program: Program, instance: Instance): void {
  const pool = pools.get(keyOf(program));
  if (program.restorable !== true || pool === undefined) return;
  const body = currentBody(instance);
  const bytes = bytesOf(instance);
  if (pool.idle.length >= limits.idleInstances || bytes > limits.idleBytes) return;
  if (body.marks === undefined && bytes > limits.restoredBytes) return;
  restore(body, pool.pristine);
  if (program.checked === true) {
    pool.fingerprint ??= fingerprint(newborn(program, pool, newGuest()).exports);
    if (fingerprint(instance.exports) !== pool.fingerprint) {
      throw new Error("an instance that was put back differs from a newborn one");
    }
  }
  instance.guest = undefined;
  pool.idle.push(instance);
  pool.worth = floor + makingNs(pool) / bytes;
  idleBytes += bytes;
  while (idleBytes > limits.idleBytes) giveUpOne();
}

/** Drops an idle instance of the pool that is worth least. */
function giveUpOne(): void {
  let least: Pool | undefined;
  for (const pool of pools.values()) {
    if (pool.idle.length > 0 && (least === undefined || pool.worth < least.worth)) least = pool;
  }
  if (least === undefined) return;
  floor = least.worth;
  idleBytes -= bytesOf(least.idle.pop()!);
}

/** About how long it takes to make an instance: V8's part, and what is copied into its memory. */
const makingNs = ({ pristine: { runs } }: Pool) =>
  100_000 + runs.reduce((sum, { bytes }) => sum + bytes.length, 0) / 8;

/** How many instances of a program wait for a call. */
export function idleInstances(program: Program): number {
  return pools.get(keyOf(program))?.idle.length ?? 0;
}

const bytesOf = ({ body }: Instance) => body!.memory.length + body!.kernel.length;

/** Finds out how a program's instances look before their first call. */
async function newPool(program: Program): Promise<Pool> {
  const guest = newGuest();
  const instance = instantiate(program, guest);
  const { exports } = instance;
  if (isBornStarted(program)) {
    guest.attach(exports);
    const hasStart = exports["edge_start"] !== undefined;
    if (program.startsOnce === true && hasStart) await run(instance, "edge_start");
    if (program.patch !== undefined) apply(exports, decodeImage(program.patch));
  }
  const pristine = difference(exports, new Uint8Array(0), BLOCK);
  // Another call may have found it out meanwhile.
  const pool: Pool = pools.get(keyOf(program)) ?? { pristine, idle: [], worth: 0 };
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
