/// <reference types="@cloudflare/vitest-plugin/types" />
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import type { Hub } from "../../../src/server/features/sessions/hub.ts";
import { limits, configureLimits } from "../../../src/server/kernel/core/limits.ts";
import { bundle } from "../../bundle.gen.ts";
import { listenerOf, modern, post } from "../../worker/server.ts";

/** Anonymous callers are distinguished by their addresses: none may use up the limits of another. */

const hubs = env.HUBS!;
const [ADA, BOB] = ["192.0.2.1", "2001:db8::2"];
const usual = { ...limits };
let server: ReturnType<typeof createApp>;
let hub: DurableObjectStub<Hub>;
beforeEach(() => {
  const name = crypto.randomUUID();
  hub = hubs.getByName(name);
  const own = { getByName: () => hub } as unknown as typeof hubs;
  server = createApp(new Kernel(bundle, { ...env, HUBS: own }));
});
afterEach(() => {
  configureLimits(usual);
  vi.restoreAllMocks();
});

function send(address: string, method: string, params: Record<string, unknown>, more = {}) {
  const { body, headers } = modern(method, params);
  return post(body, { ...headers, "cf-connecting-ip": address, ...more }, server);
}

const greet = (address: string) =>
  send(address, "tools/call", { name: "greet", arguments: { name: "Ada" } });
const listen = (address: string) =>
  send(address, "subscriptions/listen", { notifications: { toolsListChanged: true } });

test("calls of one caller's sessions wait in turn if there is memory for only one of them", async () => {
  configureLimits({ waitingBytesOfOne: 1, roomMs: 0 });
  const begin = async (address: string) => {
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "a" } };
    const body = { jsonrpc: "2.0", id: 1, method: "initialize", params };
    const begun = await post(body, { "cf-connecting-ip": address }, server);
    const session = { "mcp-session-id": begun.headers.get("mcp-session-id")! };
    const slow = { name: "wait", arguments: { seconds: 0.3 } };
    const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params: slow };
    return post(call, { "cf-connecting-ip": address, ...session }, server);
  };
  const sent = [begin(ADA), begin(ADA), begin(BOB)].map(async (one) => (await one).text());
  const texts = await Promise.all(sent);
  for (const text of texts) expect(text).toContain("Waited");
});

test("each has its own streams, and hears of what another has changed", async () => {
  configureLimits({ listenStreams: 2 });
  const streams = [await listen(ADA), await listen(ADA)];
  expect((await listen(ADA)).status).toBe(429);
  const other = await listen(BOB);
  expect(other.status).toBe(200);
  const listeners = [...streams, other].map(listenerOf);
  for (const { next } of listeners) await next();
  await send(ADA, "tools/call", { name: "test_trigger_tool_change", arguments: {} });
  for (const { next } of listeners) {
    expect(await next()).toMatchObject({ method: "notifications/tools/list_changed" });
  }
  await Promise.all(listeners.map(({ close }) => close()));
});

test("sessions of one caller do not displace those of another from notifications of changes", async () => {
  configureLimits({ hubSessions: 3 });
  const ids = Array.from({ length: 6 }, () => env.SESSIONS!.newUniqueId());
  const [bobs, ...adas] = ids.map(String);
  await hub.enlist(bobs!, `address ${BOB}`);
  for (const id of adas) await hub.enlist(id, `address ${ADA}`);
  const left = await runInDurableObject(hub, (_instance, { storage }) =>
    storage.sql.exec("SELECT id FROM enlisted ORDER BY at").toArray(),
  );
  expect(left.map(({ id }) => id)).toEqual([bobs, ...adas.slice(-2)]);
});

describe("networks of one /48 have four callers' share together", () => {
  const own = `2001:db8:${crypto.randomUUID().slice(0, 4)}`;
  const fivefold = <T>(act: (address: string) => Promise<T>) =>
    Promise.all([1, 2, 3, 4, 5].map((at) => act(`${own}:${at}::1`)));
  const served = (all: Response[]) => all.filter(({ status }) => status === 200).length;

  test("of streams", async () => {
    configureLimits({ listenStreams: 1 });
    const all = await fivefold(listen);
    expect(served(all)).toBe(4);
    await Promise.all(all.map(async ({ body }) => body?.cancel()));
  });

  test("of what is kept; what is refused counts for nobody", async () => {
    configureLimits({ keptPerDay: 1 });
    const begin = (address: string) => {
      // It says so much of itself that it is stored at once.
      const clientInfo = { name: "a".repeat(3000) };
      const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
      const body = { jsonrpc: "2.0", id: 1, method: "initialize", params };
      return post(body, { "cf-connecting-ip": address }, server);
    };
    const all = await fivefold(begin);
    expect(served(all)).toBe(4);
    configureLimits({ siteShares: 5 });
    const refused = all.findIndex(({ status }) => status !== 200) + 1;
    expect((await begin(`${own}:${refused}::1`)).status).toBe(200);
  });

  test("and of sessions that hear of changes", async () => {
    configureLimits({ hubSessions: 3 });
    const ids = Array.from({ length: 6 }, () => env.SESSIONS!.newUniqueId());
    const [bobs, ...others] = ids.map(String);
    await hub.enlist(bobs!, `address ${ADA}`);
    for (const [at, id] of others.entries()) await hub.enlist(id, `address ${own}:${at}`);
    const left = await runInDurableObject(hub, (_instance, { storage }) =>
      storage.sql.exec("SELECT id FROM enlisted ORDER BY at").toArray(),
    );
    expect(left.map(({ id }) => id)).toEqual([bobs, ...others.slice(-2)]);
  });
});

test("a stream has its place until it has ended", async () => {
  configureLimits({ concurrentCalls: 1 });
  const open = listenerOf(await listen(ADA));
  await open.next();
  expect((await greet(ADA)).status).toBe(429);
  expect((await greet(BOB)).status).toBe(200);
  await open.close();
  expect((await greet(ADA)).status).toBe(200);

  const meta = { _meta: { progressToken: "t" } };
  const params = { name: "wait", arguments: { seconds: 1.2 }, ...meta };
  const called = await post(
    { jsonrpc: "2.0", id: 1, method: "tools/call", params },
    { "cf-connecting-ip": ADA, accept: "text/event-stream" },
    server,
  );
  expect(called.headers.get("content-type")).toBe("text/event-stream");
  expect((await greet(ADA)).status).toBe(429);
  expect(await called.text()).toContain('"content"');
  expect((await greet(ADA)).status).toBe(200);
});
