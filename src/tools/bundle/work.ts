/** Concurrency in the bundle step. */
import { availableParallelism } from "node:os";
import { setFlagsFromString } from "node:v8";

const underWay = new Map<string, Promise<unknown>>();

/** Runs the work for a file of the cache. Concurrent calls for the same path share one run. */
export function shared<T>(path: string, work: () => Promise<T>): Promise<T> {
  const begin = () => work().finally(() => underWay.delete(path));
  return underWay.getOrInsertComputed(path, begin) as Promise<T>;
}

/**
 * Runs the work on all items, with limited concurrency: by default the number of cores. Results are in order. After a
 * failure, no further item begins.
 */
export async function inTurns<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  atOnce = availableParallelism(),
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const turn = async () => {
    while (next < items.length) {
      const at = next++;
      try {
        results[at] = await work(items[at]!);
      } catch (error) {
        next = items.length;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, turn));
  return results;
}

/**
 * Disables V8's optimising compiler for WebAssembly in this process: compilers and tools run so briefly in a bundle
 * step that optimising them takes longer. Modules that are compiled already are not affected.
 */
export function compileQuickly(): void {
  // V8 derives the other flags from the first only at startup.
  for (const flag of ["--liftoff-only", "--no-wasm-tier-up", "--no-wasm-dynamic-tiering"])
    setFlagsFromString(flag);
}
