/** Amounts by owner, and their sum: of bytes, or of requests. */
export class Ledger {
  readonly #owned = new Map<string, number>();
  #all = 0;

  get all(): number {
    return this.#all;
  }

  of(owner: string): number {
    return this.#owned.get(owner) ?? 0;
  }

  /** Adds to an owner's amount, or subtracts from it. */
  add(owner: string, more: number): void {
    this.#all += more;
    const own = this.of(owner) + more;
    if (own > 0) this.#owned.set(owner, own);
    else this.#owned.delete(owner);
  }

  /** What an owner may have of a whole: half of what others leave, so that there is room for one more. */
  fairShare(owner: string, whole: number): number {
    return Math.floor((whole - (this.#all - this.of(owner))) / 2);
  }
}
