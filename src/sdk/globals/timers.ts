import { addTimer, removeTimer } from "../timers.ts";

type Callback<Args extends unknown[]> = (...args: Args) => void;

const start = <Args extends unknown[]>(
  callback: Callback<Args>,
  ms: number | undefined,
  args: Args,
  repeat: boolean,
): number => {
  if (typeof callback !== "function") throw new TypeError("A timer needs a function.");
  return addTimer(() => callback(...args), ms ?? 0, repeat);
};

/** The first form is for what a promise resolves with, which takes an argument that nobody gives. */
export function setTimeout(callback: (nothing: void) => void, ms?: number): number;
export function setTimeout<Args extends unknown[]>(
  callback: Callback<Args>,
  ms?: number,
  ...args: Args
): number;
export function setTimeout<Args extends unknown[]>(
  callback: Callback<Args>,
  ms?: number,
  ...args: Args
): number {
  return start(callback, ms, args, false);
}

export function setInterval(callback: (nothing: void) => void, ms?: number): number;
export function setInterval<Args extends unknown[]>(
  callback: Callback<Args>,
  ms?: number,
  ...args: Args
): number;
export function setInterval<Args extends unknown[]>(
  callback: Callback<Args>,
  ms?: number,
  ...args: Args
): number {
  return start(callback, ms, args, true);
}

export function clearTimeout(id?: number | null): void {
  removeTimer(id);
}

export function clearInterval(id?: number | null): void {
  removeTimer(id);
}
