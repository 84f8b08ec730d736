import { usageKey } from "../core/callers.ts";
import { limits } from "./limits.ts";
import { mebibytes } from "../core/text.ts";
import type { Setup } from "./setup.ts";

/** The servlet's own failure, with a message that is meant for the caller. Ends the call. */
export class GuestError extends Error {}

/** Thrown when a call has used up a part of its budget: unlike after a `GuestError`, the guest cannot continue. */
export class BudgetExceeded extends Error {}

/** Counted events; each has a limit of the same name. */
type Counted = "httpRequests" | "logLines" | "notifications";

/**
 * The resources of one call besides its guest's compute and memory: bytes that the host holds for it, waiting time, and
 * numbers of requests, log lines and notifications.
 */
export class Budget {
  #heldBytes = 0;
  #waitedMs = 0;
  #counts: Record<Counted, number> = { httpRequests: 0, logLines: 0, notifications: 0 };
  readonly #waitMs: number;

  /** With `before`, continues the budget of a guest that was unwound to wait. */
  constructor(waitMs = limits.waitMs, before?: Budget) {
    this.#waitMs = waitMs;
    if (before === undefined) return;
    this.#waitedMs = before.#waitedMs;
    // Its requests are counted again as they are repeated.
    this.#counts = { ...before.#counts, httpRequests: 0 };
  }

  /** Host memory held for the guest until its call ends. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  get waitedMs(): number {
    return this.#waitedMs;
  }

  get leftMs(): number {
    return this.#waitMs - this.#waitedMs;
  }

  /** Takes bytes until the call ends; a negative number releases some. Throws `BudgetExceeded`. */
  hold(bytes: number): void {
    this.#heldBytes += bytes;
    if (this.#heldBytes <= limits.hostBytes) return;
    throw new BudgetExceeded(
      `The servlet used more than ${mebibytes(limits.hostBytes)} of the server's memory in one call (answers of HTTP and clients, variables, notifications) and was stopped. Ask it for less at once.`,
    );
  }

  /** Counts one event; returns the count, or undefined beyond the limit. */
  count(kind: Counted): number | undefined {
    const count = ++this.#counts[kind];
    return count > limits[kind] ? undefined : count;
  }

  /** Counts a wait of at most `mostMs`, whatever the clock says: it may have been changed meanwhile. */
  addWait(ms: number, mostMs: number): void {
    this.#waitedMs += Math.min(Math.max(0, ms), mostMs);
  }
}

/**
 * Fuel after which other guests are served, some 20 to 100 ms; and fuel before the first check whether the client is
 * still there.
 */
const TURN_FUEL = 100_000_000n;
const FIRST_FUEL = 1_000_000n;

export type Fuel = Pick<Setup, "fuel" | "fuelUsed">;

/** The fuel of one run, within that of all runs of its call. */
export class FuelMeter {
  /** The message for the caller when the fuel is used up. */
  readonly exhaustedMessage: string;
  /** The guest's own counter of remaining fuel; it traps below zero. */
  #gauge: { value: bigint };
  /** Fuel used by all runs of the call when this run has none left. */
  readonly #whole: number;
  /** Fuel of one run, and of all runs. */
  readonly #ofRun: number;
  readonly #ofCall: number;
  /** The fuel that was left at the last payment, and the fuel at which the next turn is due. */
  #left: bigint;
  #next: bigint;
  /** The fuel that was left when it was last counted. */
  #counted: bigint;
  #innerFuel = 0;

  constructor(gauge: { value: bigint }, { fuel = limits.guestFuel, fuelUsed = 0 }: Fuel) {
    this.#ofRun = fuel;
    this.#ofCall = Math.floor(fuel * limits.callTanks);
    const left = this.#ofCall - fuelUsed;
    const full = BigInt(Math.min(fuel, left));
    gauge.value = full;
    this.#gauge = gauge;
    this.#left = full;
    this.#counted = full;
    this.#next = full - FIRST_FUEL;
    this.#whole = fuelUsed + Math.min(fuel, left);
    this.exhaustedMessage =
      left < fuel
        ? "The servlet computed for too long in all runs of this call together and was stopped. Each sleep or question repeats what was computed before it: use fewer, or compute less."
        : "The servlet computed for too long and was stopped.";
  }

  /** The remaining fuel of this run. */
  get left(): number {
    return Math.max(0, Number(this.#gauge.value));
  }

  get isEmpty(): boolean {
    return this.#gauge.value < 0n;
  }

  /** Fuel used so far by all runs of the call. */
  get used(): number {
    return this.#whole - Number(this.#gauge.value);
  }

  /** True if there is enough fuel for a full run that repeats this one. */
  get canRepeat(): boolean {
    return this.#ofCall - this.used >= this.#ofRun;
  }

  /** Detaches from the instance's counter, which another guest will use; later payments are counted here. */
  detach(): void {
    this.#gauge = { value: this.#gauge.value };
  }

  /** Fuel used since the last call of this method. */
  sinceCounted(): number {
    const before = this.#counted;
    this.#counted = this.#gauge.value;
    return Number(before - this.#counted);
  }

  /** True if so much fuel was used since it was last true that other guests should run. */
  takeTurn(): boolean {
    if (this.#left >= this.#next) return false;
    this.#next = this.#left - TURN_FUEL;
    return true;
  }

  /** Pays for work that other guests did for this one, and that is already counted. */
  payCounted(units: number): void {
    const whole = Math.ceil(units);
    this.#counted -= BigInt(whole);
    this.#innerFuel += whole;
    this.pay(whole);
  }

  /** Fuel that nested calls have used in this run. */
  get innerFuel(): number {
    return this.#innerFuel;
  }

  pay(units: number): void {
    const left = this.#gauge.value - BigInt(units);
    this.#gauge.value = left;
    this.#left = left;
    if (left < 0n) throw new GuestError(this.exhaustedMessage);
  }
}

/** The waiting guests of this isolate: few, since each holds hundreds of kilobytes. */
const waiting = new Set<Reservation>();

/**
 * The part of the room in which no guest may begin to wait: it is for calls with unwound guests, which need little, and
 * fail without it.
 */
const UNWOUND_PART = 1 / 8;

/** A call that waits for room. */
interface Queued {
  caller: string | undefined;
  bytes: number;
  /** When it last checked for room, in Unix ms. */
  looked: number;
}

/** Calls that wait for room, in order of arrival: the room that one needs is kept free of later calls of its caller. */
const queue = new Set<Queued>();

/** Pause between two checks, in ms: the first and the longest. */
const [FIRST_LOOK_MS, LOOK_MS] = [5, 250];
/** A call that has not checked for this long has died with its object, in ms. */
const DEAD_MS = 5000;

/** A guest that is about to wait. */
export interface Waiter {
  /** Memory that it holds meanwhile. */
  bytes: number;
  caller: string | undefined;
  /** How long it waits at most, in ms. */
  leftMs: number;
  /** Its path among nested calls. */
  place?: string | undefined;
}

/** The memory that a guest holds while it waits. */
export class Reservation {
  readonly #caller: string | undefined;
  readonly #place: string;
  readonly #until: number;
  #bytes = 0;
  #isReleased = false;

  private constructor({ caller, leftMs, place = "" }: Waiter) {
    this.#caller = caller && usageKey(caller);
    this.#place = place;
    this.#until = Date.now() + leftMs + limits.httpMs;
  }

  /**
   * Undefined if the waiting guests leave no room for it, or earlier calls of its caller wait for room. A guest that
   * waits alone always has room, and so has one that other guests wait for.
   */
  static take(waiter: Waiter, queued?: Queued): Reservation | undefined {
    const reservation = new Reservation(waiter);
    return reservation.grow(waiter.bytes, queued) ? reservation : undefined;
  }

  /** Takes the memory even without room. */
  static force(waiter: Waiter): Reservation {
    const reservation = new Reservation(waiter);
    reservation.#bytes = waiter.bytes;
    waiting.add(reservation);
    return reservation;
  }

  /**
   * Waits until there is room. Each call polls, as no request or object may settle a promise of another; `pause` waits
   * for this many ms, and throws if the call no longer waits.
   */
  static async whenFree(
    waiter: Waiter,
    pause: (ms: number) => Promise<void>,
  ): Promise<Reservation> {
    const { caller, bytes } = waiter;
    const queued = { caller: caller && usageKey(caller), bytes, looked: Date.now() };
    queue.add(queued);
    try {
      for (let ms = FIRST_LOOK_MS; ; ms = Math.min(2 * ms, LOOK_MS)) {
        const reservation = Reservation.take(waiter, queued);
        if (reservation !== undefined) return reservation;
        await pause(ms);
        queued.looked = Date.now();
      }
    } finally {
      queue.delete(queued);
    }
  }

  /** Takes more memory; false if there is no room. Does nothing after its release. */
  grow(bytes: number, queued?: Queued): boolean {
    if (this.#isReleased) return true;
    const { all, own: taken } = this.#others();
    const own = taken + (this.#bytes === 0 ? this.#bytesBefore(queued) : 0);
    const part = this.#bytes === 0 && queued === undefined ? 1 - UNWOUND_PART : 1;
    const isTooMuch =
      (all > 0 && all + this.#bytes + bytes > part * limits.waitingBytes) ||
      (own > 0 && own + this.#bytes + bytes > part * limits.waitingBytesOfOne);
    if (isTooMuch) return false;
    this.#bytes += bytes;
    waiting.add(this);
    return true;
  }

  release(): void {
    this.#isReleased = true;
    waiting.delete(this);
  }

  /** Bytes of the other guests except those that wait for this one: of all, and of the same caller. */
  #others(): { all: number; own: number } {
    const now = Date.now();
    let all = 0;
    let own = 0;
    for (const reservation of waiting) {
      // When an object dies, its guests' reservations are never released. Only the platform ends objects while the
      // isolate lives, and rarely: for minutes of less room, calls need not say which object they run in.
      if (reservation.#until < now) waiting.delete(reservation);
      else if (reservation !== this && !this.#isWithin(reservation)) {
        all += reservation.#bytes;
        if (this.#caller !== undefined && reservation.#caller === this.#caller)
          own += reservation.#bytes;
      }
    }
    return { all, own };
  }

  /** Bytes that earlier calls of the same caller wait for: earlier than this one, or than now. */
  #bytesBefore(queued: Queued | undefined): number {
    // A call nested in a waiting call releases the room that this holds back only when it has ended.
    if (this.#caller === undefined || this.#place.includes("/")) return 0;
    const now = Date.now();
    let bytes = 0;
    for (const one of queue) {
      if (one === queued) break;
      // So has one whose clock was set back.
      if (Math.abs(now - one.looked) > DEAD_MS) queue.delete(one);
      else if (one.caller === this.#caller) bytes += one.bytes;
    }
    return bytes;
  }

  #isWithin(other: Reservation): boolean {
    return other.#place !== "" && this.#place.startsWith(`${other.#place}/`);
  }
}
