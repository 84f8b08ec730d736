/** Step budget of a computation on untrusted values and schemas. */
export class Steps {
  readonly #limit: number;
  #left: number;

  constructor(limit: number) {
    this.#limit = limit;
    this.#left = limit;
  }

  /** Throws `StepsExceeded` where fewer than `count` are left. */
  take(count: number): void {
    this.#left -= count;
    if (this.#left < 0) throw new StepsExceeded(`takes more than ${this.#limit} steps to check`);
  }
}

/** Ends a computation that takes too many steps. Its message follows the name of the checked value. */
export class StepsExceeded extends Error {}
