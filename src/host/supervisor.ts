import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { freeze } from "./processes.ts";
import { NotStarted, type Workerd } from "./workerd.ts";

/** Pauses before a restart double from the first to the last; a process that ran for longer than that begins anew. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

export interface SupervisorParts {
  start(): Promise<Workerd>;
  /** Says what happens to whoever reads the log. */
  say(text: string): void;
}

/** Keeps workerd running until it is stopped. */
export class Supervisor {
  readonly #parts: SupervisorParts;
  #current: Workerd | undefined;
  #stopping = false;
  /** Settled when the last of those is done that start, hold or stop the process: each waits for those before it. */
  #turn: Promise<void> = Promise.resolve();

  constructor(parts: SupervisorParts) {
    this.#parts = parts;
  }

  /** Starts for the first time. Throws `NotStarted`: what fails now would fail again. */
  start(): Promise<Workerd> {
    return this.#start(FIRST_PAUSE_MS);
  }

  /** Starts, unless it was told to stop; `pauseMs` is the pause before the next start. */
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
   * Lets calls end for `graceMs`; what is open then is cut off, and calls that are durable go on with the next start.
   * Gives false where something was. A process that is held is not let go: whoever copies what it has stored would copy
   * what it writes at its end.
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

  /** Ends the process at once. */
  kill(): void {
    this.#stopping = true;
    this.#current?.process.kill("SIGKILL");
  }

  /** Makes the process stand still, until the function that it gives is called. */
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

  /** Waits until the process is left alone, and keeps others off it until the function is called that it gives. */
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
      this.#parts.say(`${error.message} It is tried again in ${nextMs} ms.`);
      await this.#restart(nextMs);
    }
  }
}

const isRunning = ({ exitCode, signalCode }: Workerd["process"]): boolean =>
  exitCode === null && signalCode === null;
