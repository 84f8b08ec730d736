import { networkSiteOf } from "../core/callers.ts";

/** Fuel after which the event loop is let idle before another guest computes: some 20 to 50 ms. */
const SHARE = 50_000_000;
/** Fuel by which those who have used more are let come nearer each time that all who wait have looked: about a millisecond's. */
const LOOK = 1_000_000;
/** Maximum turns of the event loop after a guest used much fuel: a request needs several to reach its guest and to send its answer. */
const MAX_TURNS = 4;
/** Callers whose fuel is known; beyond them all of it is forgotten. */
const CALLERS = 10_000;

/** A guest that waits for its turn to compute. */
interface Waiting {
  caller: string;
  /** True if it has not begun, so that it keeps no memory yet. */
  isNew: boolean;
  /** When it has last looked whether it is its turn, as the number of all looks by then. */
  looked: number;
}

/**
 * Which guest of an isolate computes next. A guest that computes cannot be interrupted, and meanwhile workerd accepts and
 * delivers nothing. So after each `SHARE` of fuel the event loop is let idle, and then those come first whose callers have
 * used less.
 */
export class Processor {
  /** Fuel that was used since the event loop was last known to be idle, and in all. */
  #fuel = 0;
  #total = 0;
  /** Fuel by caller; those that have used less count as if they had used `#least`, as the ones who waited then had. */
  readonly #used = new Map<string, number>();
  #least = 0;
  readonly #waiting = new Set<Waiting>();
  #looks = 0;

  /** Begins anew, as in a new isolate. */
  forget(): void {
    this.#fuel = 0;
    this.#used.clear();
    this.#least = 0;
    this.#waiting.clear();
  }

  /** Counts fuel that a guest of this caller has used; all whose callers are unknown are one. */
  spend(caller: string | undefined, fuel: number): void {
    if (fuel === 0) return;
    this.#fuel += fuel;
    this.#total += fuel;
    if (this.#used.size >= CALLERS) this.#used.clear();
    const key = keyOf(caller);
    this.#used.set(key, this.#usedBy(key) + fuel);
  }

  /** Resolves when a guest of this caller may compute; undefined if that is now. */
  turn(caller: string | undefined, isNew: boolean): Promise<void> | undefined {
    const isFree = this.#fuel < SHARE;
    if (isFree && this.#waiting.size === 0) return undefined;
    const key = keyOf(caller);
    // Those who wait look soon: were they waited for by all who come, there would always be some.
    if (isFree && !this.#hasUsedMore(key)) return undefined;
    return this.#wait({ caller: key, isNew, looked: ++this.#looks });
  }

  /** True if somebody waits whose caller has used much less. */
  #hasUsedMore(caller: string): boolean {
    const used = this.#usedBy(caller);
    return [...this.#waiting].some((other) => used > this.#usedBy(other.caller) + SHARE);
  }

  /** Each looks for itself when the event loop was idle: no request or object may settle what another waits for. */
  async #wait(me: Waiting): Promise<void> {
    let turns = turnsAfter(this.#fuel);
    for (;;) {
      this.#waiting.add(me);
      // Others may wait again and again, and use little.
      this.#least += LOOK / this.#waiting.size;
      const before = this.#total;
      await new Promise((resolve) => setTimeout(resolve));
      const used = this.#total - before;
      if (used === 0) this.#fuel = 0;
      // Requests have come while another guest computed.
      turns = used < SHARE ? turns - 1 : turnsAfter(used);
      if (turns <= 0 && this.#fuel < SHARE && this.#isNext(me)) break;
      me.looked = ++this.#looks;
    }
    this.#waiting.delete(me);
  }

  /** True if nobody waits whose caller has used much less, and nobody of the same caller who has begun. */
  #isNext(me: Waiting): boolean {
    let least = this.#usedBy(me.caller);
    for (const other of this.#waiting) {
      // It had to look before: its request has ended, or its object has died.
      if (other.looked < me.looked) this.#waiting.delete(other);
      else if (me.isNew && !other.isNew && other.caller === me.caller) return false;
      else least = Math.min(least, this.#usedBy(other.caller));
    }
    if (this.#usedBy(me.caller) > least + SHARE) return false;
    this.#least = least;
    if (this.#waiting.size === 1) this.#used.clear();
    return true;
  }

  #usedBy(caller: string): number {
    return Math.max(this.#used.get(caller) ?? 0, this.#least);
  }
}

const turnsAfter = (fuel: number): number => Math.min(MAX_TURNS, Math.ceil(fuel / SHARE));

/** Callers of one /48 are one. */
const keyOf = (caller = "") => networkSiteOf(caller) ?? caller;

/** That of this isolate. */
export const processor = new Processor();
