/** The successive waits of one call. They share a timer and a signal, because these cost more than most waits. */
export class Waits {
  readonly #gone: AbortSignal;
  readonly #leave = (): void => this.#stop(this.#gone.reason);
  /** Aborts when the client leaves, or the current wait is late. */
  #stopped = new AbortController();
  /** Rejects the current wait; undefined between waits. */
  #reject: ((reason: unknown) => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer was set, in Unix ms, and its duration in ms. */
  #setAt = 0;
  #setMs = 0;
  /** Time left to the current wait when the timer fires, in ms: an earlier wait may have set the timer. */
  #leftMs = 0;
  #isLate = false;

  /** `gone` aborts when the client has left. */
  constructor(gone: AbortSignal) {
    this.#gone = gone;
    gone.addEventListener("abort", this.#leave, { once: true });
  }

  /** True if the latest wait took too long. */
  get isLate(): boolean {
    return this.#isLate;
  }

  /** Begins a wait of at most `mostMs`. Returns a signal that aborts after that time, or when the client leaves. */
  begin(mostMs: number): AbortSignal {
    if (this.#isLate) this.#stopped = new AbortController();
    this.#isLate = false;
    const sinceMs = Date.now() - this.#setAt;
    const leftMs = sinceMs + mostMs - this.#setMs;
    // The clock may have been changed since the timer was set.
    const isSound = this.#timer !== undefined && sinceMs >= 0 && sinceMs <= this.#setMs;
    if (isSound && leftMs >= 0) this.#leftMs = leftMs;
    else this.#setTimer(mostMs);
    return this.#stopped.signal;
  }

  /**
   * Settles as the wait's work does, or rejects at once when the client leaves. Once the listeners of its signal have
   * run, workerd stops a request whose client has left, and its fetches never settle: a guest that waited for one would
   * never end, and its memory would never be released.
   */
  settle<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      work.then(resolve, reject);
    });
  }

  /** Must be called at the end of each wait. */
  finish(): void {
    this.#reject = undefined;
  }

  /** Releases timer and listener. Must be called when the call is over. */
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
