/** Waits of tests: each has a condition, and a bound that only what never happens reaches. */

const MOST_MS = 30_000;
/** The pauses between two looks grow to this. */
const PAUSE_MS = 50;

/** Does this again until it does not throw; gives what it gives. In the end throws what it threw last. */
export async function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  // Tests set the clock of `Date`.
  const begun = performance.now();
  for (let pauseMs = 1; ; pauseMs = Math.min(PAUSE_MS, pauseMs * 1.5)) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() - begun > MOST_MS) throw error;
    }
    await scheduler.wait(pauseMs);
  }
}
