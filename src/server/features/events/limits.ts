/** Limits of events, subscriptions and deliveries. */
import { addLimits } from "../../kernel/core/limits.ts";
export { limits } from "../../kernel/core/limits.ts";

declare module "../../kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  public: {
    /**
     * How long an event is stored. A subscriber that is away for longer misses events, and is told so. At most `taskMs`: the
     * keys that seal events are deleted after that.
     */
    eventMs: 7 * 86_400_000,
    /** The longest time to live of a subscription, before its client must refresh it. At most `taskMs`. */
    subscriptionMs: 24 * 3_600_000,
    /** Webhook subscriptions of one caller. */
    subscriptions: 50,
    /** Timeout of one request to a receiver. */
    deliveryMs: 10_000,
  },
  internal: {
    /** Data of one event, as JSON: with the rest of the message below the 256 KiB that receivers accept. */
    eventDataBytes: 64 * 1024,
    /** Events that one call may emit: each is a stored row, and a request to each receiver. */
    eventsPerCall: 100,
    /** Events of one caller that a log takes in a minute, on average: so many requests go to each receiver. */
    eventsPerMinute: 600,
    /** Callers whose events the log for everyone counts, the last ones: 100 KB of memory. */
    emittingCallers: 1000,
    /** Events in one log, its caller's own and those for everyone counted separately, and their bytes. */
    loggedEvents: 1000,
    loggedEventBytes: 4 * 1024 * 1024,
    /** Events in one answer to `events/poll`, and their bytes: one event is always in it. */
    polledEvents: 100,
    polledEventBytes: 1024 * 1024,
    /** When clients poll next: the smallest useful pause, since nothing is stored for a poll. */
    pollMs: 5000,
    /** Streams of events of one caller. Each keeps the caller's object in memory. */
    eventStreams: 10,
    /** How long one stream stays open before its client opens another: events that are waited for may be hours apart. */
    eventStreamMs: 3_600_000,
    /** Calls of one caller that wait for an event, and how long one may wait: a client that accepts no stream is answered within `silentEndMs`. */
    eventWaits: 20,
    eventWaitMs: 40_000,
    /** How long a task may wait for an event, and how often it looks for one: each look is a run. */
    eventTaskMs: 3_600_000,
    eventLookMs: 20_000,
    /** Pause between the heartbeats of a stream: the specification allows 30 seconds. */
    heartbeatMs: 15_000,
    /** Arguments of a subscription, as JSON. */
    eventArgumentCharacters: 4096,
    /** Shortest and usual time to live of a subscription. */
    minSubscriptionMs: 60_000,
    usualSubscriptionMs: 3_600_000,
    /** Deliveries that wait for one receiver: the oldest are given up, and the receiver is told of a gap. */
    pendingDeliveries: 500,
    /** Requests to receivers that one caller's object makes at once, one less to failing receivers: the platform allows six. */
    deliveriesAtOnce: 5,
    /** Verifications of receivers that one caller may cause in a minute: each is a request to a host that it names. */
    verificationsPerMinute: 10,
    /** How long the verification of a receiver is valid after its last subscription was granted. */
    verifiedMs: 7 * 86_400_000,
    /** The answer to a verification. */
    verificationBytes: 4096,
    /** How long deliveries are signed with the earlier secret too, after a change. */
    earlierSecretMs: 10 * 60_000,
    /** How long a check of a subscriber's rights is valid: after a loss, deliveries end within this time. */
    rightsMs: 60_000,
    /** Attempts in an hour from which a subscription is suspended if nearly all fail. */
    suspensionAttempts: 100,
    /** Callers that the log for everyone wakes when it has an event, in one round. */
    wokenCallers: 500,
  },
});
