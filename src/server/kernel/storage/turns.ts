import { Fault } from "../core/errors.ts";

/** A queue of bounded length that grants one turn at a time, in order of arrival. */
export class Turns {
  readonly #queue = new Set<() => void>();
  readonly #most: number;
  #isTaken = false;

  /** At most this many wait for their turn. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Takes the turn if it is free. */
  takeNow(): boolean {
    if (this.#isTaken) return false;
    return (this.#isTaken = true);
  }

  /**
   * Resolves at this caller's turn. Throws `too_many` if the queue is full, and `cancelled` if the signal aborts first:
   * the turn then goes to the next.
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
    // The first in the queue gets the turn now, so that no newcomer can take it first.
    if (next === undefined) this.#isTaken = false;
    else {
      this.#queue.delete(next);
      next();
    }
  }
}

const cancelled = () =>
  new Fault("cancelled", "The call was cancelled before its turn came. Nothing was changed.");
