/** Step budget of a computation on untrusted values and schemas. */
export class Steps {
  readonly #limit: number;
  #left: number;

  constructor(limit: number) {
    this.#limit = limit;
    this.#left = limit;
  }

  /** Throws `StepsExceeded` if fewer than `count` are left. */
  take(count: number): void {
    this.#left -= count;
    if (this.#left < 0) throw new StepsExceeded(`takes more than ${this.#limit} steps to check`);
  }
}

/** Thrown when a computation takes too many steps. The message follows the name of the checked value. */
export class StepsExceeded extends Error {}
