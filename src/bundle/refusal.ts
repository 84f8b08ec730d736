import { printableText } from "../text.ts";

/**
 * An error that stops the bundle step; its message names the file, the problem and the remedy. Text that
 * it quotes from a servlet is made printable.
 */
export class Refusal extends Error {
  constructor(message: string) {
    super(printableText(message));
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

  /** Throws them as one `Refusal`, if there are any. */
  throwAll(): void {
    if (this.#messages.length > 0) throw new Refusal(this.#messages.join("\n"));
  }
}
