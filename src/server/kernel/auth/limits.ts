/** Limits of what one caller may do, and of how callers prove who they are. */
import { addLimits } from "../core/limits.ts";
export { limits } from "../core/limits.ts";

declare module "../core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  public: {
    /**
     * Bodies of all requests in progress in one isolate. One caller may have half of what the others leave, so this is
     * at least twice `bodyBytes`. A call takes up to twenty times the memory of its body, and an isolate has 128 MB.
     */
    bodiesBytes: 8 * 1024 * 1024,
    /** Concurrent requests of one caller in one isolate. */
    concurrentCalls: 200,
    /** Calls of one caller per minute, in total and per tool; 0 disables the limit. */
    callsPerMinute: 0,
    toolCallsPerMinute: 0,
    /**
     * Sessions with stored data, tasks, calls with an id, and large states of waiting calls, stored for one caller per
     * day. Each whole MiB of an object counts once more, so the default allows at most 50 GB.
     */
    keptPerDay: 50_000,
    /**
     * Sign-in pages that did not lead to an allowed app, and registrations of clients, from one address in an hour;
     * once a member of a team has signed in, of that member. A large office has one address.
     */
    signIns: 100,
    registrations: 100,
  },
  internal: {
    /** Length of an access token: those of large organisations, with groups in them, have some 4 KB. */
    tokenCharacters: 16 * 1024,
    /**
     * How long a verified token of this server's own is remembered in one isolate: KV may return a revoked one for as
     * long.
     */
    ownTokenMemoryMs: 60_000,
    /** Fetches of clients' documents in `attemptsMs`, for one address and for all: any caller can name any host. */
    documentFetches: 30,
    documentFetchesOfAll: 300,
    /** Wrong passphrases in `attemptsMs`: from one address, and from all, against attackers with many. */
    wrongPassphrases: 10,
    wrongPassphrasesOfAll: 100,
    attemptsMs: 3_600_000,
    /** How often an isolate reads which keys are revoked. */
    keyCheckMs: 5000,
  },
});
