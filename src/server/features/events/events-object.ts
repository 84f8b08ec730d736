import { DurableObject } from "cloudflare:workers";
import { usageKey } from "../../kernel/core/callers.ts";
import { Fault, report } from "../../kernel/core/errors.ts";
import { PART } from "../../kernel/core/parts.ts";
import { isRecent } from "../../kernel/core/recent.ts";
import { settled, type Settled } from "../../kernel/core/settled.ts";
import type { RequestId } from "../../kernel/mcp/wire/message.ts";
import { Alarm } from "../../kernel/storage/alarm.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";
import { Deliveries, occurrenceOf, type DeliveryServer } from "./deliveries.ts";
import {
  EventLog,
  storedMs,
  type EventQuery,
  type LoggedEvent,
  type LogPosition,
  type OpenEvent,
} from "./event-log.ts";
import { EventStreams } from "./event-streams.ts";
import { limits } from "./limits.ts";
import { ListeningLogs, type ListeningLog, type SubscriptionCounts } from "./listening-logs.ts";
import { verify } from "./receivers.ts";
import {
  SubscriptionStore,
  type SubscriptionSpec,
  type SubscriptionState,
} from "./subscription-store.ts";
import {
  eventFault,
  noSubscription,
  type DeliveryStatus,
  type SubscriptionGrant,
  type Occurrence,
} from "./wire.ts";

/** The binding of the class below. */
export interface EventsEnv {
  EVENTS?: DurableObjectNamespace<Events>;
}

/** The parts of the server that an object of events uses. */
export interface EventsServer extends DeliveryServer {
  readonly sealer: Sealer;
  countStored(caller: string | undefined, bytes?: number): Promise<void>;
}

/** The name of the object with the events for everyone; those of callers begin with "caller ". */
export const EVERYONE = "everyone";
export const logOf = (caller: string): string => `caller ${caller}`;

/** A request to read events of one type. */
export interface ReadRequest extends EventQuery {
  /** The name that the client used. */
  name: string;
  /** Null for events from now on. */
  cursor: string | null;
  maxAgeMs?: number | undefined;
  /** The caller key, under which what is stored is counted. */
  caller: string | undefined;
}

/** A page of events. */
export interface Page {
  events: Occurrence[];
  cursor: string;
  truncated: boolean;
  hasMore: boolean;
}

/** A request for a webhook subscription. */
export interface SubscriptionRequest extends Omit<ReadRequest, "name" | "arguments"> {
  id: string;
  spec: SubscriptionSpec;
  /** The time to live that the client wants; null for one without end. */
  ttlMs: number | null | undefined;
}

/** A subscription as its owner sees it. */
export interface ShownSubscription extends DeliveryStatus {
  id: string;
  name: string;
  /** The receiver's host. */
  host: string;
  /** Unix ms. */
  expires: number;
  /** Deliveries that wait. */
  pending: number;
}

/** Where this log has read the log for everyone up to. */
interface SharedPosition {
  epoch: string;
  seq: number;
}

/** New events of the log for everyone. */
interface SharedPage {
  epoch: string;
  head: number;
  lastDropped: number;
  events: LoggedEvent[];
}

/** Pause before an object that is due to be deleted looks again whether it is still in use. */
const IN_USE_MS = 3_600_000;

const USED = "used";
const STORED = "stored";
const NAME = "name";
const SYNCED = "synced";

/**
 * The events of one caller with its subscriptions, or those for everyone. An object of a caller copies events for everyone
 * into its log when it is read, or when the object for everyone wakes it, so that its readers have one order and one cursor.
 */
export class Events extends DurableObject<EventsEnv> {
  readonly #server: EventsServer;
  readonly #log: EventLog;
  readonly #store: SubscriptionStore;
  readonly #streams: EventStreams;
  readonly #deliveries: Deliveries;
  readonly #listening: ListeningLogs;
  readonly #alarm = new Alarm(this.ctx.storage);
  /** Emissions left to each caller in this minute, and when they were counted; those who have emitted last come last. */
  readonly #left = new Map<string, { count: number; at: number }>();
  #syncing: Promise<void> = Promise.resolve();
  /** Calls that wait for an event. */
  #waits = 0;
  #changed = Promise.withResolvers<void>();
  /** Verifications of receivers in the last minute. */
  #verifications: number[] = [];
  /** Subscriptions that are being verified: by how many requests, and how often each was ended meanwhile. */
  readonly #verifying = new Map<string, { requests: number; endings: number }>();

  constructor(state: DurableObjectState, env: EventsEnv, server: EventsServer) {
    super(state, env);
    const { storage } = state;
    this.#server = server;
    this.#log = new EventLog(storage, server.sealer);
    this.#store = new SubscriptionStore(storage.sql, server.sealer);
    this.#streams = new EventStreams(this.#log);
    this.#deliveries = new Deliveries(this.#log, this.#store, server);
    this.#listening = new ListeningLogs(storage.sql);
  }

  /** Adds an event, unless the log has one of this type with this id. Throws `too_many`. */
  append(
    event: Pick<OpenEvent, "type" | "id" | "data">,
    caller: string | undefined,
  ): Promise<Settled<boolean>> {
    return settled(async () => {
      if (this.#isUsed && this.#log.has(event)) return false;
      this.#count(usageKey(caller));
      const sealed = await this.#log.seal(event.data);
      await this.#countStored(caller, sealed.size);
      const specs = await this.#store.specs();
      const added = { ...event, ...sealed, at: Date.now() };
      const isNew = this.ctx.storage.transactionSync(() => {
        const seq = this.#log.add(added, null);
        if (seq !== undefined) this.#store.enqueue({ ...added, seq }, specs, false);
        this.#store.giveUp(this.#log.trim(added.at));
        return seq !== undefined;
      });
      await this.#announce();
      return isNew;
    });
  }

  /** Events after the cursor, at most `most`. */
  poll(reading: ReadRequest, most: number): Promise<Settled<Page>> {
    return settled(async () => {
      await this.#begin(reading);
      const position = this.#log.position(reading, reading.cursor, reading.maxAgeMs);
      const events: Occurrence[] = [];
      let { seq } = position;
      let bytes = 0;
      for (;;) {
        const { head } = this.#log;
        const found = await this.#log.next(reading, seq);
        const { event } = found;
        if (event === undefined) {
          seq = Math.max(found.seq, head);
          break;
        }
        bytes += event.size;
        if (events.length > 0 && (events.length >= most || bytes > limits.polledEventBytes)) {
          return { ...this.#page(reading, { events, seq, from: position }), hasMore: true };
        }
        events.push(occurrenceOf(event, reading.name));
        ({ seq } = found);
      }
      return { ...this.#page(reading, { events, seq, from: position }), hasMore: false };
    });
  }

  /** A page of events from one position to another; events in between may have been deleted meanwhile. */
  #page(
    query: EventQuery,
    { events, seq, from }: { events: Occurrence[]; seq: number; from: LogPosition },
  ): Omit<Page, "hasMore"> {
    const truncated = from.truncated || this.#log.lastMissing(query) > from.seq;
    return { events, cursor: this.#log.cursorAt(seq), truncated };
  }

  /** Opens a stream of events, which the caller must read or cancel. Throws `too_many` and `exhausted`. */
  stream(reading: ReadRequest, id: RequestId): Promise<Settled<ReadableStream<Uint8Array>>> {
    return settled(async () => {
      await this.#begin(reading);
      const { name, caller, cursor, maxAgeMs, type, isShared } = reading;
      const query = { type, isShared, arguments: reading.arguments };
      const from = this.#log.position(query, cursor, maxAgeMs);
      const stream = this.#streams.open({ id, name, query, caller, from });
      if (isShared) await this.#listen(Date.now() + limits.eventStreamMs);
      return stream;
    });
  }

  /** The next event after the cursor; waits at most `ms` for it. Throws `too_many`. */
  next(reading: ReadRequest, ms: number): Promise<Settled<Page>> {
    return settled(async () => {
      if (this.#waits >= limits.eventWaits)
        throw new Fault(
          "too_many",
          `Too many calls wait for events (limit ${limits.eventWaits} for one caller). Wait for one of them to end.`,
          { data: { retryAfter: 1 } },
        );
      this.#waits++;
      try {
        await this.#begin(reading);
        if (reading.isShared) await this.#listen(Date.now() + ms);
        const from = this.#log.position(reading, reading.cursor, reading.maxAgeMs);
        // A timer, since the clock may be set back.
        const over = scheduler.wait(ms).then(() => true);
        let { seq } = from;
        for (let isOver = ms <= 0; ;) {
          const changed = this.#changed.promise;
          const found = await this.#log.next(reading, seq);
          ({ seq } = found);
          if (found.event !== undefined || isOver) {
            const events = found.event ? [occurrenceOf(found.event, reading.name)] : [];
            return { ...this.#page(reading, { events, seq, from }), hasMore: false };
          }
          isOver = (await Promise.race([changed, over])) === true;
        }
      } finally {
        this.#waits--;
      }
    });
  }

  /** The newest event of a type, with its time; undefined if none is stored. */
  async newest(type: string): Promise<OpenEvent | undefined> {
    return this.#isUsed ? this.#log.newest(type) : undefined;
  }

  /** Grants a webhook subscription, or refreshes it. Throws the extension's faults. */
  subscribe(request: SubscriptionRequest): Promise<Settled<SubscriptionGrant>> {
    return settled(async () => {
      const { id, spec, type, isShared, caller, cursor, maxAgeMs, ttlMs } = request;
      const reading = { type, isShared, arguments: spec.arguments };
      await this.#begin({ ...reading, caller });
      for (const one of this.#store.expired(Date.now())) await this.#store.drop(one);
      if (this.#store.state(id) === undefined) {
        this.#demandRoom(id);
        await this.#server.countStored(caller);
      }
      if (!(await this.#store.isVerified(spec.url))) await this.#verify(id, spec);
      const before = (await this.#store.specs()).get(id);
      const hasChanged = before !== undefined && before.secret !== spec.secret;
      const until = Date.now() + limits.earlierSecretMs;
      const earlier = hasChanged ? { secret: before.secret, until } : before?.earlier;
      const expires = Date.now() + timeToLive(ttlMs);
      const write = await this.#store.prepare(
        id,
        { ...spec, ...(earlier && { earlier }) },
        { type, isShared, expires },
      );
      const { seqs, position } =
        before === undefined
          ? await this.#backlog(reading, cursor, maxAgeMs)
          : { seqs: [], position: undefined };
      const state = this.#store.state(id);
      // Check again: other subscriptions may have been granted meanwhile.
      if (state === undefined) this.#demandRoom(id);
      this.ctx.storage.transactionSync(() => {
        write();
        for (const seq of seqs) this.#store.add(id, seq);
        this.#store.resume(id);
      });
      await this.#store.setVerified(spec.url);
      if (isShared) await this.#listen(expires);
      this.#reportCounts();
      await this.#plan();
      const seq = position?.seq ?? this.#store.watermark(id, this.#log.head);
      return {
        id,
        refreshBefore: new Date(expires).toISOString(),
        cursor: this.#log.cursorAt(seq),
        truncated: position?.truncated ?? state?.gap === 1,
        ...(state && { deliveryStatus: { ...statusOf(state), active: true } }),
      };
    });
  }

  /** Throws `exhausted` if one more subscription is too many. */
  #demandRoom(id: string): void {
    const { subscriptions: max } = limits;
    const begun = [...this.#verifying.keys()].filter((one) => one !== id);
    const isKnown = (one: string) => this.#store.state(one) !== undefined;
    if (this.#store.counts.subscriptions + begun.filter((one) => !isKnown(one)).length < max)
      return;
    throw eventFault(
      "exhausted",
      `Too many subscriptions (limit ${max} for one caller). End one of them, or wait until one expires.`,
      { limit: "subscriptions", max },
    );
  }

  /** The matching events from the cursor on that the log has, and the position of the newest. */
  async #backlog(query: EventQuery, cursor: string | null, maxAgeMs: number | undefined) {
    const position = this.#log.position(query, cursor, maxAgeMs);
    const seqs: number[] = [];
    for (let { seq } = position; ;) {
      const { head } = this.#log;
      const found = await this.#log.next(query, seq);
      ({ seq } = found);
      if (found.event !== undefined) seqs.push(seq);
      // Otherwise events were added meanwhile.
      else if (head === this.#log.head) break;
    }
    const tooMany = seqs.length > limits.pendingDeliveries;
    return {
      seqs: seqs.slice(-limits.pendingDeliveries),
      position: { ...position, truncated: position.truncated || tooMany },
    };
  }

  /** Verifies a receiver by a challenge. Throws the extension's faults. */
  async #verify(id: string, { url, secret }: SubscriptionSpec): Promise<void> {
    const now = Date.now();
    const { verificationsPerMinute: max } = limits;
    this.#verifications = this.#verifications.filter((at) => isRecent(at, 60_000));
    if (this.#verifications.length >= max)
      throw eventFault(
        "exhausted",
        `Too many receivers to verify (limit ${max} in a minute). Try again in a minute.`,
        { limit: "verificationsPerMinute", max },
      );
    this.#verifications.push(now);
    const verifying = this.#verifying.getOrInsertComputed(id, () => ({ requests: 0, endings: 0 }));
    const { endings } = verifying;
    verifying.requests++;
    try {
      const error = await verify({ url, secrets: [secret], subscription: id });
      if (error !== undefined)
        throw eventFault(
          "callback",
          "The receiver did not repeat the challenge: it must answer the verification with status 200 and the same challenge, without a redirect.",
          { reason: error },
        );
      // The client has ended the subscription while the receiver was slow.
      if (verifying.endings !== endings) throw noSubscription();
    } finally {
      if (--verifying.requests === 0) this.#verifying.delete(id);
    }
  }

  /** Ends a subscription; false if there is none. */
  async unsubscribe(id: string): Promise<boolean> {
    if (!this.#isUsed) return false;
    const verifying = this.#verifying.get(id);
    if (verifying !== undefined) verifying.endings++;
    const isEnded = await this.#store.drop(id);
    if (isEnded) this.#reportCounts();
    return isEnded || verifying !== undefined;
  }

  /** The subscriptions of this caller, the oldest first. */
  async shown(): Promise<ShownSubscription[]> {
    if (!this.#isUsed) return [];
    const specs = await this.#store.specs();
    return this.#store.states().flatMap((state) => {
      const { id, expires } = state;
      const spec = specs.get(id);
      if (spec === undefined) return [];
      const { name, url } = spec;
      const pending = this.#store.pending(id);
      return [{ id, name, host: new URL(url).host, expires, pending, ...statusOf(state) }];
    });
  }

  /** Deletes everything of this caller. */
  async forget(): Promise<void> {
    if (!this.#isUsed) return;
    this.#streams.close();
    for (const verifying of this.#verifying.values()) verifying.endings++;
    await this.ctx.storage.deleteAll();
    // For calls that are under way.
    this.#use();
    await this.#plan();
    this.#reportCounts();
  }

  /** In the object for everyone: new events after this position. */
  async since(known: SharedPosition | undefined): Promise<SharedPage> {
    this.#use();
    const { epoch, head, lastDropped } = this.#log;
    const isKnown = known !== undefined && known.epoch === epoch;
    return { epoch, head, lastDropped, events: isKnown ? this.#log.after(known.seq) : [] };
  }

  /** In the object for everyone: has a caller's log woken, and counts its subscriptions. Returns the newest position. */
  async enlist(log: string, of: ListeningLog): Promise<number> {
    this.#use();
    const { head } = this.#log;
    this.#listening.put(log, of, head);
    await this.#plan();
    return head;
  }

  /** In the object for everyone: the subscriptions of all callers. */
  async counts(): Promise<SubscriptionCounts> {
    const none = { callers: 0, subscriptions: 0, suspended: 0 };
    return this.#isUsed ? this.#listening.counts(Date.now()) : none;
  }

  /** Copies new events for everyone. Called by the object for everyone; false if nobody listens here any more. */
  async wake(): Promise<boolean> {
    if (!this.#isUsed || !this.#isListening()) return false;
    await this.#sync();
    return true;
  }

  #isListening(): boolean {
    return (
      this.#waits > 0 ||
      this.#streams.areShared ||
      this.#store.states().some(({ shared, expires }) => shared === 1 && expires > Date.now())
    );
  }

  override alarm(info?: AlarmInvocationInfo): Promise<void> {
    return this.#alarm.ring(info, async (now) => {
      if (!this.#isUsed) return;
      const before = JSON.stringify(this.#store.counts);
      for (const id of this.#store.expired(now)) await this.#store.drop(id);
      this.ctx.storage.transactionSync(() => this.#store.giveUp(this.#log.trim(now)));
      await this.#deliveries.run();
      if (JSON.stringify(this.#store.counts) !== before) this.#reportCounts();
      const namespace = this.env.EVENTS;
      if (this.#name === EVERYONE && namespace !== undefined)
        await this.#listening.wake(this.#log.head, async (log) => namespace.getByName(log).wake());
      if (this.#isIdle(now)) await this.ctx.storage.deleteAll();
      else await this.#plan();
    });
  }

  /** True if nothing is stored that anybody could still read. */
  #isIdle(now: number): boolean {
    const used = this.ctx.storage.kv.get<number>(USED) ?? 0;
    return (
      this.#streams.count + this.#waits + this.#store.counts.subscriptions === 0 &&
      this.#log.nextEnd === undefined &&
      !this.#listening.hasAny(now) &&
      used + storedMs() <= now
    );
  }

  /** Sets the alarm to what is due next, unless it is set earlier. */
  async #plan(): Promise<void> {
    const now = Date.now();
    const unused = (this.ctx.storage.kv.get<number>(USED) ?? now) + storedMs();
    const next = Math.min(
      this.#store.nextDue ?? Infinity,
      this.#log.nextEnd ?? Infinity,
      this.#listening.nextDue(this.#log.head) ?? Infinity,
      Math.max(unused, now + IN_USE_MS),
    );
    const planned = (await this.ctx.storage.getAlarm()) ?? Infinity;
    if (next < planned || !(await this.#alarm.isPlanned()))
      await this.#alarm.set(Math.max(next, now));
  }

  /** Begins to read events of a type. Counts an object that is new. */
  async #begin({ caller, isShared }: Pick<ReadRequest, "caller" | "isShared">): Promise<void> {
    if (!this.#isUsed) await this.#server.countStored(caller);
    if (this.#use()) await this.#plan();
    if (isShared) await this.#sync();
  }

  /** True if the object stores anything. A look at one that does not makes no tables. */
  get #isUsed(): boolean {
    return this.ctx.storage.kv.get(USED) !== undefined;
  }

  /** Records that the object is used, and keeps its name for the alarm; true if it was written. */
  #use(): boolean {
    const { kv } = this.ctx.storage;
    const used = kv.get<number>(USED);
    if (used !== undefined && isRecent(used, storedMs() / 4)) return false;
    if (used === undefined)
      for (const one of [this.#log, this.#store, this.#listening]) one.create();
    kv.put(USED, Date.now());
    if (this.ctx.id.name !== undefined) kv.put(NAME, this.ctx.id.name);
    return true;
  }

  get #name(): string | undefined {
    return this.ctx.id.name ?? this.ctx.storage.kv.get<string>(NAME);
  }

  /** Counts an emission of a caller. Throws `too_many`. */
  #count(caller: string): void {
    const now = Date.now();
    const { eventsPerMinute: most, emittingCallers } = limits;
    const { count, at } = this.#left.get(caller) ?? { count: most, at: now };
    const left = Math.min(most, count + (Math.max(0, now - at) * most) / 60_000);
    if (left < 1)
      throw new Fault("too_many", `Too many events (limit ${most} in a minute).`, {
        data: { retryAfter: 1 },
      });
    this.#left.delete(caller);
    this.#left.set(caller, { count: left - 1, at: now });
    const [oldest] = this.#left.keys();
    if (this.#left.size > emittingCallers && oldest !== undefined) this.#left.delete(oldest);
  }

  /** Counts what is stored for a caller: the object, and each MiB of events. */
  async #countStored(caller: string | undefined, bytes: number): Promise<void> {
    const { kv } = this.ctx.storage;
    const before = kv.get<number>(STORED) ?? 0;
    const isFull = Math.floor((before + bytes) / PART) > Math.floor(before / PART);
    if (isFull || !this.#isUsed) await this.#server.countStored(caller);
    kv.put(STORED, before + bytes);
    this.#use();
  }

  /** Has everybody who listens get the new events. */
  async #announce(): Promise<void> {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
    this.#streams.feed();
    await this.#plan();
  }

  /** Copies the new events for everyone into this log. */
  #sync(): Promise<void> {
    this.#syncing = this.#syncing.catch(() => {}).then(() => this.#copy());
    return this.#syncing;
  }

  async #copy(): Promise<void> {
    const everyone = this.#everyone();
    if (everyone === undefined) return;
    const { kv } = this.ctx.storage;
    const specs = await this.#store.specs();
    for (;;) {
      const known = kv.get<SharedPosition>(SYNCED);
      const { epoch, head, lastDropped, events } = await everyone.since(known);
      const isKnown = known?.epoch === epoch;
      const hasMissed = known !== undefined && (!isKnown || lastDropped > known.seq);
      const data = await Promise.all(events.map((one) => this.#log.dataOf(one)));
      const seq = isKnown ? (events.at(-1)?.seq ?? head) : head;
      this.ctx.storage.transactionSync(() => {
        if (hasMissed) {
          this.#log.addSharedGap();
          this.#store.addSharedGap();
        }
        for (const [nth, event] of events.entries()) {
          const own = this.#log.add(event, event.seq);
          if (own !== undefined && data[nth] !== undefined)
            this.#store.enqueue({ ...event, seq: own, data: data[nth] }, specs, true);
        }
        this.#store.giveUp(this.#log.trim(Date.now()));
        if (!isKnown || known.seq !== seq) kv.put(SYNCED, { epoch, seq });
      });
      if (events.length > 0 || hasMissed) await this.#announce();
      if (seq >= head) return;
    }
  }

  /** Has the object for everyone wake this one until then (Unix ms), at least. */
  async #listen(until: number): Promise<void> {
    const head = await this.#enlist(until);
    const { seq = 0 } = this.ctx.storage.kv.get<SharedPosition>(SYNCED) ?? {};
    // It was not woken for events since the last copy.
    if (head > seq) await this.#sync();
  }

  /** Tells the object for everyone how many subscriptions there are here. Nothing depends on it. */
  #reportCounts(): void {
    this.ctx.waitUntil(this.#enlist(0).catch(report));
  }

  async #enlist(until: number): Promise<number> {
    const name = this.#name;
    const everyone = this.#everyone();
    if (everyone === undefined || name === undefined || name === EVERYONE) return 0;
    const states = this.#store.states();
    const endOf = (some: typeof states) => Math.max(0, ...some.map(({ expires }) => expires));
    return everyone.enlist(name, {
      listens: Math.max(until, endOf(states.filter(({ shared }) => shared === 1))),
      subscribed: endOf(states),
      ...this.#store.counts,
    });
  }

  #everyone(): DurableObjectStub<Events> | undefined {
    return this.env.EVENTS?.getByName(EVERYONE);
  }
}

function statusOf({ active, delivered, error, failed }: SubscriptionState): DeliveryStatus {
  return {
    active: active === 1,
    lastDeliveryAt: delivered === null ? null : new Date(delivered).toISOString(),
    lastError: error,
    ...(failed !== null && { failedSince: new Date(failed).toISOString() }),
  };
}

/** The time to live that is granted: never without end, so that the subscriptions of clients that are gone end. */
function timeToLive(wanted: number | null | undefined): number {
  const { minSubscriptionMs, usualSubscriptionMs, subscriptionMs, taskMs } = limits;
  const most = Math.min(subscriptionMs, taskMs);
  if (wanted === undefined) return Math.min(usualSubscriptionMs, most);
  return Math.min(Math.max(wanted ?? Infinity, minSubscriptionMs), most);
}
