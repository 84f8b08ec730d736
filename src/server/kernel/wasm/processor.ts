import { usageKey } from "../core/callers.ts";

/** Fuel after which the event loop must be idle before another guest computes: some 20 to 50 ms. */
const SHARE = 50_000_000;
/**
 * Fuel by which callers who used more catch up each time that all waiting guests have polled: about a millisecond's.
 */
const LOOK = 1_000_000;
/**
 * Maximum turns of the event loop after a guest used much fuel: a request needs several to reach its guest and to send
 * its answer.
 */
const MAX_TURNS = 4;
/** Callers whose fuel is known; with more, all of it is forgotten. */
const CALLERS = 10_000;

/** A guest that waits for its turn to compute. */
interface Waiting {
  caller: string;
  /** True if it has not begun, so that it holds no memory yet. */
  isNew: boolean;
  /** When it last polled, as the number of all polls by then. */
  looked: number;
}

/**
 * Schedules the guests of an isolate. A computing guest cannot be interrupted, and meanwhile workerd accepts and
 * delivers nothing. So after each `SHARE` of fuel the event loop is left idle, and then guests whose callers have used
 * less come first.
 */
export class Processor {
  /** Fuel used since the event loop was last known to be idle, and in total. */
  #fuel = 0;
  #total = 0;
  /** Fuel by caller; callers with less count as if they had used `#least`, the level of those who waited then. */
  readonly #used = new Map<string, number>();
  #least = 0;
  readonly #waiting = new Set<Waiting>();
  #looks = 0;

  /** Resets it, as in a new isolate. */
  forget(): void {
    this.#fuel = 0;
    this.#used.clear();
    this.#least = 0;
    this.#waiting.clear();
  }

  /** Counts fuel used by a guest of this caller; unknown callers count as one. */
  spend(caller: string | undefined, fuel: number): void {
    if (fuel === 0) return;
    this.#fuel += fuel;
    this.#total += fuel;
    if (this.#used.size >= CALLERS) this.#used.clear();
    const key = usageKey(caller);
    this.#used.set(key, this.#usedBy(key) + fuel);
  }

  /** Resolves when a guest of this caller may compute; undefined if that is now. */
  turn(caller: string | undefined, isNew: boolean): Promise<void> | undefined {
    const isFree = this.#fuel < SHARE;
    if (isFree && this.#waiting.size === 0) return undefined;
    const key = usageKey(caller);
    // Waiting guests poll soon: if every newcomer waited for them, there would always be some.
    if (isFree && !this.#hasUsedMore(key)) return undefined;
    return this.#wait({ caller: key, isNew, looked: ++this.#looks });
  }

  /** True if a waiting guest's caller has used much less. */
  #hasUsedMore(caller: string): boolean {
    const used = this.#usedBy(caller);
    return [...this.#waiting].some((other) => used > this.#usedBy(other.caller) + SHARE);
  }

  /** Each guest polls when the event loop was idle: no request or object may settle a promise of another. */
  async #wait(me: Waiting): Promise<void> {
    let turns = turnsAfter(this.#fuel);
    for (;;) {
      this.#waiting.add(me);
      // Other guests may wait again and again, and use little.
      this.#least += LOOK / this.#waiting.size;
      const before = this.#total;
      await new Promise((resolve) => setTimeout(resolve));
      const used = this.#total - before;
      if (used === 0) this.#fuel = 0;
      // Requests have arrived while another guest computed.
      turns = used < SHARE ? turns - 1 : turnsAfter(used);
      if (turns <= 0 && this.#fuel < SHARE && this.#isNext(me)) break;
      me.looked = ++this.#looks;
    }
    this.#waiting.delete(me);
  }

  /** True if no waiting guest has priority: a caller with less usage, or a resumed guest of this caller. */
  #isNext(me: Waiting): boolean {
    let least = this.#usedBy(me.caller);
    for (const other of this.#waiting) {
      // It should have polled: its request has ended, or its object has died.
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

/** The processor of this isolate. */
export const processor = new Processor();
