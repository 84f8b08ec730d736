/** `setTimeout`, `setInterval`, and the functions that clear them. */
import { addTimer, removeTimer } from "../timers.ts";

interface Start {
  /** For a promise's `resolve`, whose argument may be omitted. */
  (callback: (nothing: void) => void, ms?: number): number;
  <Args extends unknown[]>(callback: (...args: Args) => void, ms?: number, ...args: Args): number;
}

const timer =
  (repeat: boolean): Start =>
  <Args extends unknown[]>(callback: (...args: Args) => void, ms?: number, ...args: Args) => {
    if (typeof callback !== "function") throw new TypeError("A timer needs a function.");
    const from = `${repeat ? "setInterval" : "setTimeout"}\n${new Error().stack ?? ""}`.trimEnd();
    return addTimer(() => callback(...args), ms ?? 0, repeat, from);
  };

export const setTimeout = /* @__PURE__ */ timer(false);
export const setInterval = /* @__PURE__ */ timer(true);

export const clearTimeout = (id?: number | null): void => removeTimer(id);
export const clearInterval = clearTimeout;
