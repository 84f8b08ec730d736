import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { freeze } from "./processes.ts";
import { NotStarted, type Workerd } from "./workerd.ts";

/** The pause before a restart doubles up to `LONGEST_PAUSE_MS`. It is reset after a process has run for longer. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

interface SupervisorParts {
  start(): Promise<Workerd>;
  /** Writes a line to the log. */
  say(text: string): void;
}

/** Keeps workerd running until it is stopped. */
export class Supervisor {
  readonly #parts: SupervisorParts;
  #current: Workerd | undefined;
  #stopping = false;
  /** Settles when the last queued start, hold or stop is done. These operations run one at a time. */
  #turn: Promise<void> = Promise.resolve();

  constructor(parts: SupervisorParts) {
    this.#parts = parts;
  }

  /** Starts workerd for the first time. Throws `NotStarted` without a retry: the cause is most likely permanent. */
  start(): Promise<Workerd> {
    return this.#start(FIRST_PAUSE_MS);
  }

  /** Starts workerd unless the server is being stopped; `pauseMs` is the pause before the next start. */
  async #start(pauseMs: number): Promise<Workerd> {
    const end = await this.#takeTurn();
    try {
      if (this.#stopping) throw new NotStarted("The server is being stopped.");
      const workerd = await this.#parts.start();
      this.#adopt(workerd, pauseMs);
      return workerd;
    } finally {
      end();
    }
  }

  /**
   * Stops workerd. Open calls have `graceMs` to end; durable calls resume after the next start. Returns false if calls
   * were cut off. A paused process stays paused, because a backup must not copy its last writes.
   */
  async stop(graceMs: number): Promise<boolean> {
    this.#stopping = true;
    const over = pause(graceMs, false, { ref: false });
    const isFree = await Promise.race([this.#takeTurn().then(() => true), over]);
    const process = this.#current?.process;
    if (process === undefined || !isRunning(process)) return true;
    const gone = once(process, "exit").then(() => true);
    if (isFree) process.kill("SIGTERM");
    const ended = isFree && (await Promise.race([gone, over]));
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
    const end = await this.#takeTurn();
    const process = this.#current?.process;
    try {
      if (process?.pid !== undefined && isRunning(process)) await freeze(process.pid);
    } catch (error) {
      end();
      throw error;
    }
    return () => {
      process?.kill("SIGCONT");
      end();
    };
  };

  /** Waits for earlier operations on the process. Returns a function that lets the next one begin. */
  async #takeTurn(): Promise<() => void> {
    const before = this.#turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turn = promise;
    await before;
    return resolve;
  }

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
    const nextMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    try {
      await this.#start(nextMs);
    } catch (error) {
      if (!(error instanceof NotStarted)) throw error;
      if (this.#stopping) return;
      this.#parts.say(`${error.message} The next attempt is in ${nextMs} ms.`);
      await this.#restart(nextMs);
    }
  }
}

const isRunning = ({ exitCode, signalCode }: Workerd["process"]): boolean =>
  exitCode === null && signalCode === null;
