import { printableText } from "../../server/kernel/core/text.ts";

/**
 * An error that stops the bundle step. Its message names the file, the problem and the remedy. Text quoted from a
 * servlet is made printable.
 */
export class Refusal extends Error {
  constructor(message: string) {
    super(printableText(message));
  }
}

/** For `catch`: rethrows the error, with the place before the message of a `Refusal`. */
export const refusedAt =
  (place: string) =>
  (error: unknown): never => {
    throw error instanceof Refusal ? new Refusal(`${place}: ${error.message}`) : error;
  };

/** Runs a command. For a `Refusal`, prints its message and sets the exit code to 1. */
export async function runCommand(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

/** Collects the refusals of several servlets, so that all are reported together. */
export class Refusals {
  readonly #messages: string[] = [];

  /** The result of the work; undefined if it was refused. */
  async collect<T>(work: () => Promise<T> | T): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#messages.push(error.message);
      return undefined;
    }
  }

  /** The messages collected so far. */
  get messages(): readonly string[] {
    return [...this.#messages];
  }

  /** Throws the collected refusals as one `Refusal`, if there are any. */
  throwAll(): void {
    if (this.#messages.length > 0) throw new Refusal(this.#messages.join("\n"));
  }
}
