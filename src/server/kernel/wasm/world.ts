/**
 * Clock, randomness and network of a guest. Everything that could differ between two runs of a call
 * comes from here, so that a journal can replay it.
 *
 * Promises settle soon after their signal aborts: a guest is suspended on them, and a suspended guest
 * must never be abandoned.
 */
export interface World {
  /** Unix time in milliseconds. */
  now(): number;
  /** Fills `bytes` with cryptographic random numbers. */
  random(bytes: Uint8Array<ArrayBuffer>): void;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** The platform's `fetch`. A URL costs less than a `Request`. */
  fetch(input: Request | URL, init?: GuestRequest): Promise<Response>;
}

/** An HTTP request of a guest, without its URL. */
export interface GuestRequest {
  method: string;
  /** Headers by lower-case name. */
  headers: Record<string, string> | Headers;
  body?: Uint8Array<ArrayBuffer>;
  redirect: "manual";
  signal: AbortSignal;
}

/** The limit of `crypto.getRandomValues`. */
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
  fetch: (input, init) => fetch(input, init),
};

/** A constant world for start functions that run once for all calls. */
export const startWorld: World = {
  now: () => 0,
  random: (bytes) => void bytes.fill(0),
  sleep: () => Promise.reject(new Error("nothing sleeps while it starts")),
  fetch: () => Promise.reject(new Error("there is no network while a servlet starts")),
};
