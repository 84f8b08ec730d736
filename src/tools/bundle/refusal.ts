import { printableText } from "../../server/kernel/core/text.ts";

/**
 * An error that stops the bundle step; its message names the file, the problem and the remedy. Text that
 * it quotes from a servlet is made printable.
 */
export class Refusal extends Error {
  constructor(message: string) {
    super(printableText(message));
  }
}

/** For `catch`: throws the error again; a `Refusal` begins with its place then. */
export const refusedAt =
  (place: string) =>
  (error: unknown): never => {
    throw error instanceof Refusal ? new Refusal(`${place}: ${error.message}`) : error;
  };

/** Runs a command. A `Refusal` ends it: its message is printed, and the exit code is 1. */
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

  /** Does the work; gives undefined where it was refused. */
  async collect<T>(work: () => Promise<T> | T): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#messages.push(error.message);
      return undefined;
    }
  }

  /** Those so far. */
  get messages(): readonly string[] {
    return [...this.#messages];
  }

  /** Throws them as one `Refusal`, if there are any. */
  throwAll(): void {
    if (this.#messages.length > 0) throw new Refusal(this.#messages.join("\n"));
  }
}
