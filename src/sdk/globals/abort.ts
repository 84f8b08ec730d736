import { addTimer } from "../timers.ts";

interface AbortEvent {
  readonly type: "abort";
  readonly target: AbortSignal;
}

type Listener = ((event: AbortEvent) => void) | { handleEvent(event: AbortEvent): void };

interface State {
  /** There once the signal has aborted. */
  abort?: { reason: unknown };
  listeners: Set<Listener>;
}

const states = /* @__PURE__ */ new WeakMap<AbortSignal, State>();

/** https://dom.spec.whatwg.org/#interface-AbortSignal */
export class AbortSignal {
  onabort: ((event: AbortEvent) => void) | null = null;

  constructor() {
    states.set(this, { listeners: new Set() });
  }

  static abort(reason?: unknown): AbortSignal {
    const signal = new AbortSignal();
    abort(signal, reason);
    return signal;
  }

  static timeout(ms: number): AbortSignal {
    const signal = new AbortSignal();
    addTimer(() => abort(signal, new DOMException("The time is up.", "TimeoutError")), ms, false);
    return signal;
  }

  static any(signals: Iterable<AbortSignal>): AbortSignal {
    const signal = new AbortSignal();
    for (const one of signals) {
      if (one.aborted) abort(signal, one.reason);
      else one.addEventListener("abort", () => abort(signal, one.reason));
    }
    return signal;
  }

  get aborted(): boolean {
    return states.get(this)?.abort !== undefined;
  }

  get reason(): unknown {
    return states.get(this)?.abort?.reason;
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  /** A signal aborts once, so each listener is called once. */
  addEventListener(type: string, listener: Listener, _options?: object | boolean): void {
    if (type === "abort") states.get(this)?.listeners.add(listener);
  }

  removeEventListener(type: string, listener: Listener, _options?: object | boolean): void {
    if (type === "abort") states.get(this)?.listeners.delete(listener);
  }
}

function abort(signal: AbortSignal, reason: unknown): void {
  const state = states.get(signal);
  if (!state || state.abort) return;
  state.abort = {
    reason: reason ?? new DOMException("The operation was aborted.", "AbortError"),
  };
  const event: AbortEvent = { type: "abort", target: signal };
  signal.onabort?.(event);
  for (const listener of state.listeners) {
    if (typeof listener === "function") listener(event);
    else listener.handleEvent(event);
  }
  state.listeners.clear();
}

/** https://dom.spec.whatwg.org/#interface-abortcontroller */
export class AbortController {
  readonly signal = new AbortSignal();

  abort(reason?: unknown): void {
    abort(this.signal, reason);
  }
}
