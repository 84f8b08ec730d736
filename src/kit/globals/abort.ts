import { thrownText } from "../host.ts";
import { addTimer } from "../timers.ts";
import { Event, EventTarget } from "./events.ts";

type Handler = ((event: Event) => void) | null;

/** https://dom.spec.whatwg.org/#interface-AbortSignal */
export class AbortSignal extends EventTarget {
  onabort: Handler = null;
  /** Set once the signal has aborted. */
  #abort: { reason: unknown } | undefined;

  static abort(reason?: unknown): AbortSignal {
    const signal = new AbortSignal();
    AbortSignal.end(signal, reason);
    return signal;
  }

  static timeout(ms: number): AbortSignal {
    const signal = new AbortSignal();
    const reason = new DOMException("The time is up.", "TimeoutError");
    addTimer(() => AbortSignal.end(signal, reason), ms, false);
    return signal;
  }

  static any(signals: Iterable<AbortSignal>): AbortSignal {
    const signal = new AbortSignal();
    for (const one of signals) {
      if (one.aborted) AbortSignal.end(signal, one.reason);
      else one.addEventListener("abort", () => AbortSignal.end(signal, one.reason), { once: true });
    }
    return signal;
  }

  /** Aborts the signal, for its controller. */
  static end(signal: AbortSignal, reason: unknown): void {
    if (signal.#abort) return;
    signal.#abort = {
      reason: reason ?? new DOMException("The operation was aborted.", "AbortError"),
    };
    const event = new Event("abort");
    try {
      signal.onabort?.(event);
    } catch (error) {
      __host.log(4, `onabort failed: ${thrownText(error)}`);
    }
    signal.dispatchEvent(event);
  }

  get aborted(): boolean {
    return this.#abort !== undefined;
  }

  get reason(): unknown {
    return this.#abort?.reason;
  }

  throwIfAborted(): void {
    if (this.#abort) throw this.#abort.reason;
  }
}

/** https://dom.spec.whatwg.org/#interface-abortcontroller */
export class AbortController {
  readonly signal = new AbortSignal();

  abort(reason?: unknown): void {
    AbortSignal.end(this.signal, reason);
  }
}
