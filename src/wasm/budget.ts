import { networkSiteOf } from "../core/callers.ts";
import { limits } from "../core/limits.ts";
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
  readonly #counts: Record<Counted, number> = { httpRequests: 0, logLines: 0, notifications: 0 };
  readonly #waitMs: number;

  constructor(waitMs = limits.waitMs) {
    this.#waitMs = waitMs;
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
  readonly #gauge: { value: bigint };
  /** Fuel that all runs of the call will have used when this run has none left. */
  readonly #whole: number;
  /** The fuel that was left at the last payment, and the fuel at which the next turn is due. */
  #left: bigint;
  #next: bigint;
  /** The fuel that was left when it was last counted. */
  #counted: bigint;
  #innerFuel = 0;

  constructor(gauge: { value: bigint }, { fuel = limits.guestFuel, fuelUsed = 0 }: Fuel) {
    const left = Math.floor(fuel * limits.callTanks) - fuelUsed;
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

/** The memory that a guest keeps while it waits. */
export class Reservation {
  readonly #caller: string | undefined;
  readonly #place: string;
  readonly #until: number;
  #bytes = 0;
  #isReleased = false;

  private constructor(caller: string | undefined, place: string, until: number) {
    this.#caller = caller;
    this.#place = place;
    this.#until = until;
  }

  /**
   * A reservation for a guest of so many bytes that waits for `leftMs` at most; undefined where the guests that
   * wait already leave no room for it. One that is alone always has room, and so has one that others wait for.
   */
  static take(
    bytes: number,
    caller: string | undefined,
    leftMs: number,
    place = "",
  ): Reservation | undefined {
    const reservation = new Reservation(
      caller && (networkSiteOf(caller) ?? caller),
      place,
      Date.now() + leftMs + limits.httpMs,
    );
    return reservation.grow(bytes + limits.waitingOverheadBytes) ? reservation : undefined;
  }

  /** Takes more; false where there is no room for it. Does nothing after its release. */
  grow(bytes: number): boolean {
    if (this.#isReleased) return true;
    const { all, own } = this.#others();
    const isTooMuch =
      (all > 0 && all + this.#bytes + bytes > limits.waitingBytes) ||
      (own > 0 && own + this.#bytes + bytes > limits.waitingBytesOfOne);
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

  #isWithin(other: Reservation): boolean {
    return other.#place !== "" && this.#place.startsWith(`${other.#place}/`);
  }
}
