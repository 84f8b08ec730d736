import { limits } from "./limits.ts";

/** Poll interval of a run that waits for its turn, in ms: the least, and the time for each run that waits longer. */
const [LEAST_MS, EACH_MS] = [10, 4];

/** Factor by which the limit grows for a principal with no run among those that are beginning. */
const OF_OTHERS = 4;

/**
 * Limits how many runs begin at once in an isolate. After a restart hundreds of tasks are due, and requests must be
 * served between them.
 */
export class Starts {
  readonly #share: number;
  /** Runs that are beginning, with their start as Unix time in ms. */
  readonly #beginning = new Map<{ principal: string }, number>();
  /** Runs that wait, the longest first, with the Unix time in ms at which each looks again. */
  readonly #waiting = new Map<object, number>();

  /** `share` is a factor of the limit. */
  constructor(share = 1) {
    this.#share = share;
  }

  /**
   * Resolves when a run of this principal's task may begin. Call the returned function when the run has
   * begun or is over.
   */
  async take(principal: string): Promise<() => void> {
    // Polls, since one Durable Object cannot settle a promise that another awaits.
    const own = {};
    try {
      while (this.#isFull(principal)) await scheduler.wait(this.#pauseOf(own));
    } finally {
      this.#waiting.delete(own);
    }
    const run = { principal };
    this.#beginning.set(run, Date.now());
    return () => void this.#beginning.delete(run);
  }

  /** The pause before a run looks again, in ms: the longer it waits, the more often it looks. */
  #pauseOf(own: object): number {
    const now = Date.now();
    let longer = 0;
    for (const [other, looks] of this.#waiting) {
      if (other === own) break;
      // Its object has died.
      if (looks + limits.startMs < now) this.#waiting.delete(other);
      else longer++;
    }
    const pause = Math.max(LEAST_MS, EACH_MS * longer);
    this.#waiting.set(own, now + pause);
    return pause;
  }

  /** True if enough runs are beginning. The limit is higher for a principal that has none among them. */
  #isFull(principal: string): boolean {
    const now = Date.now();
    let own = 0;
    for (const [run, since] of this.#beginning) {
      // Its object has died, it computes for a long time, or the clock was set back.
      if (since + limits.startMs < now || since > now) this.#beginning.delete(run);
      else if (run.principal === principal) own++;
    }
    return this.#beginning.size >= limits.startsAtOnce * this.#share * (own > 0 ? 1 : OF_OTHERS);
  }
}
