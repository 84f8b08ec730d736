import { statfs } from "node:fs/promises";
import { request } from "node:http";

/** Free space below which the disk counts as full: SQLite creates two files to open a database. */
const LEAST_BYTES = 1 << 20;
/** Interval between two checks. */
const CHECK_MS = 1000;
/** Timeout for the Worker's answer: a paused server does not answer. */
const ANSWER_MS = 5000;

interface DiskParts {
  /** The storage folder, whose disk is checked. */
  folder: string;
  /** Path of the socket of the Worker's entrypoint `Disk`. */
  socket: string;
  /** Writes a line to the log. */
  say(text: string): void;
}

/** Checks whether the disk of the storage folder is full, and reports each change to the log and the Worker. */
export class DiskWatch {
  readonly #parts: DiskParts;
  #isFull = false;
  /** The state that was last reported to the Worker. */
  #reported = false;
  #isChecking = false;

  constructor(parts: DiskParts) {
    this.#parts = parts;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  /** Starts to check at regular intervals. */
  start(): void {
    setInterval(() => this.check(), CHECK_MS).unref();
  }

  /** Checks now, unless a check is in progress. */
  check(): void {
    if (this.#isChecking) return;
    this.#isChecking = true;
    // If the report to the Worker fails, the next check repeats it.
    void this.#check()
      .catch(() => {})
      .finally(() => (this.#isChecking = false));
  }

  /** Must be called after workerd has restarted: its Worker assumes that the disk has room. */
  restarted(): void {
    this.#reported = false;
    this.check();
  }

  async #check(): Promise<void> {
    const { folder, socket, say } = this.#parts;
    const { blocks, bavail, bsize, files, ffree } = await statfs(folder);
    // File systems without a limit report a total of 0 blocks or files.
    const isFull = (blocks > 0 && bavail * bsize < LEAST_BYTES) || (files > 0 && ffree === 0);
    if (isFull !== this.#isFull)
      say(
        isFull
          ? `The disk of ${folder} is full. Calls that store something fail (storage_full) until the disk has room again. No restart is needed`
          : `The disk of ${folder} has room again`,
      );
    this.#isFull = isFull;
    if (isFull === this.#reported) return;
    await reportTo(socket, isFull);
    this.#reported = isFull;
  }
}

/** Reports the state to the Worker's entrypoint `Disk`. Rejects if the Worker does not answer. */
function reportTo(socketPath: string, isFull: boolean): Promise<void> {
  return new Promise((done, fail) => {
    const path = isFull ? "/full" : "/room";
    const sent = request({ socketPath, path, method: "PUT", timeout: ANSWER_MS, agent: false });
    sent.once("response", (response) => response.resume().once("end", done).once("error", fail));
    sent.once("timeout", () => sent.destroy());
    sent.once("error", fail);
    sent.end();
  });
}
