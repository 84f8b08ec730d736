/**
 * The memory of dropped instances. V8 frees it when it collects garbage, which it does by itself only after gigabytes where
 * nothing limits its heap. A self-hosted server lets the Worker ask for it (`--expose-gc`); on Cloudflare the heap is small.
 */
import { limits } from "./limits.ts";
import type { Guest } from "./guest.ts";

/** Fuel of a collection: some 30 ms. */
const COLLECTION_FUEL = 30_000_000;

/** Bytes of the instances that were dropped since garbage was last collected. */
let garbage = 0;

/** Counts the memories of an instance that is dropped. */
export function countGarbage(bytes: number): void {
  garbage += bytes;
}

/** Collects garbage, for the caller of this guest, if there is too much for one more instance. */
export function makeRoom(guest: Guest): void {
  if (garbage <= limits.garbageBytes) return;
  garbage = 0;
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) return;
  gc();
  guest.spend(COLLECTION_FUEL);
}
