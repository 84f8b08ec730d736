/** Does the work; where that fails, a few times more. */
export async function again<T>(work: () => Promise<T>, pausesMs = [10, 100, 1000]): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const [pauseMs, ...rest] = pausesMs;
    if (pauseMs === undefined) throw error;
    await scheduler.wait(pauseMs);
    return again(work, rest);
  }
}
