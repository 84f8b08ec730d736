import { logError } from "./errors.ts";

/** Runs `work`, and retries it after each pause while it fails. Throws its last error. */
export async function retry<T>(work: () => Promise<T>, pausesMs = [10, 100, 1000]): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const [pauseMs, ...rest] = pausesMs;
    if (pauseMs === undefined) throw error;
    await scheduler.wait(pauseMs);
    return retry(work, rest);
  }
}

/** Retries `work` for about three minutes: for work that a client waits for and will not request again. */
export const retryForMinutes = <T>(work: () => Promise<T>): Promise<T> =>
  retry(async () => {
    try {
      return await work();
    } catch (error) {
      logError(error);
      throw error;
    }
  }, INSISTING_MS);

const INSISTING_MS = [1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => 1000 * seconds);
