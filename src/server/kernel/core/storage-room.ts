/**
 * Whether the disk with the stored data is full. Set by the host of a self-hosted server only: see
 * `src/tools/host/disk.ts`.
 */
export const storageRoom = { isFull: false };

/** SQLite's error in an open Durable Object. */
const SQLITE_FULL = /database or disk is full: SQLITE_FULL$/;
/** The error of a Durable Object that cannot be opened or cannot commit. workerd writes the reason to its log only. */
const HIDDEN = /^internal error; reference = /;

/** True if a Durable Object threw this error because it had no room to store something. */
export const isStorageFull = (error: unknown): boolean =>
  error instanceof Error &&
  (SQLITE_FULL.test(error.message) || (storageRoom.isFull && HIDDEN.test(error.message)));
