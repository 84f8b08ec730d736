/** `Event`, its subclasses, and `EventTarget`. */
import { thrownText } from "../host.ts";

export interface EventInit {
  bubbles?: boolean;
  cancelable?: boolean;
  composed?: boolean;
}

const stopped = /* @__PURE__ */ new WeakSet<Event>();
const targets = /* @__PURE__ */ new WeakMap<Event, EventTarget>();

/** https://dom.spec.whatwg.org/#interface-event, for targets without parents. */
export class Event {
  readonly type: string;
  readonly bubbles: boolean;
  readonly cancelable: boolean;
  readonly composed: boolean;
  readonly isTrusted = false;
  readonly timeStamp = performance.now();
  #prevented = false;

  constructor(type: string, init: EventInit = {}) {
    this.type = type;
    this.bubbles = init.bubbles === true;
    this.cancelable = init.cancelable === true;
    this.composed = init.composed === true;
  }

  get target(): EventTarget | null {
    return targets.get(this) ?? null;
  }

  get currentTarget(): EventTarget | null {
    return this.target;
  }

  get defaultPrevented(): boolean {
    return this.#prevented;
  }

  composedPath(): EventTarget[] {
    return this.target === null ? [] : [this.target];
  }

  preventDefault(): void {
    if (this.cancelable) this.#prevented = true;
  }

  stopPropagation(): void {}

  stopImmediatePropagation(): void {
    stopped.add(this);
  }
}

export class CustomEvent<T = unknown> extends Event {
  readonly detail: T;

  constructor(type: string, init: EventInit & { detail?: T } = {}) {
    super(type, init);
    this.detail = (init.detail ?? null) as T;
  }
}

export class MessageEvent<T = unknown> extends Event {
  readonly data: T;
  readonly origin: string;
  readonly lastEventId: string;

  constructor(
    type: string,
    init: EventInit & { data?: T; origin?: string; lastEventId?: string } = {},
  ) {
    super(type, init);
    this.data = (init.data ?? null) as T;
    this.origin = init.origin ?? "";
    this.lastEventId = init.lastEventId ?? "";
  }
}

export class ErrorEvent extends Event {
  readonly message: string;
  readonly error: unknown;

  constructor(type: string, init: EventInit & { message?: string; error?: unknown } = {}) {
    super(type, init);
    this.message = init.message ?? "";
    this.error = init.error;
  }
}

export type Callback<E> = ((event: E) => void) | { handleEvent(event: E): void };

interface Listener {
  type: string;
  callback: Callback<Event>;
  capture: boolean;
  once: boolean;
}

export interface ListenerOptions {
  capture?: boolean;
  once?: boolean;
  passive?: boolean;
  signal?: EventTarget & { readonly aborted: boolean };
}

const optionsOf = (options: ListenerOptions | boolean | undefined): ListenerOptions =>
  typeof options === "boolean" ? { capture: options } : (options ?? {});

/** https://dom.spec.whatwg.org/#interface-eventtarget */
export class EventTarget {
  #listeners: readonly Listener[] = [];

  addEventListener<E extends Event = Event>(
    type: string,
    callback: Callback<E> | null,
    given?: ListenerOptions | boolean,
  ): void {
    const { capture = false, once = false, signal } = optionsOf(given);
    if (callback === null || callback === undefined || signal?.aborted === true) return;
    if (this.#find(type, callback as Callback<Event>, capture) !== undefined) return;
    const listener = { type, callback: callback as Callback<Event>, capture, once };
    this.#listeners = [...this.#listeners, listener];
    signal?.addEventListener("abort", () => this.#remove(listener));
  }

  removeEventListener<E extends Event = Event>(
    type: string,
    callback: Callback<E> | null,
    given?: ListenerOptions | boolean,
  ): void {
    this.#remove(this.#find(type, callback as Callback<Event>, optionsOf(given).capture === true));
  }

  /** False if a listener has called `preventDefault()`. Errors of listeners are logged. */
  dispatchEvent(event: Event): boolean {
    targets.set(event, this);
    for (const listener of this.#listeners) {
      if (listener.type !== event.type || !this.#listeners.includes(listener)) continue;
      if (listener.once) this.#remove(listener);
      const { callback } = listener;
      try {
        if (typeof callback === "function") callback.call(this, event);
        else callback.handleEvent(event);
      } catch (error) {
        __host.log(4, `A listener of "${event.type}" failed: ${thrownText(error)}`);
      }
      if (stopped.has(event)) break;
    }
    return !event.defaultPrevented;
  }

  #find(type: string, callback: Callback<Event>, capture: boolean): Listener | undefined {
    return this.#listeners.find(
      (one) => one.type === type && one.callback === callback && one.capture === capture,
    );
  }

  #remove(listener: Listener | undefined): void {
    this.#listeners = this.#listeners.filter((one) => one !== listener);
  }
}
