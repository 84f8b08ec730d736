/**
 * The memory of dropped instances. V8 frees it at garbage collection, which by itself comes only after gigabytes if
 * nothing limits the heap. A self-hosted server lets the Worker request it (`--expose-gc`); on Cloudflare the heap is
 * small.
 */
import { limits } from "./limits.ts";
import type { Guest } from "./guest.ts";

/** Fuel of a collection: some 30 ms. */
const COLLECTION_FUEL = 30_000_000;

/** Bytes of the instances dropped since the last garbage collection. */
let garbage = 0;

/** Counts the memories of a dropped instance. */
export function countGarbage(bytes: number): void {
  garbage += bytes;
}

/** Collects garbage, at the expense of this guest's caller, if there is too much for one more instance. */
export function makeRoom(guest: Guest): void {
  if (garbage <= limits.garbageBytes) return;
  garbage = 0;
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) return;
  gc();
  guest.spend(COLLECTION_FUEL);
}
