import { transferred } from "./messages.ts";
import { Events, RemoteServers, type RemoteAnswer } from "./remote-servers.ts";
import { newActor, type Actor } from "./scheduler.ts";
import type { Platform } from "./platform.ts";

/** A request that has arrived at the server on the internet. */
export interface Arrival {
  label: string;
  method: string;
  key: string | null;
  /** A random number of the servlet's. */
  id: string | null;
  at: number;
  /** The answer, which nothing else is answered with. */
  answer: string;
  /** Was it done, or had it been done before under the same key? */
  isNew: boolean;
  /** Who sent it. */
  from: string;
}

/** An event on its way to the receiver of a webhook. */
export interface DeliveredEvent {
  /** The receiver. */
  label: string;
  id: string;
  body: string;
  headers: Headers;
  hasArrived: boolean;
}

/** A server on the internet: it does nothing twice under one key, and is as unreliable as others. */
export class HttpServer {
  readonly arrivals: Arrival[] = [];
  /** Requests that were begun, whether or not they arrive. */
  readonly sent: { label: string; from: Actor; at: number }[] = [];
  /** Events that were sent to receivers of webhooks, whether or not they arrive. */
  readonly deliveries: DeliveredEvent[] = [];
  /** Labels of requests that were not answered as they should be, so that the next try may be told something else. */
  readonly troubled = new Set<string>();
  readonly remotes: RemoteServers;
  readonly #platform: Platform;
  readonly #unreliable: number;

  constructor(platform: Platform, unreliable: number) {
    this.#platform = platform;
    this.#unreliable = unreliable;
    this.remotes = new RemoteServers(platform.scheduler.chance);
  }

  async fetch(request: Request): Promise<Response> {
    const platform = this.#platform;
    const { scheduler } = platform;
    const { chance } = scheduler;
    const actor = scheduler.current!;
    const { signal, method, headers, url } = request;
    const label = new URL(url).pathname.slice(1);
    const body = await request.text();
    const id = headers.get("webhook-id");
    const challenge = id === null ? undefined : challengeIn(body);
    if (!actor.isAlive) throw new Error("the actor has ended");
    return scheduler.eventually<Response>(actor, (settle) => {
      const fail = () =>
        settle(() => {
          throw new TypeError("fetch failed");
        }, 0);
      let over = false;
      const stop = () => {
        if (!over) fail();
        over = true;
      };
      if (signal.aborted) return stop();
      signal.addEventListener("abort", stop, { once: true });
      platform.leave(actor, () => {
        // It was called off before it left.
        if (over || !actor.isAlive) return;
        scheduler.note(`sends ${method} ${label}`, actor.name);
        this.sent.push({ label, from: actor, at: scheduler.now });
        const delivery =
          id === null || challenge !== undefined
            ? undefined
            : { label, id, body, headers, hasArrived: false };
        if (delivery !== undefined) this.deliveries.push(delivery);
        const fate =
          platform.isFaulty && chance.of(this.#unreliable) ? chance.pick(FATES) : "answered";
        if (fate !== "answered") this.troubled.add(label);
        if (fate === "lost") return stop();
        const slowMs = fate === "slow" ? chance.below(40_000) : 0;
        // It arrives even where its sender is gone by then.
        scheduler.after(
          scheduler.latency() + slowMs,
          "arrival",
          () => undefined,
          () => {
            if (label === "mcp") {
              const answer = this.#passOn(request, body, fate);
              if (over || fate === "silent") return;
              if (fate === "cut") return stop();
              over = true;
              signal.removeEventListener("abort", stop);
              const response = transferred(answer, REMOTE, actor, platform) as Response;
              return settle(() => response);
            }
            if (delivery !== undefined) delivery.hasArrived = true;
            const arrival = this.#arrive({
              label,
              method,
              headers,
              from: actor.name,
              isBad: fate === "bad",
              challenge,
            });
            if (over || fate === "silent") return;
            if (fate === "cut") return stop();
            over = true;
            signal.removeEventListener("abort", stop);
            const status = arrival.answer.startsWith("bad") ? 500 : 200;
            settle(() => new Response(arrival.answer, { status }));
          },
        );
      });
    });
  }

  /** The answer of another MCP server; where it is unreliable, it may have begun anew, and its streams break. */
  #passOn({ url, method, headers }: Request, body: string, fate: string): Response {
    const { scheduler, isFaulty } = this.#platform;
    const { chance } = scheduler;
    if (isFaulty && chance.of(this.#unreliable / 10)) this.remotes.restart();
    const answer: RemoteAnswer =
      fate === "bad"
        ? { status: 503, headers: {}, body: "bad" }
        : this.remotes.answer(new URL(url), method, headers, body);
    const { status, headers: own, body: given } = answer;
    scheduler.note(`${method} ${url} ${body.slice(0, 140)}: ${status}`, "internet");
    const isCut = isFaulty && chance.of(this.#unreliable);
    const sent = given instanceof Events ? streamOf(given, headers, isCut) : given;
    return new Response(sent, { status, headers: own });
  }

  #arrive({
    label,
    method,
    headers,
    from,
    isBad,
    challenge,
  }: Pick<Arrival, "label" | "method" | "from"> & {
    headers: Headers;
    isBad: boolean;
    challenge: string | undefined;
  }): Arrival {
    const [key, id] = [headers.get("idempotency-key"), headers.get("x-id")];
    const before =
      key === null
        ? undefined
        : this.arrivals.find((one) => one.key === key && one.label === label);
    const { now } = this.#platform.scheduler;
    const number = this.arrivals.length + 1;
    const repeated = isBad ? undefined : challenge;
    const answer =
      before?.answer ?? repeated ?? `${isBad ? "bad" : "good"} answer ${number} to ${label}`;
    const arrival = { label, method, key, id, at: now, answer, isNew: before === undefined, from };
    this.arrivals.push(arrival);
    this.#platform.scheduler.note(
      `${method} ${label}, key ${key?.slice(0, 6) ?? "none"}: ${answer}`,
      "internet",
    );
    return arrival;
  }
}

/** Other MCP servers. */
const REMOTE = newActor("remote");

/** The events that a client has not read; it ends after the first of them if `isCut`. */
function streamOf(events: Events, headers: Headers, isCut: boolean): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let isOver = false;
  return new ReadableStream({
    start(controller) {
      events.read(Number(headers.get("last-event-id")?.split("-")[1] ?? 0), (text) => {
        if (isOver) return;
        if (text !== undefined) controller.enqueue(encoder.encode(text));
        isOver = isCut || text === undefined;
        if (isOver) controller.close();
      });
    },
    cancel: () => void (isOver = true),
  });
}

/** What the receiver of a webhook answers to this verification; undefined for another body. */
function challengeIn(body: string): string | undefined {
  const { type, challenge } = JSON.parse(body) as Record<string, unknown>;
  return type === "verification" ? JSON.stringify({ challenge }) : undefined;
}

/** The fate of a request where the internet is at fault. */
const FATES = ["lost", "cut", "bad", "slow", "silent"] as const;
