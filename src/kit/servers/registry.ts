/** The servers that a servlet's modules make in the manner of another SDK, and which of them the servlet is. */
import type { AnySpec } from "../answers.ts";
import { isObject } from "../../server/kernel/core/model.ts";

export type Json = Record<string, unknown>;

/** Answers one method of the protocol. */
export type MethodHandler = (params: Json) => unknown;

/** A server in the form that all SDKs' stand-ins make of it. */
export interface Offer {
  /** What was registered by name. */
  spec(): AnySpec;
  /** What was registered by method; it comes before `spec`. */
  readonly handlers: ReadonlyMap<string, MethodHandler>;
  readonly name: string;
  readonly instructions: string | undefined;
  /** Called before the first request that an instance answers. */
  readonly oninitialized: (() => unknown) | undefined;
}

const offers = new Set<Offer>();
/** Makes a server when no connected one is there: a factory, a class, or what a route would call. */
const makers: (() => unknown)[] = [];

/** Notes a server that is connected, exported or given to a handler. */
export function offer(one: Offer): void {
  offers.add(one);
}

const isOffer = (value: unknown): value is Offer =>
  isObject(value) && value["handlers"] instanceof Map && typeof value["spec"] === "function";

/** Notes a server of any style, high-level or low-level; false for another value. */
export function noteServer(value: unknown): boolean {
  const one = isObject(value) && isOffer(value["server"]) ? value["server"] : value;
  if (!isOffer(one)) return false;
  offer(one);
  return true;
}

/** What looks for servers among the values that a servlet's entry exports. */
export const exportNoters: ((value: unknown) => void)[] = [
  noteServer,
  (value) => {
    const fetch = isObject(value) ? value["fetch"] : undefined;
    if (typeof fetch !== "function") return;
    const request = new Request("https://servlet.invalid/mcp", { method: "POST" });
    const call = fetch as (...given: unknown[]) => unknown;
    offerLater(() => call.call(value, request, {}, { waitUntil() {} }));
  },
];

/** Notes what makes a server when a request arrives. */
export function offerLater(make: () => unknown): void {
  makers.push(make);
}

/** True where `change` has been called since the servlet's module scope ended. */
export const changes = { areThere: false };

/** To be called where something is registered, changed or removed. */
export function change(): void {
  changes.areThere = true;
}

/** The server that the servlet is. Throws an `Error` that says what to do where there is none, or more than one. */
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
