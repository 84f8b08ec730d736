/** Limits of sessions, and of streams on which changes are told. */
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
    /** Lifetime of an idle session, and of a session id without an object twice that: people close their laptops overnight. */
    sessionIdleMs: 24 * 3_600_000,
  },
  internal: {
    /** Open streams of one hub, which all anonymous callers share, and the unread bytes of all of them. */
    hubStreams: 1000,
    hubBacklogBytes: 32 * 1024 * 1024,
    /** Filters of all streams of one hub, and of those of one caller. */
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
     * How late the time of a session's last use is stored. An evicted session takes it for the client's silence,
     * and tells the client to reconnect after a quarter of that.
     */
    sessionUsedMs: 20_000,
    /** How long a client may take to answer the ping before its idle session ends. */
    sessionPingMs: 60_000,
    /** Calls of one session that run at once in its object, or in an isolate. */
    sessionCalls: 100,
    /** Tasks that the client of one session has created. */
    sessionTasks: 1000,
    /** Pages of one session, asked for and not said to be done: the newest. Clients may wait for one or two. */
    sessionPages: 100,
    /** Resources that one session may subscribe to, and the characters of all their URIs. */
    sessionSubscriptions: 1000,
    sessionSubscriptionCharacters: 256 * 1024,
    /** Capabilities, name and version that a session stores of its client, as JSON: a dozen capabilities take a few hundred bytes. */
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
    /** Reconnection delay of a client whose stream has ended, at most. */
    maxRetryMs: 5 * 60_000,
  },
});
