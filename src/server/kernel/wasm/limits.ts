/** Limits of guests: the resources of one call, and of waiting calls. */
import { addLimits, GUEST_MEMORY } from "../core/limits.ts";
export { limits } from "../core/limits.ts";

declare module "../core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  public: {
    /** HTTP requests of one call, without redirects. Polling for a token may take two hundred. */
    httpRequests: 500,
    /**
     * Memory of the guests that wait in one isolate. An isolate has 128 MiB on Cloudflare; the rest is for code, idle
     * instances and the running call. Beyond this limit, a guest is unwound while it waits, and later replayed from its
     * journal.
     */
    waitingBytes: GUEST_MEMORY.waitingBytes,
    /** Part of `waitingBytes` for one caller or, if known, one /48, so that other callers are served too. */
    waitingBytesOfOne: GUEST_MEMORY.waitingBytesOfOne,
    /** How long a call that has no room even for its unwound guest waits before it is rejected. */
    roomMs: 5000,
  },
  internal: {
    /**
     * Fuel of all runs of one call together, as a multiple of one run's fuel: each run repeats the computation of
     * earlier runs. Enough for thousands of sleeps or questions.
     */
    callTanks: 100,
    /** Additional cost of a host function whose answer goes into the journal, where it is hashed. */
    answerFuel: 6000,
    /** Fuel for each byte that the host reads or writes for a guest. */
    byteFuel: 8,
    /**
     * Overhead of each waiting guest beyond its own memory: V8's stack, its request, host objects. Measured: 0.1 MB.
     */
    waitingOverheadBytes: 256 * 1024,
    /** Memory of a waiting call whose guest is unwound: its request and host objects. */
    unwoundOverheadBytes: 32 * 1024,
    /**
     * The most bytes of a file that a servlet of the kit reads at once: the host, the kernel and the interpreter each
     * hold a copy.
     */
    fileReadBytes: 6 * 1024 * 1024,
    /** Fuel for each SQL statement, each row sealed or opened, and each name hashed in a guest's file calls. */
    fileStepFuel: 10_000,
    /** Fuel for each row looked up in a guest's file calls, even in memory. */
    lookUpFuel: 1000,
    /** I/O vectors per `fd_write` and events per `poll_oneoff`: IOV_MAX of Linux. */
    vectors: 1024,
    /** Idle instances of one servlet: more concurrent calls are rare. */
    idleInstances: GUEST_MEMORY.idleInstances,
    /** Memory of dropped instances that triggers a garbage collection before the next instance is created. */
    garbageBytes: 64 * 1024 * 1024,
    /** Journal entries of one call: a servlet that asks in an endless loop ends here. */
    journalEntries: 10_000,
    /** Calls of host functions of features in one run: as many as of other servlets' tools. */
    hostCalls: 1000,
    /** How often a call asks its user for a missing secret, each time for `pageMs`. */
    secretAsks: 5,
    /** Characters of a question that a journal keeps for people, with each answered question of a waiting call. */
    wordsCharacters: 200,
    /** Body of one HTTP request of a guest, and of its response: it is stored in base64 too. */
    httpBytes: 6 * 1024 * 1024,
    /** Longest silence of an event stream that a guest reads, in ms: tools of other servers may compute for minutes. */
    eventsMs: 2 * 60 * 1000,
    /** Log lines of one call. */
    logLines: 200,
  },
});
