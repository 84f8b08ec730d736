/** Limits of sessions and of streams of changes. */
import { addLimits } from "../../kernel/core/limits.ts";
export { limits } from "../../kernel/core/limits.ts";

declare module "../../kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  public: {
    /** Open `subscriptions/listen` streams of one caller. */
    listenStreams: 32,
    /** Lifetime of an idle session (twice that for an id without an object): people close laptops overnight. */
    sessionIdleMs: 24 * 3_600_000,
  },
  internal: {
    /** Open streams of one hub, which all anonymous callers share, and their unread bytes together. */
    hubStreams: 1000,
    hubBacklogBytes: 32 * 1024 * 1024,
    /** Size of the filters of all streams of one hub, and of one caller. */
    hubFilterBytes: 16 * 1024 * 1024,
    listenFilterBytes: 2 * 1024 * 1024,
    /** Overhead of a URI or id in a filter beyond its text. */
    filterItemBytes: 32,
    /** Pause between two rounds of change notifications: servlets may report changes at any time, each to all clients. */
    changesMs: 1000,
    /**
     * Lifetime of a stream: it outlives a revoked credential. go-sdk 1.8 does not open another, so it is as long as
     * access tokens usually last. https://github.com/modelcontextprotocol/go-sdk/issues/1283
     */
    listenMs: 60 * 60 * 1000,
    /** Filter of one stream, as JSON text: room for thousands of resources. */
    listenFilterCharacters: 64 * 1024,
    /** Task ids per stream; each costs an ownership lookup. */
    listenTasks: 100,
    /** Sessions of one principal that are notified of changes, each by a call to its object. */
    hubSessions: 1000,
    /**
     * Maximum delay before the last use of a session is stored. An evicted session counts it as the client's silence,
     * and tells the client to reconnect after a quarter of it.
     */
    sessionUsedMs: 20_000,
    /** How long a client may take to answer the ping before its idle session ends. */
    sessionPingMs: 60_000,
    /** Calls of one session that run at once in its object or in an isolate. */
    sessionCalls: 100,
    /** Tasks that the client of one session has created. */
    sessionTasks: 1000,
    /** The newest pages of one session that were requested and not completed. Clients may wait for one or two. */
    sessionPages: 100,
    /** Resources that one session may subscribe to, and the characters of their URIs together. */
    sessionSubscriptions: 1000,
    sessionSubscriptionCharacters: 256 * 1024,
    /** The client's capabilities, name and version, as JSON: a dozen capabilities take a few hundred bytes. */
    clientBytes: 8 * 1024,
    /** Tasks on one page of a session's list: each costs a request to its object. */
    taskPage: 50,
    /** Messages that a session stores for a client that reconnects; the oldest notifications are dropped first. */
    sessionEvents: 1000,
    /** Bytes of all messages that a session stores except the newest, and unread bytes of all streams except one. */
    sessionEventBytes: 8 * 1024 * 1024,
    /** How long a session stores a message for a client that reconnects. */
    sessionEventMs: 24 * 3_600_000,
    /**
     * How long a session's own stream stays open before its client reconnects: it keeps the session's object
     * awake. A client that was silent for longer gets a longer reconnection delay.
     */
    sessionStreamMs: 60_000,
    /** Maximum reconnection delay of a client whose stream has ended. */
    maxRetryMs: 5 * 60_000,
  },
});
