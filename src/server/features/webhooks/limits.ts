/** Limits of webhooks. */
import { addLimits } from "../../kernel/core/limits.ts";
export { limits } from "../../kernel/core/limits.ts";

declare module "../../kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  public: {
    /** Body of a delivery to a webhook. Standard Webhooks advise senders to stay below 20 KB. */
    deliveryBytes: 1024 * 1024,
    /** Verified deliveries to one webhook per minute; more are refused with 429, and their sender tries again. */
    deliveriesPerMinute: 600,
  },
  internal: {
    /** Deliveries to one webhook that are stored and whose run has yet to begin, and their bytes. */
    waitingDeliveries: 1000,
    waitingDeliveryBytes: 32 * 1024 * 1024,
    /** Runs that one alarm begins at once; the next alarm begins the rest. */
    deliveryStartsAtOnce: 10,
    /** Delay before a run that could not begin is tried again; it doubles with each attempt, up to the second value. */
    deliveryRetryMs: 1000,
    maxDeliveryRetryMs: 15 * 60_000,
    /** How long a run that cannot begin is tried: an outage over a weekend, or a day's quota that is used up. */
    deliveryTryMs: 3 * 86_400_000,
    /** Deliveries of one webhook that are shown and can be sent again, and their bytes. The oldest are deleted. */
    shownDeliveries: 50,
    shownDeliveryBytes: 16 * 1024 * 1024,
    /**
     * How long the ids of deliveries are remembered, and how many of one webhook: a repeat runs nothing. Senders repeat
     * for up to three days. An id takes some 100 bytes.
     */
    deliveryIdMs: 7 * 86_400_000,
    deliveryIds: 100_000,
    /** How often an isolate stores that deliveries to a webhook were refused: anybody can send such. */
    refusedDeliveriesMs: 10_000,
    /** Signatures in one header: senders that change their secret send two. */
    deliverySignatures: 10,
    /** The default of `toleranceSeconds`, as all senders advise. */
    deliveryToleranceSeconds: 300,
    /** Headers of a delivery that its servlet gets, and their characters. */
    deliveryHeaders: 40,
    deliveryHeaderCharacters: 8 * 1024,
    /** Webhooks of one caller, in all servlets. */
    callerWebhooks: 100,
    /** Webhooks on the page for operators. Each costs a request to its object. */
    shownWebhooks: 50,
  },
});
