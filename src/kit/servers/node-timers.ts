/** Node's timers, which return objects with methods. A timer that is set at module scope never fires. */
import { running } from "../host.ts";

type Callback = (...given: unknown[]) => void;

class Timeout {
  readonly #id: number;

  constructor(id: number) {
    this.#id = id;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  hasRef(): boolean {
    return true;
  }
  refresh(): this {
    return this;
  }
  close(): this {
    globalThis.clearTimeout(this.#id);
    return this;
  }
  [Symbol.toPrimitive](): number {
    return this.#id;
  }
}

const timer =
  (set: typeof globalThis.setTimeout) =>
  (callback: Callback, ms?: number, ...given: unknown[]): Timeout =>
    new Timeout(running.call ? set(callback, ms, ...given) : 0);

const clear = (timeout?: unknown): void => globalThis.clearTimeout(Number(timeout));

export const setTimeout = timer(globalThis.setTimeout);
export const setInterval = timer(globalThis.setInterval);
export const setImmediate = (callback: Callback, ...given: unknown[]): Timeout =>
  setTimeout(callback, 0, ...given);
export const clearTimeout = clear;
export const clearInterval = clear;
export const clearImmediate = clear;
export default {
  setTimeout,
  setInterval,
  setImmediate,
  clearTimeout,
  clearInterval,
  clearImmediate,
};
