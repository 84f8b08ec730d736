import { networkSiteOf } from "../core/callers.ts";
import { limits } from "./limits.ts";
import { mebibytes } from "../core/text.ts";
import type { Setup } from "./setup.ts";

/** The servlet's own failure, with a message that is meant for the caller. Ends the call. */
export class GuestError extends Error {}

/** Thrown where a call has used up a part of its budget: unlike a `GuestError`, no guest can go on after it. */
export class BudgetExceeded extends Error {}

/** Counted events; each has a limit of the same name. */
type Counted = "httpRequests" | "logLines" | "notifications";

/**
 * The resources of one call besides its guest's compute and memory: bytes that the host keeps for it,
 * waiting time, and numbers of requests, log lines and notifications.
 */
export class Budget {
  #heldBytes = 0;
  #waitedMs = 0;
  #counts: Record<Counted, number> = { httpRequests: 0, logLines: 0, notifications: 0 };
  readonly #waitMs: number;

  /** Of a run that goes on from one whose guest was unwound to wait, with what that has used up. */
  constructor(waitMs = limits.waitMs, before?: Budget) {
    this.#waitMs = waitMs;
    if (before === undefined) return;
    this.#waitedMs = before.#waitedMs;
    // Its requests are counted anew as they are repeated.
    this.#counts = { ...before.#counts, httpRequests: 0 };
  }

  /** Host memory that is kept for the guest until its call ends. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  get waitedMs(): number {
    return this.#waitedMs;
  }

  get leftMs(): number {
    return this.#waitMs - this.#waitedMs;
  }

  /** Takes bytes that are kept until the call ends; a negative number gives some back. Throws `BudgetExceeded`. */
  hold(bytes: number): void {
    this.#heldBytes += bytes;
    if (this.#heldBytes <= limits.hostBytes) return;
    throw new BudgetExceeded(
      `The servlet used more than ${mebibytes(limits.hostBytes)} of the server's memory in one call (answers of HTTP and clients, variables, notifications) and was stopped. Ask it for less at once.`,
    );
  }

  /** Counts one more; returns the count, or undefined beyond the limit. */
  count(kind: Counted): number | undefined {
    const count = ++this.#counts[kind];
    return count > limits[kind] ? undefined : count;
  }

  /** Counts a wait of at most `mostMs`, whatever the clock says: it may be set meanwhile. */
  addWait(ms: number, mostMs: number): void {
    this.#waitedMs += Math.min(Math.max(0, ms), mostMs);
  }
}

/** Fuel after which others are served, some 20 to 100 ms; and after which it is first looked whether the client is there. */
const TURN_FUEL = 100_000_000n;
const FIRST_FUEL = 1_000_000n;

export type Fuel = Pick<Setup, "fuel" | "fuelUsed">;

/** The fuel of one run, within that of all runs of its call. */
export class FuelMeter {
  /** The caller's message where the fuel is used up. */
  readonly exhaustedMessage: string;
  /** The guest's own count of what is left; it traps below zero. */
  #gauge: { value: bigint };
  /** Fuel that all runs of the call will have used when this run has none left. */
  readonly #whole: number;
  /** Fuel of a whole run, and of all runs. */
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

  /** Fuel that this run has left. */
  get left(): number {
    return Math.max(0, Number(this.#gauge.value));
  }

  get isEmpty(): boolean {
    return this.#gauge.value < 0n;
  }

  /** Fuel that all runs of the call have used so far. */
  get used(): number {
    return this.#whole - Number(this.#gauge.value);
  }

  /** True if another run that repeats this one would have as much fuel as any. */
  get canRepeat(): boolean {
    return this.#ofCall - this.used >= this.#ofRun;
  }

  /** Leaves the instance's own count, as another guest is to use that; what is paid from now on is counted here. */
  detach(): void {
    this.#gauge = { value: this.#gauge.value };
  }

  /** Fuel that was used since this was last called. */
  sinceCounted(): number {
    const before = this.#counted;
    this.#counted = this.#gauge.value;
    return Number(before - this.#counted);
  }

  /** True if so much was used since it was last true that others should have their turn. */
  takeTurn(): boolean {
    if (this.#left >= this.#next) return false;
    this.#next = this.#left - TURN_FUEL;
    return true;
  }

  /** Pays for what others have computed for the guest, which is counted already. */
  payCounted(units: number): void {
    const whole = Math.ceil(units);
    this.#counted -= BigInt(whole);
    this.#innerFuel += whole;
    this.pay(whole);
  }

  /** Fuel that calls inside have used in this run. */
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

/** The guests that wait in this isolate: few, since each keeps hundreds of kilobytes. */
const waiting = new Set<Reservation>();

/** The part of the room in which no guest begins to wait: calls whose guests were unwound need little, and are refused without it. */
const UNWOUND_PART = 1 / 8;

/** A call that waits for room to wait in. */
interface Queued {
  caller: string | undefined;
  bytes: number;
  /** When it last looked whether there is room, in Unix ms. */
  looked: number;
}

/** Those calls in the order in which they came: what one needs is kept free of later calls of its caller. */
const queue = new Set<Queued>();

/** Pause between two looks, in ms: the first and the longest. */
const [FIRST_LOOK_MS, LOOK_MS] = [5, 250];
/** A call that has not looked for so long has died with its object, in ms. */
const DEAD_MS = 5000;

/** Callers of one /48 are one. */
const siteOf = (caller: string | undefined) => caller && (networkSiteOf(caller) ?? caller);

/** A guest that is to wait. */
export interface Waiter {
  /** Memory that it keeps meanwhile. */
  bytes: number;
  caller: string | undefined;
  /** How long it waits at most, in ms. */
  leftMs: number;
  /** Its place among the calls that servlets make. */
  place?: string | undefined;
}

/** The memory that a guest keeps while it waits. */
export class Reservation {
  readonly #caller: string | undefined;
  readonly #place: string;
  readonly #until: number;
  #bytes = 0;
  #isReleased = false;

  private constructor({ caller, leftMs, place = "" }: Waiter) {
    this.#caller = siteOf(caller);
    this.#place = place;
    this.#until = Date.now() + leftMs + limits.httpMs;
  }

  /**
   * Undefined where the guests that wait already leave no room for it, or calls of its caller that came before wait for
   * room. One that is alone always has room, and so has one that others wait for.
   */
  static take(waiter: Waiter, queued?: Queued): Reservation | undefined {
    const reservation = new Reservation(waiter);
    return reservation.grow(waiter.bytes, queued) ? reservation : undefined;
  }

  /** Takes it although there is no room. */
  static force(waiter: Waiter): Reservation {
    const reservation = new Reservation(waiter);
    reservation.#bytes = waiter.bytes;
    waiting.add(reservation);
    return reservation;
  }

  /**
   * Waits until there is room. Each call looks for itself, as no request or object may settle what another waits for; `pause`
   * waits for so many ms, and throws where the call waits no longer.
   */
  static async whenFree(
    waiter: Waiter,
    pause: (ms: number) => Promise<void>,
  ): Promise<Reservation> {
    const { caller, bytes } = waiter;
    const queued = { caller: siteOf(caller), bytes, looked: Date.now() };
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

  /** Takes more; false where there is no room for it. Does nothing after its release. */
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

  /** Bytes of the other guests but those that wait for this one: of all, and of the same caller. */
  #others(): { all: number; own: number } {
    const now = Date.now();
    let all = 0;
    let own = 0;
    for (const reservation of waiting) {
      // Where an object dies, its guests' reservations are never released. While the isolate lives, only the platform
      // ends objects, and rarely: for minutes of less room, calls need not say which object they run in.
      if (reservation.#until < now) waiting.delete(reservation);
      else if (reservation !== this && !this.#isWithin(reservation)) {
        all += reservation.#bytes;
        if (this.#caller !== undefined && reservation.#caller === this.#caller)
          own += reservation.#bytes;
      }
    }
    return { all, own };
  }

  /** Bytes that calls of the same caller wait for which came before this one, or before now. */
  #bytesBefore(queued: Queued | undefined): number {
    // A call inside one that waits gives the room that this keeps back only when it has ended.
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
