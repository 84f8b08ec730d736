import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";

/** A folder in memory, on Linux. */
const MEMORY = "/dev/shm";

/** Durable Objects and the bucket of a run need a tenth of this. */
const ROOM_BYTES = 1024 ** 3;

/**
 * The folder for what Durable Objects store: each of their tens of thousands of commits would wait for the disk. It is
 * the usual folder for temporary files where the machine has none in memory with enough room.
 */
export function storageFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= ROOM_BYTES ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}
