import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import type { Hub } from "../../../src/server/features/sessions/hub.ts";
import type { Bundle } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import { ask, listenerOf, modern, post, settings } from "../server.ts";

/** Clients that listen, each test with hubs of its own. */

const hubs = env.HUBS!;
export const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
export const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

export let server: ReturnType<typeof createApp>;
export let anonymous: DurableObjectStub<Hub>;
const bound: Record<string, unknown> = { ...env, ...settings };

/** Gives each test of a file hubs of its own, without anything that others left behind, and closes its streams. */
export function prepareHubs(): void {
  beforeEach(() => {
    const mark = crypto.randomUUID();
    bound["HUBS"] = { getByName: (name: string) => hubs.getByName(`${name} ${mark}`) };
    serveAs(bundle);
    anonymous = hubs.getByName(`anonymous ${mark}`);
  });
  afterEach(() => Promise.all(open.splice(0).map((listener) => listener.close())));
}

/** Makes the server of a test another one. */
export function serveAs(served: Bundle, variables: Record<string, string> = {}): void {
  server = createApp(new Kernel(served, { ...bound, ...variables }));
}

type Listener = ReturnType<typeof listenerOf>;
export const open: Listener[] = [];

/** Sends the request; `more` are parts of it and its headers. */
export function request(
  notifications: unknown,
  more: { id?: unknown; headers?: object; capabilities?: object } = {},
): Promise<Response> {
  const meta = { "io.modelcontextprotocol/clientCapabilities": more.capabilities ?? {} };
  const { body, headers } = modern("subscriptions/listen", { notifications }, meta);
  return post({ ...body, id: more.id ?? 1 }, { ...headers, ...more.headers }, server);
}

/** Opens a stream and reads what is agreed on. */
export async function listen(...sent: Parameters<typeof request>) {
  const response = await request(...sent);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const listener = listenerOf(response);
  open.push(listener);
  return { ...listener, acknowledged: await listener.next() };
}

/** The server's request to a hub. */
export const plain = { id: 1, filter: {}, opening: '"hello"', ending: '"bye"' };

export const call = (name: string) => ask("tools/call", { name, arguments: {} }, {}, server);
