/** How the work of a bundle is done: side by side, and each thing once. */
import { availableParallelism } from "node:os";

const underWay = new Map<string, Promise<unknown>>();

/** Does the work for a file of the cache; several that want it at the same time share it. */
export function shared<T>(path: string, work: () => Promise<T>): Promise<T> {
  const found = underWay.get(path) as Promise<T> | undefined;
  if (found !== undefined) return found;
  const result = work().finally(() => underWay.delete(path));
  underWay.set(path, result);
  return result;
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
