/** Reads and subscribes to events for a caller, whichever way the request came. */
import { callerKey } from "../../kernel/core/callers.ts";
import { canonicalJson, hexDigest } from "../../kernel/core/digest.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { ANONYMOUS, type Json, type Principal } from "../../kernel/core/model.ts";
import { retry } from "../../kernel/core/retry.ts";
import { unsettled, type Settled } from "../../kernel/core/settled.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { pageOf } from "../../kernel/mcp/wire/params.ts";
import type { Access } from "../../kernel/servlets/access.ts";
import { occurrenceOf } from "./deliveries.ts";
import { eventsKey } from "./emit.ts";
import {
  demandEventArguments,
  describedType,
  typeKey,
  typeNamed,
  typesFor,
  type EventType,
} from "./event-types.ts";
import type { OpenEvent } from "./event-log.ts";
import {
  EVERYONE,
  logOf,
  type Events,
  type Page,
  type ReadRequest,
  type ShownSubscription,
} from "./events-object.ts";
import { limits } from "./limits.ts";
import type { SubscriptionCounts } from "./listening-logs.ts";
import { receiverProblem, type ReceiverPolicy } from "./receivers.ts";
import {
  eventFault,
  noSubscription,
  eventParams,
  type SubscriptionGrant,
  type Occurrence,
} from "./wire.ts";

/** The caller of a request about events. */
export interface EventCaller {
  principal: Principal;
  access: Access;
  /** Hosts by which this server was reached, besides those of its settings. */
  hosts?: readonly string[];
  /** True if the receivers of this client take control bodies. */
  takesControl?: boolean;
}

type Log = DurableObjectStub<Events>;

export class EventServer {
  readonly #kernel: Pick<Kernel, "registry">;
  readonly #events: DurableObjectNamespace<Events>;
  readonly #policy: ReceiverPolicy;

  constructor(
    kernel: Pick<Kernel, "registry">,
    events: DurableObjectNamespace<Events>,
    policy: ReceiverPolicy,
  ) {
    this.#kernel = kernel;
    this.#events = events;
    this.#policy = policy;
  }

  /** `events/list`. Streams are for clients of 2026-07-28 alone. */
  async list({ cursor }: Json, { access }: EventCaller, canPush: boolean): Promise<Json> {
    const types = typesFor(await this.#kernel.registry(), access);
    return pageOf(
      "events",
      types.map((type) => describedType(type, canPush)),
      cursor ?? undefined,
    );
  }

  /** `events/poll`. */
  async poll(params: Json, caller: EventCaller): Promise<Json> {
    const given = eventParams("poll", params);
    const { reading } = await this.#resolved(given, caller);
    const most = Math.min(given.maxEvents ?? limits.polledEvents, limits.polledEvents);
    const page = await this.#at<Page>(caller, (log) => log.poll(reading, most));
    return { ...page, nextPollMs: limits.pollMs };
  }

  /** `events/stream`: the stream. */
  async stream(
    params: Json,
    caller: EventCaller,
    id: string | number,
  ): Promise<ReadableStream<Uint8Array>> {
    const { reading } = await this.#resolved(eventParams("stream", params), caller);
    return unsettled(await this.#logOf(caller.principal).stream(reading, id));
  }

  /** `events/subscribe`. */
  async subscribe(params: Json, caller: EventCaller): Promise<SubscriptionGrant> {
    const given = eventParams("subscribe", params);
    const { delivery, ttlMs } = given;
    const { principal, hosts = [], takesControl = false } = caller;
    if (delivery.mode !== "webhook")
      throw eventFault(
        "unsupported",
        'delivery.mode must be "webhook". Use events/poll or events/stream for the others.',
        { feature: "delivery.mode", value: delivery.mode.slice(0, 50) },
      );
    const { type, reading } = await this.#resolved(given, caller);
    if (principal.name === ANONYMOUS.name)
      throw eventFault(
        "forbidden",
        "Webhooks are for callers who have signed in: this server must know whom the subscription belongs to. Send an API key or an access token, or use events/poll.",
        { reason: "authentication_required" },
      );
    const policy = { ...this.#policy, own: [...this.#policy.own, ...hosts] };
    const problem = receiverProblem(delivery.url, policy);
    if (problem?.isForbidden)
      throw eventFault("forbidden", `${problem.text}.`, { reason: "host_not_allowed" });
    if (problem) throw new Fault("invalid_params", `params.${problem.text}.`);
    const { name, arguments: filter, ...position } = reading;
    const request = {
      ...position,
      ttlMs,
      id: await subscriptionId(principal, { ...given, url: delivery.url }),
      spec: {
        principal,
        takesControl,
        servlet: type.servlet,
        own: type.own,
        name,
        arguments: filter,
        url: delivery.url,
        secret: delivery.secret,
      },
    };
    // Not again if the object dies: a receiver would be verified twice.
    const granted: unknown = await this.#logOf(principal).subscribe(request);
    return unsettled(granted as Settled<SubscriptionGrant>);
  }

  /** `events/unsubscribe`. An event that is gone can be unsubscribed from, too. */
  async unsubscribe(params: Json, { principal }: EventCaller): Promise<Json> {
    const given = eventParams("unsubscribe", params);
    const id = await subscriptionId(principal, { ...given, url: given.delivery.url });
    if (await this.end(principal, id)) return {};
    throw noSubscription();
  }

  /** The next event after the cursor; waits at most `ms` for it. */
  async next(params: Json, caller: EventCaller, ms: number): Promise<Page> {
    const { reading } = await this.#resolved(eventParams("stream", params), caller);
    return this.#at(caller, (log) => log.next(reading, ms));
  }

  /** The newest event of a type for this caller; undefined if none is stored. */
  async newest(type: EventType, principal: Principal): Promise<Occurrence | undefined> {
    const logs = [
      this.#logOf(principal),
      ...(type.isShared ? [this.#events.getByName(EVERYONE)] : []),
    ];
    const found = await Promise.all(
      logs.map((log) => retry<unknown>(async () => log.newest(typeKey(type)))),
    );
    // RPC types cannot express JSON.
    const [newest] = (found as (OpenEvent | undefined)[])
      .filter((one) => one !== undefined)
      .toSorted((one, other) => other.at - one.at);
    return newest && occurrenceOf(newest, type.name);
  }

  /** The webhook subscriptions of a caller. */
  subscriptions(principal: Principal): Promise<ShownSubscription[]> {
    return retry(async () => this.#logOf(principal).shown());
  }

  /** Ends a subscription of this caller; false if there is none. */
  async end(principal: Principal, id: string): Promise<boolean> {
    return retry(async () => this.#logOf(principal).unsubscribe(id));
  }

  /** The subscriptions of all callers together. */
  async counts(): Promise<SubscriptionCounts> {
    return retry(async () => this.#events.getByName(EVERYONE).counts());
  }

  /** Deletes everything of a caller, by its key. */
  async forget(caller: string): Promise<void> {
    await retry(async () => this.#events.getByName(logOf(caller)).forget());
  }

  #logOf(principal: Principal): Log {
    return this.#events.getByName(logOf(eventsKey(principal)));
  }

  /** Calls the log of the caller, again if its object dies: for work that can be repeated. */
  async #at<T>({ principal }: EventCaller, work: (log: Log) => Promise<unknown>): Promise<T> {
    return unsettled((await retry(() => work(this.#logOf(principal)))) as Settled<T>);
  }

  /** The type and what to read of it, from the params of a request. Throws `invalid_params` and the extension's faults. */
  async #resolved(
    { name, cursor = null, maxAgeMs, ...params }: ReadParams,
    { access, principal }: EventCaller,
  ): Promise<{ type: EventType; reading: ReadRequest }> {
    const type = typeNamed(name, await this.#kernel.registry(), access);
    const filter = params.arguments ?? {};
    demandEventArguments(type, filter);
    const reading = {
      type: typeKey(type),
      name: type.name,
      isShared: type.isShared,
      arguments: filter,
      cursor,
      caller: callerKey(principal),
      ...(typeof maxAgeMs === "number" && { maxAgeMs }),
    };
    return { type, reading };
  }
}

interface ReadParams {
  name: string;
  arguments?: Json | undefined;
  cursor?: string | null | undefined;
  maxAgeMs?: number | null | undefined;
}

/** The id of a subscription: a digest of its key, which authorizes nothing. */
async function subscriptionId(
  { name: principal, profile = "" }: Principal,
  { url, name, arguments: given = {} }: { url: string; name: string; arguments?: Json | undefined },
): Promise<string> {
  const digest = await hexDigest(canonicalJson([principal, profile, url, name, given]));
  return `sub_${digest.slice(0, 32)}`;
}
