/** Delivers events to the receivers of one caller. */
import { Fault, report } from "../../kernel/core/errors.ts";
import type { EventLog, OpenEvent } from "./event-log.ts";
import { limits } from "./limits.ts";
import {
  errorOf,
  receiverProblem,
  sendToReceiver,
  type ReceiverAnswer,
  type ReceiverPolicy,
} from "./receivers.ts";
import type {
  Delivery,
  SubscriptionSpec,
  SubscriptionState,
  SubscriptionStore,
} from "./subscription-store.ts";
import { gapBody, terminatedBody, type Occurrence } from "./wire.ts";

/** Pauses after failed attempts: five attempts in about twelve minutes. */
const PAUSES_MS = [10_000, 60_000, 180_000, 480_000];

/** Statuses of receivers that do not want this event, now or later. */
const UNWANTED: ReadonlySet<number> = new Set([410, 413]);

/** How long one round may take before the object's alarm goes on with the rest. */
const ROUND_MS = 60_000;

/** How long deliveries wait while it cannot be told whether their subscriber may have them. */
const UNCERTAIN_MS = 30_000;

/** The interval over which failures are counted, and their share from which a subscription is suspended. */
const WINDOW_MS = 3_600_000;
const FAILING = 0.95;

/** The parts of the server that deliveries use. */
export interface DeliveryServer {
  readonly policy: ReceiverPolicy;
  /** Throws the extension's faults if the owner may no longer have these events, and `unavailable`. */
  demandRights(spec: SubscriptionSpec): Promise<void>;
}

export class Deliveries {
  readonly #log: EventLog;
  readonly #store: SubscriptionStore;
  readonly #server: DeliveryServer;

  constructor(log: EventLog, store: SubscriptionStore, server: DeliveryServer) {
    this.#log = log;
    this.#store = store;
    this.#server = server;
  }

  /** Makes the due deliveries, one at a time for each subscription. One place is kept free of failing receivers. */
  async run(): Promise<void> {
    const began = Date.now();
    const running = new Map<string, Promise<void>>();
    this.#store.keepTime(began, Math.max(...PAUSES_MS) + limits.clockSlackMs);
    for (;;) {
      const now = Date.now();
      const isOver = now - began >= ROUND_MS || now < began;
      const due = isOver ? [] : this.#store.due(now).filter(({ webhook }) => !running.has(webhook));
      for (const one of due) {
        if (running.size >= limits.deliveriesAtOnce - one.failing) break;
        const work = this.#attempt(one).finally(() => running.delete(one.webhook));
        running.set(one.webhook, work);
      }
      if (running.size === 0) return;
      await Promise.race(running.values());
    }
  }

  /** Makes one attempt of a delivery. Never throws. */
  async #attempt(delivery: Delivery): Promise<void> {
    const { webhook, seq } = delivery;
    try {
      const spec = (await this.#store.specs()).get(webhook);
      const state = this.#store.state(webhook);
      if (spec === undefined || state === undefined || state.expires <= Date.now()) {
        await this.#store.drop(webhook);
        return;
      }
      if (!(await this.#mayDeliver(webhook, spec, state))) return;
      if (state.gap === 1 && spec.takesControl) await this.#tellGap(webhook, spec, seq);
      const event = await this.#log.at(seq);
      if (event === undefined) this.#store.giveUp([seq]);
      else this.#record(delivery, await this.#deliver(webhook, spec, event));
    } catch (error) {
      report(error);
      this.#store.postpone(delivery, Date.now() + UNCERTAIN_MS);
    }
  }

  /** True if the receiver and its owner may have the event. Otherwise the subscription ends, or waits. */
  async #mayDeliver(
    id: string,
    spec: SubscriptionSpec,
    { checked }: SubscriptionState,
  ): Promise<boolean> {
    const now = Date.now();
    if (receiverProblem(spec.url, this.#server.policy) !== undefined) {
      // The operator's list has changed: the receiver must get nothing more.
      await this.#store.drop(id);
      return false;
    }
    if (checked <= now && now - checked < limits.rightsMs) return true;
    try {
      await this.#server.demandRights(spec);
      this.#store.set(id, { checked: now });
      return true;
    } catch (error) {
      const fault = Fault.from(error);
      if (fault.code !== "extension_error") {
        this.#store.hold(id, now + UNCERTAIN_MS);
        throw error;
      }
      await this.#store.drop(id);
      if (spec.takesControl) await this.#control(id, spec, "terminated", terminatedBody(fault));
      return false;
    }
  }

  /** Tells the receiver that events are missing. */
  async #tellGap(id: string, spec: SubscriptionSpec, seq: number): Promise<void> {
    const cursor = this.#log.cursorAt(this.#store.watermark(id, seq - 1));
    if (await this.#control(id, spec, "gap", gapBody(cursor))) this.#store.set(id, { gap: 0 });
  }

  /** Sends a message that is not an event, once; false if the receiver has not taken it. */
  async #control(id: string, spec: SubscriptionSpec, kind: string, body: object): Promise<boolean> {
    const message = { id: `msg_${kind}_${crypto.randomUUID()}`, body: JSON.stringify(body) };
    const answer = await sendToReceiver({ ...this.#to(id, spec), ...message });
    return "status" in answer && errorOf(answer.status) === undefined;
  }

  async #deliver(id: string, spec: SubscriptionSpec, event: OpenEvent): Promise<ReceiverAnswer> {
    const watermark = this.#store.watermark(id, this.#log.head, event.seq);
    const cursor = this.#log.cursorAt(watermark);
    const body = JSON.stringify(occurrenceOf(event, spec.name, cursor));
    return sendToReceiver({ ...this.#to(id, spec), id: event.id, body });
  }

  #to(id: string, { url, secret, earlier }: SubscriptionSpec) {
    const isRecent = earlier !== undefined && earlier.until > Date.now();
    return { url, subscription: id, secrets: [secret, ...(isRecent ? [earlier.secret] : [])] };
  }

  /** Records the outcome of an attempt: the delivery has ended, or its next attempt is planned. */
  #record(delivery: Delivery, answer: ReceiverAnswer): void {
    const { webhook } = delivery;
    const state = this.#store.state(webhook);
    if (state === undefined) return;
    const now = Date.now();
    const error = "error" in answer ? answer.error : errorOf(answer.status);
    const isNewHour = now - state.began >= WINDOW_MS || now < state.began;
    const attempts = (isNewHour ? 0 : state.attempts) + 1;
    const failures = (isNewHour ? 0 : state.failures) + Number(error !== undefined);
    this.#store.set(webhook, { attempts, failures, ...(isNewHour && { began: now }) });
    if (error === undefined) {
      this.#store.end(delivery);
      this.#store.set(webhook, { delivered: now, error: null, failed: null });
      return;
    }
    this.#store.set(webhook, { error, failed: state.failed ?? now });
    const pauseMs = PAUSES_MS[delivery.attempts];
    if ("status" in answer && UNWANTED.has(answer.status)) this.#store.end(delivery);
    else if (pauseMs === undefined) this.#store.giveUp([delivery.seq], webhook);
    else this.#store.postpone({ ...delivery, attempts: delivery.attempts + 1 }, now + pauseMs);
    if (attempts >= limits.suspensionAttempts && failures > FAILING * attempts)
      this.#store.set(webhook, { active: 0 });
  }
}

/** An event as a subscriber receives it, under the name that the subscriber knows. */
export const occurrenceOf = (
  { id, at, data }: OpenEvent,
  name: string,
  cursor?: string,
): Occurrence => ({
  eventId: id,
  name,
  timestamp: new Date(at).toISOString(),
  data,
  ...(cursor !== undefined && { cursor }),
});
