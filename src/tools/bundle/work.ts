/** How the work of a bundle is done: side by side, and each thing once. */
import { availableParallelism } from "node:os";
import { setFlagsFromString } from "node:v8";

const underWay = new Map<string, Promise<unknown>>();

/** Does the work for a file of the cache; several that want it at the same time share it. */
export function shared<T>(path: string, work: () => Promise<T>): Promise<T> {
  const begin = () => work().finally(() => underWay.delete(path));
  return underWay.getOrInsertComputed(path, begin) as Promise<T>;
}

/**
 * Does the work on all items, so many at a time: by default as the machine has cores. Results are in order. None is begun
 * once one has failed.
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
 * Keeps V8 from optimising WebAssembly in this process: compilers and tools run for a moment in a bundle step, and to
 * optimise them takes longer. What is compiled already stays as it is.
 */
export function compileQuickly(): void {
  // V8 derives the others from the first one only as it starts.
  for (const flag of ["--liftoff-only", "--no-wasm-tier-up", "--no-wasm-dynamic-tiering"])
    setFlagsFromString(flag);
}
