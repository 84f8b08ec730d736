import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { freeze } from "./processes.ts";
import { NotStarted, type Workerd } from "./workerd.ts";

/** The pause before a restart doubles up to the longest; after a process that ran longer than that, it is the first again. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

export interface SupervisorParts {
  start(): Promise<Workerd>;
  /** Writes a line to the log. */
  say(text: string): void;
}

/** Keeps workerd running until it is stopped. */
export class Supervisor {
  readonly #parts: SupervisorParts;
  #current: Workerd | undefined;
  #stopping = false;
  /** Resolved unless the process is paused. */
  #released: Promise<void> = Promise.resolve();

  constructor(parts: SupervisorParts) {
    this.#parts = parts;
  }

  /** Starts workerd for the first time. Throws `NotStarted`, and does not retry: the cause is most likely permanent. */
  async start(): Promise<Workerd> {
    const workerd = await this.#parts.start();
    this.#adopt(workerd, FIRST_PAUSE_MS);
    return workerd;
  }

  /**
   * Lets open calls end within `graceMs`, and then cuts them off; durable calls go on after the next start. Returns false
   * if calls were cut off.
   */
  async stop(graceMs: number): Promise<boolean> {
    this.#stopping = true;
    const process = this.#current?.process;
    if (process === undefined || !isRunning(process)) return true;
    const gone = once(process, "exit");
    // A suspended process handles SIGTERM only after SIGCONT.
    process.kill("SIGCONT");
    process.kill("SIGTERM");
    const ended = await Promise.race([
      gone.then(() => true),
      pause(graceMs, false, { ref: false }),
    ]);
    if (!ended) process.kill("SIGKILL");
    await gone;
    return ended;
  }

  /** Kills the process at once. */
  kill(): void {
    this.#stopping = true;
    this.#current?.process.kill("SIGKILL");
  }

  /** Pauses the process until the returned function is called. */
  readonly hold = async (): Promise<() => void> => {
    await this.#released;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#released = promise;
    const process = this.#current?.process;
    if (process?.pid !== undefined && isRunning(process)) await freeze(process.pid);
    return () => {
      process?.kill("SIGCONT");
      resolve();
    };
  };

  #adopt(workerd: Workerd, pauseMs: number): void {
    this.#current = workerd;
    const began = Date.now();
    workerd.process.once("exit", (code, signal) => {
      if (this.#stopping) return;
      const isLong = Date.now() - began > LONGEST_PAUSE_MS;
      const next = isLong ? FIRST_PAUSE_MS : pauseMs;
      this.#parts.say(
        `workerd ended (${signal ?? `exit code ${code}`}); it starts again in ${next} ms`,
      );
      void this.#restart(next);
    });
  }

  async #restart(pauseMs: number): Promise<void> {
    await pause(pauseMs);
    await this.#released;
    if (this.#stopping) return;
    const nextMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    try {
      const workerd = await this.#parts.start();
      if (this.#stopping) workerd.process.kill("SIGKILL");
      else this.#adopt(workerd, nextMs);
    } catch (error) {
      if (!(error instanceof NotStarted)) throw error;
      this.#parts.say(`${error.message} The next attempt is in ${nextMs} ms.`);
      await this.#restart(nextMs);
    }
  }
}

const isRunning = ({ exitCode, signalCode }: Workerd["process"]): boolean =>
  exitCode === null && signalCode === null;
