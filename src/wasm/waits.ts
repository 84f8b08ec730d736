/** The waits of one call, one after another: they share a timer and a signal, which cost more than most waits. */
export class Waits {
  readonly #gone: AbortSignal;
  readonly #leave = (): void => this.#stop(this.#gone.reason);
  /** Aborts when the client leaves, or the present wait is late. */
  #stopped = new AbortController();
  /** Of the present wait. */
  #reject: ((reason: unknown) => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer was set (Unix ms), and for how many ms. */
  #setAt = 0;
  #setMs = 0;
  /** How long the present wait may still last when the timer goes off, which an earlier wait may have set, in ms. */
  #leftMs = 0;
  #isLate = false;

  /** `gone` aborts when the client has left. */
  constructor(gone: AbortSignal) {
    this.#gone = gone;
    gone.addEventListener("abort", this.#leave, { once: true });
  }

  /** True if the newest wait has lasted for too long. */
  get isLate(): boolean {
    return this.#isLate;
  }

  /** Begins a wait of at most `mostMs`. Gives the signal that aborts then, and when the client leaves. */
  begin(mostMs: number): AbortSignal {
    if (this.#isLate) this.#stopped = new AbortController();
    this.#isLate = false;
    const sinceMs = Date.now() - this.#setAt;
    const leftMs = sinceMs + mostMs - this.#setMs;
    // The clock may have been set since.
    const isSound = this.#timer !== undefined && sinceMs >= 0 && sinceMs <= this.#setMs;
    if (isSound && leftMs >= 0) this.#leftMs = leftMs;
    else this.#setTimer(mostMs);
    return this.#stopped.signal;
  }

  /**
   * Settles as the wait's work, or rejects at once when the client leaves. A request whose client has left ends with the
   * listeners of its signal: no fetch of it settles any more. A guest that waited for one would be abandoned, with its memory.
   */
  endOf<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      work.then(resolve, reject);
    });
  }

  /** To be called at the end of each wait. */
  over(): void {
    this.#reject = undefined;
  }

  /** To be called when the call is over. */
  end(): void {
    clearTimeout(this.#timer);
    this.#gone.removeEventListener("abort", this.#leave);
  }

  #setTimer(ms: number): void {
    clearTimeout(this.#timer);
    this.#setAt = Date.now();
    this.#setMs = ms;
    this.#leftMs = 0;
    this.#timer = setTimeout(() => this.#ring(), ms);
  }

  #ring(): void {
    this.#timer = undefined;
    if (this.#reject === undefined) return;
    if (this.#leftMs > 0) return this.#setTimer(this.#leftMs);
    this.#isLate = true;
    this.#stopped.abort(new DOMException("it took too long", "TimeoutError"));
  }

  #stop(reason: unknown): void {
    this.#stopped.abort(reason);
    this.#reject?.(reason);
  }
}
