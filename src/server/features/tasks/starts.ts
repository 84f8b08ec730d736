import { limits } from "./limits.ts";

/** How long a run waits before it looks for a turn again, in ms: the first time, and at most. */
const [FIRST_MS, MOST_MS] = [10, 160];

/** How many times as many may begin at once where they are of several principals. */
const OF_OTHERS = 4;

/**
 * Lets few runs of an isolate begin at a time. After a restart hundreds of tasks are due at once, and requests are to be
 * served between them.
 */
export class Starts {
  /** Runs that are beginning, each with the Unix time in ms since when. */
  readonly #beginning = new Map<{ principal: string }, number>();

  /**
   * Resolves when a run of a task of this principal may begin. The function that it gives is to be called when the run has
   * begun, or is over.
   */
  async take(principal: string): Promise<() => void> {
    // Each looks for itself: no object may settle what another waits for.
    for (let ms = FIRST_MS; this.#isFull(principal); ms = Math.min(2 * ms, MOST_MS)) {
      await scheduler.wait(ms);
    }
    const run = { principal };
    this.#beginning.set(run, Date.now());
    return () => void this.#beginning.delete(run);
  }

  /** True if enough are beginning; where none of them is this principal's, some more may. */
  #isFull(principal: string): boolean {
    const now = Date.now();
    let own = 0;
    for (const [run, since] of this.#beginning) {
      // Its object has died, it computes for long, or the clock was set back.
      if (since + limits.startMs < now || since > now) this.#beginning.delete(run);
      else if (run.principal === principal) own++;
    }
    return this.#beginning.size >= limits.startsAtOnce * (own > 0 ? 1 : OF_OTHERS);
  }
}
