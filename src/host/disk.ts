import { statfs } from "node:fs/promises";
import { request } from "node:http";

/** With less room, a database cannot be opened: SQLite makes two files beside it. */
const LEAST_BYTES = 1 << 20;
const LOOK_MS = 1000;
/** A paused server does not answer. */
const ANSWER_MS = 5000;

interface DiskParts {
  /** The folder whose disk is looked at. */
  folder: string;
  /** The socket at which the Worker is told. */
  socket: string;
  /** Writes a line to the log. */
  say(text: string): void;
}

/** Looks whether the disk of the storage folder is full, and tells the log and the Worker when that changes. */
export class DiskWatch {
  readonly #parts: DiskParts;
  #isFull = false;
  /** What the Worker knows. */
  #told = false;
  #isLooking = false;

  constructor(parts: DiskParts) {
    this.#parts = parts;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  /** Looks in intervals. */
  start(): void {
    setInterval(() => this.look(), LOOK_MS).unref();
  }

  /** Looks now, unless a look is under way. */
  look(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    // A Worker that cannot be told is told at the next look.
    void this.#look()
      .catch(() => {})
      .finally(() => (this.#isLooking = false));
  }

  /** A new process of workerd has started, whose Worker knows nothing. */
  restarted(): void {
    this.#told = false;
    this.look();
  }

  async #look(): Promise<void> {
    const { folder, socket, say } = this.#parts;
    const { blocks, bavail, bsize, files, ffree } = await statfs(folder);
    // File systems without a limit say that they have no blocks, or no files, at all.
    const isFull = (blocks > 0 && bavail * bsize < LEAST_BYTES) || (files > 0 && ffree === 0);
    if (isFull !== this.#isFull)
      say(
        isFull
          ? `The disk of ${folder} is full. Calls that store something fail (storage_full) until it has room; the server need not be restarted`
          : `The disk of ${folder} has room again`,
      );
    this.#isFull = isFull;
    if (isFull === this.#told) return;
    await tell(socket, isFull);
    this.#told = isFull;
  }
}

/** Sends the Worker what its entrypoint `Disk` expects. Rejects while it does not answer. */
function tell(socketPath: string, isFull: boolean): Promise<void> {
  return new Promise((done, fail) => {
    const path = isFull ? "/full" : "/room";
    const sent = request({ socketPath, path, method: "PUT", timeout: ANSWER_MS, agent: false });
    sent.once("response", (response) => response.resume().once("end", done).once("error", fail));
    sent.once("timeout", () => sent.destroy());
    sent.once("error", fail);
    sent.end();
  });
}
