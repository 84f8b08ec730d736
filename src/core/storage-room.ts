/** Whether the disk with all stored data has room. Only the host of a self-hosted server tells: see `src/host/disk.ts`. */
export const storageRoom = { isFull: false };

/** SQLite's error in an object that is open. */
const SQLITE_FULL = /database or disk is full: SQLITE_FULL$/;
/** The error of an object that cannot be opened, or cannot commit. workerd writes its reason to its log alone. */
const HIDDEN = /^internal error; reference = /;

/** True for the error of an object that could not store something because there is no room. */
export const foundNoRoom = (error: unknown): boolean =>
  error instanceof Error &&
  (SQLITE_FULL.test(error.message) || (storageRoom.isFull && HIDDEN.test(error.message)));
