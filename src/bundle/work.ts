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

/** Does the work on all items, as many at a time as the machine has cores; results in order. */
export async function inTurns<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const turn = async () => {
    while (next < items.length) {
      const at = next++;
      results[at] = await work(items[at]!);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, turn));
  return results;
}
