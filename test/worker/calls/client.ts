/// <reference types="@cloudflare/vitest-plugin/types" />
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { limits, configureLimits } from "../../../src/server/kernel/core/limits.ts";
import type { Bundle } from "../../../src/server/kernel/kernel.ts";
import type { PreparedServlet } from "../../../src/server/kernel/servlets/bundle.ts";
import { bundle } from "../../bundle.gen.ts";
import { answerOf, modern, post, type Answer } from "../server.ts";

/** A client of the whole app, with its Durable Objects. */

export type Json = Record<string, any>;

/** Clients that cannot be asked get no link: test/features/people is about those that do. */
export const server = createApp(new Kernel(bundle, { ...env, LINKS: "off" }));

/** Capabilities of a client that supports everything. */
export const ABLE = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
export const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

export interface Sent {
  server?: ReturnType<typeof createApp>;
  capabilities?: object;
  meta?: object;
  headers?: Record<string, string>;
}

let addresses = 0;
/** An address of a caller that no test of any file has been yet. */
export const newAddress = () => `198.18.${++addresses >> 8}.${addresses & 255}`;

/** Sends a request of a client that can do everything but tasks. */
export async function send(method: string, params: Json, sent: Sent = {}): Promise<Answer> {
  const capabilities = sent.capabilities ?? ABLE;
  const meta = { "io.modelcontextprotocol/clientCapabilities": capabilities, ...sent.meta };
  const { body, headers } = modern(method, params, meta);
  if (typeof params["taskId"] === "string") headers["mcp-name"] = params["taskId"];
  return answerOf(await post(body, { ...headers, ...sent.headers }, sent.server ?? server));
}

/** Something in the middle of a request: what it is about, and what the server wants to know. */
export interface Round extends Answer {
  method: string;
  params: Json;
  sent: Sent;
  state: string;
  requests: Json;
}

/** Sends a request that the server answers with what it needs. */
export async function begin(method: string, params: Json, sent: Sent = {}): Promise<Round> {
  return roundOf(await send(method, params, sent), { method, params, sent });
}

function roundOf(answer: Answer, of: Pick<Round, "method" | "params" | "sent">): Round {
  expect(answer.error).toBeUndefined();
  expect(answer.result).toMatchObject({ resultType: "input_required" });
  const { requestState: state, inputRequests: requests } = answer.result!;
  return { ...answer, ...of, state, requests };
}

/** Goes on with what was begun. `other` stands in for what the first request had. */
export function goOn(round: Round, responses: unknown, other: Json = {}, sent: Sent = {}) {
  const brought = { inputResponses: responses, requestState: round.state };
  return send(round.method, { ...round.params, ...brought, ...other }, { ...round.sent, ...sent });
}

/** The same where the server needs still more. */
export async function goOnAsked(round: Round, responses: unknown): Promise<Round> {
  return roundOf(await goOn(round, responses), round);
}

/** Begins a call of a tool. */
export const beginTool = (name: string, args: Json = {}, sent: Sent = {}) =>
  begin("tools/call", { name, arguments: args }, sent);

export const callOf = (name: string, args: Json = {}, sent: Sent = {}) =>
  send("tools/call", { name, arguments: args }, sent);

export const accept = (value: unknown, field = "value") => ({
  action: "accept",
  content: { [field]: value },
});
export const SAID = { role: "assistant", content: { type: "text", text: "aye" }, model: "m" };
export const ROOTS = { roots: [{ uri: "file:///a", name: "a" }] };

/** The text of a tool's first block, a resource's or a prompt's. */
export function textIn({ result, error }: Answer): string {
  if (result === undefined) throw new Error(JSON.stringify(error));
  const first = (result["content"] ?? result["contents"] ?? result["messages"])[0];
  return first.text ?? first.content.text;
}

/** The bundle with one servlet changed. */
export function changed(name: string, change: (servlet: PreparedServlet) => object): Bundle {
  const servlets = bundle.servlets.map((one) =>
    one.name === name ? { ...one, ...change(one) } : one,
  );
  expect(bundle.servlets.map((one) => one.name)).toContain(name);
  return { ...bundle, servlets };
}

export const serverOf = (other: Bundle, variables: object = {}) =>
  createApp(new Kernel(other, { ...env, ...variables }));

/** A server with these API keys, each the name of its owner. */
export async function keyed(...names: string[]) {
  const hashes: Record<string, string> = {};
  for (const name of names) {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(name));
    hashes[name] = new Uint8Array(digest).toHex();
  }
  return serverOf(bundle, { API_KEYS: JSON.stringify(hashes) });
}
export const as = (name: string) => ({ headers: { authorization: `Bearer ${name}` } });

/** Other limits, until `restore` is called. */
export function limited(other: Partial<Record<keyof typeof limits, number>>): void {
  configureLimits(other);
}

/** Lets all clocks of this process go ahead of the real one. */
export const clock = { aheadMs: 0 };

/** Before each test of a file the limits are as they should be, and so is the clock. */
export function prepare(): void {
  const usual = { ...limits };
  const { now } = Date;
  beforeEach(() => {
    // Hundreds of objects die here while their guests wait, which keep their places for minutes, and streams stay open.
    // Nor are their runs said to have begun.
    limited({
      waitingBytes: Infinity,
      waitingBytesOfOne: Infinity,
      bodiesBytes: Infinity,
      startsAtOnce: Infinity,
    });
    clock.aheadMs = 0;
    // Plain, for a spy would remember each of very many calls.
    Date.now = () => now() + clock.aheadMs;
    for (const level of ["error", "warn", "info", "log", "debug"] as const) {
      vi.spyOn(console, level).mockImplementation(() => {});
    }
  });
  afterEach(() => {
    configureLimits(usual);
    Date.now = now;
    vi.restoreAllMocks();
  });
}

/** The response to a request whose params are refused with this message. */
export const refused = (message: RegExp) => ({
  status: 200,
  error: { code: -32602, message: expect.stringMatching(message) },
});
