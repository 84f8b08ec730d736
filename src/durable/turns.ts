import { Fault } from "../errors.ts";

/** One at a time, in the order in which they came, with a bounded queue. */
export class Turns {
  readonly #queue: (() => void)[] = [];
  readonly #most: number;
  #isTaken = false;

  /** At most so many wait for their turn. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Resolves when it is this one's turn. Throws `too_many` if the queue is full. */
  async take(): Promise<void> {
    if (this.#queue.length >= this.#most) {
      throw new Fault(
        "too_many",
        `Too many calls wait for the state of this servlet (limit ${this.#most}). Try again in a moment.`,
        { data: { retryAfter: 1 } },
      );
    }
    if (this.#isTaken) await new Promise<void>((resolve) => this.#queue.push(resolve));
    this.#isTaken = true;
  }

  release(): void {
    const next = this.#queue.shift();
    // Where one waits, its turn begins now: nobody comes in between.
    if (next === undefined) this.#isTaken = false;
    else next();
  }
}
