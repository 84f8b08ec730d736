import { limits } from "../limits.ts";

/**
 * Lets few runs of an isolate begin at a time, in the order in which they came. After a restart hundreds of tasks are due at
 * once, and requests are to be served between them.
 */
export class Starts {
  /** Runs that are beginning, each with the Unix time in ms since when. */
  readonly #beginning = new Map<object, number>();
  /** Runs that wait for their turn, in order, each with what wakes it. */
  readonly #waiting = new Map<object, () => void>();

  /** Resolves when a run may begin. The function that it gives is to be called when the run has begun, or is over. */
  async take(): Promise<() => void> {
    const run = {};
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(run, resolve);
    this.#next();
    if (!this.#beginning.has(run)) {
      while (!this.#beginning.has(run)) {
        const woken = new AbortController();
        const late = scheduler.wait(limits.startMs, { signal: woken.signal }).catch(() => {});
        await Promise.race([promise, late]);
        woken.abort();
        this.#next();
      }
      // The event loop looks for new requests only when it has nothing else to do.
      await scheduler.wait(0);
    }
    return () => {
      if (this.#beginning.delete(run)) this.#next();
    };
  }

  #next(): void {
    const now = Date.now();
    for (const [run, since] of this.#beginning) {
      // Its object has died, it computes for long, or the clock was set back.
      if (since + limits.startMs < now || since > now) this.#beginning.delete(run);
    }
    for (const [run, wake] of this.#waiting) {
      if (this.#beginning.size >= limits.startsAtOnce) return;
      this.#waiting.delete(run);
      this.#beginning.set(run, now);
      wake();
    }
  }
}
