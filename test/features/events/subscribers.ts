/// <reference types="@cloudflare/vitest-plugin/types" />
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, vi } from "vitest";
import { logOf } from "../../../src/server/features/events/events-object.ts";
import "../../../src/server/features/events/limits.ts";
import { bundle } from "../../bundle.gen.ts";
import {
  as,
  callOf,
  clock,
  limited,
  prepare,
  send,
  serverOf,
  type Json,
  type Sent,
} from "../../worker/calls/client.ts";

/** Callers of a server with the servlet `emitting`, and receivers of their webhooks. */

export { clock, limited, type Json };

const some = { ...bundle, servlets: bundle.servlets.filter(({ name }) => name === "emitting") };

let callers = 0;
/** The name of a caller that no test has used. */
export const newCaller = (): string => `subscriber${++callers}-${crypto.randomUUID().slice(0, 8)}`;

/** A server of which these are callers. */
export async function serverFor(
  names: readonly string[],
  { variables = {}, scopes = {} }: { variables?: object; scopes?: Record<string, string[]> } = {},
) {
  const keys: Json = {};
  for (const name of names) {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(name));
    const hash = new Uint8Array(digest).toHex();
    keys[name] = scopes[name] === undefined ? hash : { hash, scopes: scopes[name] };
  }
  return serverOf(some, { LINKS: "off", API_KEYS: JSON.stringify(keys), ...variables });
}

/** A caller of a server of its own, whose requests are sent by the methods. */
export interface Caller {
  name: string;
  sent: Sent;
  send(method: string, params?: Json, more?: Sent): ReturnType<typeof send>;
  /** The result of a request that must succeed. */
  ask(method: string, params?: Json, more?: Sent): Promise<any>;
  /** Emits an event by the servlet's tool; returns what that says. */
  emit(args: Json): Promise<{ ids: string[]; error?: string }>;
}

export async function caller(of: Parameters<typeof serverFor>[1] = {}, name = newCaller()) {
  const server = await serverFor([name], of);
  return callerOf(server, name);
}

export function callerOf(server: NonNullable<Sent["server"]>, name: string): Caller {
  const sent = { ...as(name), server, capabilities: {} };
  const ask: Caller["ask"] = async (method, params = {}, more = {}) => {
    const { result, error } = await send(method, params, { ...sent, ...more });
    if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  };
  return {
    name,
    sent,
    ask,
    send: (method, params = {}, more = {}) => send(method, params, { ...sent, ...more }),
    async emit(args) {
      const { result, error } = await callOf("emit", args, sent);
      if (result?.["structuredContent"] === undefined)
        throw new Error(JSON.stringify(error ?? result));
      return result["structuredContent"];
    },
  };
}

export const NOTE = { name: "note.added", arguments: {} };
export const note = (text: string, topic = "a") => ({ name: "note.added", data: { topic, text } });

/** The object of a caller, or with `everyone` the one for everyone. */
export const objectFor = ({ name }: { name: string }) => env.EVENTS!.getByName(logOf(name));
/** Rings the alarm of a caller's object. */
export const ring = (of: { name: string }) => runDurableObjectAlarm(objectFor(of));

/** A secret as a client makes it. */
export const newSecret = (bytes = 32): string =>
  `whsec_${crypto.getRandomValues(new Uint8Array(bytes)).toBase64()}`;

/** A request that a receiver got. */
export interface Received {
  url: string;
  headers: Headers;
  body: any;
  text: string;
}

/** A receiver answers a request: with a response, or by failing. */
export type Answer = (received: Received) => Response | Promise<Response>;

/** Repeats a challenge, and accepts all else. */
export const accepting: Answer = ({ body }) =>
  body.type === "verification"
    ? Response.json({ challenge: body.challenge })
    : new Response(null, { status: 204 });

/** The receivers of a test, by host, and what they got. */
export class Receivers {
  readonly received: Received[] = [];
  readonly #answers = new Map<string, Answer>();

  constructor() {
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
      const request = new Request(input as string, init as RequestInit);
      const text = await request.text();
      const { url, headers } = request;
      const received = { url, headers, text, body: JSON.parse(text) as unknown };
      this.received.push(received);
      if (init?.redirect !== "manual") throw new Error("a request that follows redirects");
      const answer = this.#answers.get(new URL(url).host);
      if (answer === undefined) throw new TypeError("connection refused");
      return Promise.race([
        answer(received),
        new Promise<never>((_resolve, reject) => {
          init?.signal?.addEventListener("abort", () =>
            reject(new DOMException("aborted", "AbortError")),
          );
        }),
      ]);
    });
  }

  /** A new receiver; returns its URL. */
  add(
    answer: Answer = accepting,
    host = `r${crypto.randomUUID().slice(0, 8)}.example.com`,
  ): string {
    this.#answers.set(host, answer);
    return `https://${host}/hook`;
  }

  change(url: string, answer: Answer): void {
    this.#answers.set(new URL(url).host, answer);
  }

  /** The bodies that are events, for this URL. */
  events(url: string): any[] {
    return this.of(url)
      .map(({ body }) => body)
      .filter(({ type }) => type === undefined);
  }

  of(url: string): Received[] {
    return this.received.filter((one) => one.url === url);
  }
}

/** The params of a subscription to this receiver. */
export const webhook = (url: string, more: Json = {}): Json => ({
  ...NOTE,
  delivery: { mode: "webhook", url, secret: newSecret() },
  ...more,
});

/** The limits, clock and receivers of each test of a file. */
export function prepareEvents(): { receivers: Receivers } {
  const own = { receivers: undefined as unknown as Receivers };
  prepare();
  beforeEach(() => {
    own.receivers = new Receivers();
    // The Worker with the objects does not know the keys of the tests' servers: rights.test.ts is about that.
    limited({ rightsMs: 1e12 });
  });
  return own;
}
