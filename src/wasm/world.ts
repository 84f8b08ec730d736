/**
 * What a guest can learn of the world besides its input. Everything that could differ between two
 * runs of a call comes from here, so that a journal can stand in for it.
 *
 * What waits settles soon after its signal aborts: a guest is suspended on it, and a suspended guest
 * must never be abandoned.
 */
export interface World {
  /** Unix time in milliseconds. */
  now(): number;
  /** Fills `bytes` with cryptographic random numbers. */
  random(bytes: Uint8Array<ArrayBuffer>): void;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  fetch(request: Request): Promise<Response>;
}

/** `crypto.getRandomValues` gives no more at once. */
const RANDOM_BYTES = 65536;

export const liveWorld: World = {
  now: () => Date.now(),
  random(bytes) {
    for (let at = 0; at < bytes.length; at += RANDOM_BYTES) {
      crypto.getRandomValues(bytes.subarray(at, at + RANDOM_BYTES));
    }
  },
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const timer = setTimeout(() => {
        signal.removeEventListener("abort", stop);
        resolve();
      }, ms);
      const stop = () => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      signal.addEventListener("abort", stop, { once: true });
    }),
  fetch: (request) => fetch(request),
};

/** The world of start functions whose outcome is kept: the same for every instance, so none learns a thing. */
export const startWorld: World = {
  now: () => 0,
  random: (bytes) => void bytes.fill(0),
  sleep: () => Promise.reject(new Error("nothing sleeps while it starts")),
  fetch: () => Promise.reject(new Error("there is no network while a servlet starts")),
};
