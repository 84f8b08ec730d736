import { limits } from "./limits.ts";

/** Poll interval of a run that waits for its turn, in ms: the first and the longest. */
const [FIRST_MS, MOST_MS] = [10, 160];

/** Factor by which the limit grows for a principal with no run among those that are beginning. */
const OF_OTHERS = 4;

/**
 * Limits how many runs begin at once in an isolate. After a restart hundreds of tasks are due, and requests must be
 * served between them.
 */
export class Starts {
  /** Runs that are beginning, with their start as Unix time in ms. */
  readonly #beginning = new Map<{ principal: string }, number>();

  /**
   * Resolves when a run of this principal's task may begin. Call the returned function when the run has
   * begun or is over.
   */
  async take(principal: string): Promise<() => void> {
    // Polls, since one Durable Object cannot settle a promise that another awaits.
    for (let ms = FIRST_MS; this.#isFull(principal); ms = Math.min(2 * ms, MOST_MS)) {
      await scheduler.wait(ms);
    }
    const run = { principal };
    this.#beginning.set(run, Date.now());
    return () => void this.#beginning.delete(run);
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
    return this.#beginning.size >= limits.startsAtOnce * (own > 0 ? 1 : OF_OTHERS);
  }
}
