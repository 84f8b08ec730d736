/** The servers that a servlet's modules make with another SDK, and the choice of the servlet's server. */
import type { AnySpec } from "../answers.ts";
import { isObject } from "../../server/kernel/core/model.ts";
import { env } from "./environment.ts";

export type Json = Record<string, unknown>;

/** Handles one method of the protocol. */
export type MethodHandler = (params: Json) => unknown;

/** A server, in the form common to the stand-ins of all SDKs. */
export interface Offer {
  /** The tools, resources and prompts that were registered by name. */
  spec(): AnySpec;
  /** Handlers that were registered by method; they take precedence over `spec`. */
  readonly handlers: ReadonlyMap<string, MethodHandler>;
  readonly name: string;
  readonly instructions: string | undefined;
  /** Called before an instance's first request. */
  readonly oninitialized: (() => unknown) | undefined;
}

const offers = new Set<Offer>();
/** Functions that make a server if none is connected: from a factory, a class, or a route's handler. */
const makers: (() => unknown)[] = [];

/** Registers a server that is connected, exported or given to a handler. */
export function offer(one: Offer): void {
  offers.add(one);
}

const isOffer = (value: unknown): value is Offer =>
  isObject(value) && value["handlers"] instanceof Map && typeof value["spec"] === "function";

/** Registers a server, high-level or low-level; false if the value is not a server. */
export function noteServer(value: unknown): boolean {
  const one = isObject(value) && isOffer(value["server"]) ? value["server"] : value;
  if (!isOffer(one)) return false;
  offer(one);
  return true;
}

/** Functions that look for servers among the exports of a servlet's entry. */
export const exportNoters: ((value: unknown) => void)[] = [
  noteServer,
  (value) => {
    const fetch = isObject(value) ? value["fetch"] : undefined;
    if (typeof fetch !== "function") return;
    const request = new Request("https://servlet.invalid/mcp", { method: "POST" });
    const call = fetch as (...given: unknown[]) => unknown;
    offerLater(() => call.call(value, request, env, { waitUntil() {} }));
  },
];

/** Registers a function that makes a server when a request arrives. */
export function offerLater(make: () => unknown): void {
  makers.push(make);
}

/** `areThere` is true if `change` has been called since the answers were last made. */
export const changes = { areThere: false };

/** To be called when something is registered, changed or removed. */
export function change(): void {
  changes.areThere = true;
}

/** The servlet's server. Throws an `Error` that says what to do if there is none, or more than one. */
export async function theOffer(): Promise<Offer> {
  for (const make of makers) {
    if (offers.size > 0) break;
    await make();
  }
  const [first, second] = offers;
  if (first === undefined) {
    throw new Error(
      "No server is connected, exported or given to a handler when module scope has ended: connect it there (await server.connect(…) is fine), and not in a callback.",
    );
  }
  if (second !== undefined) {
    const names = [...offers].map(({ name }) => JSON.stringify(name)).join(" and ");
    throw new Error(
      `It has ${offers.size} servers, ${names}, and a servlet is one: put each into a folder of its own.`,
    );
  }
  return first;
}
