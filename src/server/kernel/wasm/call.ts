/** Runs one export of a guest, from its instance to its ending. */
import { Fault } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import type { Keeper, Recorded } from "../core/record.ts";
import { adviceAfter } from "../core/unknown-outcome.ts";
import { Wait, type WaitReason } from "../core/suspension.ts";
import { BudgetExceeded, type Budget, type Fuel } from "./budget.ts";
import { inEnvironment } from "./environment.ts";
import { Exit, Guest, GuestError, Unwound, type Setup } from "./guest.ts";
import { Journal } from "./journal.ts";
import { borrow, giveBack, isBornStarted, type Program } from "./pool.ts";
import type { EventStream } from "./event-stream.ts";
import { runExport, type Instance } from "./link.ts";

export type { GuestCredentials, LogLevel, Setup } from "./guest.ts";
export type { Program } from "./pool.ts";

/** How a run of a servlet's export ended. */
export type Ending =
  /** With code 0; the output is whatever the guest set. `fuelUsed` counts all runs of the call. */
  | {
      kind: "returned";
      output: string | undefined;
      fuelUsed: number;
      isSingleUse?: boolean;
      failure?: string | undefined;
    }
  /** With another code or an error message: the servlet's own error, meant for the caller. */
  | { kind: "refused"; message: string; fuelUsed?: number; failure?: string | undefined }
  /**
   * By a trap, or because it computed for too long. The message is short and meant for the caller; `failure`, here and
   * above, is for operators: the guest's exception with its stack, or why its host stopped it.
   */
  | { kind: "trapped"; message: string; fuelUsed?: number; failure?: string | undefined }
  /** By a `Wait`: the guest is gone, and the call can be run again. */
  | {
      kind: "suspended";
      reason: WaitReason;
      fuelUsed: number;
      recorded?: Recorded | undefined;
      /** As in `Suspended`. */
      isSingleUse?: boolean;
    };

/** Provides a call's instance, and takes it back. */
export interface InstanceSource {
  /** The parts of the setup that must be new for each run: called before each run but the first. */
  renewed?(): Partial<Setup>;
  /**
   * Provides an instance; called in the guest's turn. If it resolves to undefined, it must be called again in a later
   * turn. May charge the guest for the work, after attaching the guest to the instance.
   */
  take(program: Program, guest: Guest): Instance | Promise<Instance | undefined>;
  /** Called when the guest is gone; with its ending, if it ended by itself. */
  giveBack(program: Program, instance: Instance, ending: Ending | undefined): Promise<void> | void;
}

const pool: InstanceSource = { take: borrow, giveBack };

/** The record to resume, and where to store new entries, for a durable call. */
export interface Durability {
  recorded?: Recorded | undefined;
  /** For a new call: 32 bytes in hex; random by default. */
  seed?: string | undefined;
  /** The earliest time of its beginning, in Unix ms. */
  time?: number | undefined;
  keeper?: Keeper | undefined;
  /** The previous run's budget, if its guest was unwound to wait. */
  budget?: Budget | undefined;
  /** The event stream that this guest reads. */
  events?: EventStream | undefined;
  beside?: EventStream | undefined;
}

/**
 * Runs one export of a prepared servlet in a pristine instance. With `recorded`, the run resumes an earlier one with
 * the same input. If there is no room for its guest while it waits, the guest is unwound, and another one continues
 * from its journal.
 *
 * Throws a `Fault` if the call was cancelled, the client cannot answer the guest's request, or this run deviated from
 * the earlier one; anything else that the guest does ends in an `Ending`.
 */
export async function callExport(
  program: Program,
  name: string,
  input: string,
  setup: Setup & Durability,
  source = pool,
): Promise<Ending> {
  const { recorded, keeper, world, seed, time, budget } = setup;
  const image = inEnvironment(program, setup);
  const ready = image instanceof Promise ? await image : image;
  const { hash = "", environment } = ready;
  if (recorded !== undefined && recorded.head.environment !== environment) {
    throw new Fault(
      "invalid_params",
      `Values of the servlet's environment have changed since this call began, so the call cannot continue. ${adviceAfter(recorded)}`,
    );
  }
  const begun = recorded ?? {
    hash,
    input,
    ...(environment !== undefined && { environment }),
    ...(seed && { seed }),
    ...(time !== undefined && { time: Math.max(time, world.now()) }),
  };
  const journal = new Journal(begun, world, keeper, setup.keepsState);
  const guest = new Guest(setup, journal, budget);
  guest.events = setup.events;
  guest.beside = setup.beside;
  let instance: Instance | undefined;
  let hasWaited = false;
  // Before its turn it has no instance, and so takes no memory.
  while (instance === undefined) {
    const turn = guest.turn();
    if (turn !== undefined) await turn;
    const taken = source.take(ready, guest);
    hasWaited = taken instanceof Promise;
    instance = taken instanceof Promise ? await taken : taken;
  }
  let ending: Ending | undefined;
  let answered: Unwound["answered"] | undefined;
  try {
    if (guest.fuelMeter === undefined) guest.attach(instance.exports, setup);
    if (hasWaited) await guest.turn();
    const hasStarted = isBornStarted(ready) || instance.hasStarted === true;
    if (instance.exports["edge_start"] !== undefined && !hasStarted) {
      await runExport(instance, "edge_start");
    }
    guest.setInput(recorded?.head.input ?? input);
    const code = runExport(instance, name);
    ending = returned(guest, typeof code === "number" ? code : await code);
    return ending;
  } catch (error) {
    const reason = guest.ended ?? error;
    if (!(reason instanceof Unwound)) return await interrupted(guest, reason);
    ({ answered } = reason);
    guest.detach();
  } finally {
    guest.count();
    // However the guest ended, its stack is gone: the rest of the call is in its memories and globals.
    try {
      const back = source.giveBack(ready, instance, ending);
      if (back !== undefined) await back;
    } finally {
      if (answered === undefined) guest.end();
    }
  }
  // A call that waits without its guest must not hold the instance.
  instance = undefined;
  try {
    await answered;
  } catch (error) {
    return await interrupted(guest, error).finally(() => guest.end());
  }
  const next = {
    recorded: journal.recorded(),
    fuelUsed: guest.fuelMeter!.used,
    budget: guest.budget,
    events: guest.events,
    beside: guest.beside,
  };
  guest.events = guest.beside = undefined;
  guest.end();
  return callExport(program, name, input, { ...setup, ...source.renewed?.(), ...next }, source);
}

/** The ending of a guest that did not end by itself. */
async function interrupted(guest: Guest, reason: unknown): Promise<Ending> {
  const { journal, setup, fuelMeter } = guest;
  if (!(reason instanceof Wait))
    return Object.assign(unwound(guest, reason), { fuelUsed: fuelMeter?.used ?? 0 });
  await journal.keep();
  // A run that found no room and got no further will be repeated, and is not the guest's fault. Nested calls may have
  // continued.
  const isInVain = reason.reason.kind === "retry" && !journal.hasGoneOn;
  const { used, innerFuel } = fuelMeter!;
  const fuelUsed = isInVain ? (setup.fuelUsed ?? 0) + innerFuel : used;
  const recorded = journal.recorded(reason.reason);
  return { kind: "suspended", reason: reason.reason, fuelUsed, ...(recorded && { recorded }) };
}

/** Runs one export in a started instance, in a call of this guest that cannot be suspended. */
export async function callIn(
  instance: Instance,
  name: string,
  input: string,
  guest: Guest,
  fuel: Fuel,
): Promise<Ending> {
  guest.attach(instance.exports, fuel);
  try {
    guest.setInput(input);
    return returned(guest, await runExport(instance, name));
  } catch (error) {
    return unwound(guest, guest.ended ?? error);
  }
}

/**
 * Lets a guest whose call is over collect its garbage and clear its free memory, with the call's remaining fuel. False
 * if the guest does not support that. If it throws, the instance must not be used any more.
 */
export async function collectGarbage(instance: Instance): Promise<boolean> {
  const { guest, exports } = instance;
  if (exports["edge_collect"] === undefined || guest === undefined) return false;
  guest.isCollecting = true;
  await runExport(instance, "edge_collect");
  return true;
}

/** The ending of a guest whose export returned this code. Throws the error that ended its call earlier. */
function returned(guest: Guest, code: number): Ending {
  if (guest.ended !== undefined) throw guest.ended;
  return finished(guest, code);
}

function finished(guest: Guest, code: number): Ending {
  guest.journal.finish();
  const message = guest.error();
  const { thrown: failure } = guest;
  const thrown = failure === undefined ? {} : { failure };
  if (message !== undefined || code !== 0) {
    return {
      kind: "refused",
      message: message || `The servlet ended with code ${code} and no message.`,
      fuelUsed: guest.fuelMeter!.used,
      ...thrown,
    };
  }
  return { kind: "returned", output: guest.output(), fuelUsed: guest.fuelMeter!.used, ...thrown };
}

/** The only place that catches the exception of an unwound guest. */
function unwound(guest: Guest, error: unknown): Ending {
  if (error instanceof Fault) {
    if (error.code === "cancelled") {
      guest.log("info", error.message);
      void guest.whenCancelled?.().catch(() => {});
    }
    throw error;
  }
  if (error instanceof Exit) {
    try {
      return finished(guest, error.code);
    } catch (unfit) {
      return unwound(guest, unfit);
    }
  }
  if (guest.fuelMeter?.isEmpty === true) {
    return { kind: "trapped", message: guest.fuelMeter.exhaustedMessage };
  }
  if (error instanceof GuestError || error instanceof BudgetExceeded) {
    const { message } = error;
    return { kind: "refused", message, failure: guest.hide(message, limits.logCharacters) };
  }
  const trap = trapMessage(error);
  if (trap === undefined) throw error;
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { kind: "trapped", message: trap, failure: guest.hide(stack, limits.logCharacters) };
}

/** The caller's message for a trap; undefined if the error is an internal one. */
function trapMessage(error: unknown): string | undefined {
  // V8 reports an exhausted stack as a RangeError, on either side of the border.
  if (error instanceof RangeError && /call stack/i.test(error.message)) {
    return "The servlet recursed too deeply and was stopped.";
  }
  // Thrown by a `DataView` of the guest's memory for an address outside it.
  if (error instanceof RangeError && /outside the bounds/.test(error.message)) {
    return "The servlet crashed.";
  }
  if (error instanceof WebAssembly.Exception)
    return "The servlet threw an exception and was stopped.";
  if (!(error instanceof WebAssembly.RuntimeError)) return undefined;
  if (/unreachable/.test(error.message)) {
    return "The servlet crashed (it gave up, or ran out of memory).";
  }
  return "The servlet crashed.";
}
