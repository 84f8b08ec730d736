import { Fault } from "../core/errors.ts";

/** One at a time, in the order in which they came, with a bounded queue. */
export class Turns {
  readonly #queue = new Set<() => void>();
  readonly #most: number;
  #isTaken = false;

  /** At most so many wait for their turn. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Takes the turn if it is free. */
  takeNow(): boolean {
    if (this.#isTaken) return false;
    return (this.#isTaken = true);
  }

  /**
   * Resolves when it is this one's turn. Throws `too_many` if the queue is full, and `cancelled` if the signal
   * aborts before: the turn then goes to the next.
   */
  async take(signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw cancelled();
    if (this.takeNow()) return;
    if (this.#queue.size >= this.#most) {
      throw new Fault(
        "too_many",
        `Too many calls wait for the state of this servlet (limit ${this.#most}). Try again in a moment.`,
        { data: { retryAfter: 1 } },
      );
    }
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.#queue.delete(turn);
        reject(cancelled());
      };
      const turn = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      this.#queue.add(turn);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  release(): void {
    const [next] = this.#queue;
    // The first in the queue gets the turn now, so that no newcomer can take it before.
    if (next === undefined) this.#isTaken = false;
    else {
      this.#queue.delete(next);
      next();
    }
  }
}

const cancelled = () =>
  new Fault("cancelled", "The call was cancelled before its turn came. Nothing was changed.");
