/** Amounts, such as bytes or requests, by owner and in total. */
export class Ledger {
  readonly #owned = new Map<string, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  amountOf(owner: string): number {
    return this.#owned.get(owner) ?? 0;
  }

  /** Adds to an owner's amount, or subtracts from it. */
  add(owner: string, change: number): void {
    this.#total += change;
    const own = this.amountOf(owner) + change;
    if (own > 0) this.#owned.set(owner, own);
    else this.#owned.delete(owner);
  }

  /** The share of a capacity that an owner may use: half of what the others leave, so that a new owner finds room. */
  fairShare(owner: string, capacity: number): number {
    return Math.floor((capacity - (this.#total - this.amountOf(owner))) / 2);
  }
}
