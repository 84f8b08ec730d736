/// <reference types="@cloudflare/vitest-plugin/types" />
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, onTestFinished, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { ListedCalls, type ListedCall } from "../../../src/server/kernel/calls/listed-calls.ts";
import { Listing } from "../../../src/server/features/tasks/task-console.ts";
import type { TaskServing } from "../../../src/server/features/tasks/task-server.ts";
import type { TaskStore } from "../../../src/server/features/tasks/task-store.ts";
import type { Sealer } from "../../../src/server/kernel/storage/vault.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { bundle } from "../../bundle.gen.ts";
import { hashed } from "../../worker/auth/key-holders.ts";
import { Events, objectIn, SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import { ABLE, clock, newAddress, prepare, send, TASKS } from "../../worker/calls/client.ts";
import { post } from "../../worker/server.ts";
import { eventually } from "../../worker/waiting.ts";

/** The list of a person's calls while much happens to it at once. */
prepare();

const objectOf = (name: string) => env.PROFILES!.getByName(name);

const listed = (id: string, more: Partial<ListedCall> = {}): ListedCall => {
  const now = Date.now();
  const times = { created: now, updated: now, until: now + 60_000 };
  return { id, kind: "call", name: id, status: "working", ...times, ...more };
};

/** The text of a stream, as far as it is read. */
function reading(stream: ReadableStream<Uint8Array>) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  onTestFinished(() => reader.cancel());
  let text = "";
  return {
    async until(part: string) {
      for (;;) {
        if (text.includes(part)) return text;
        const { value, done } = await reader.read();
        if (done) throw new Error(`The stream ended without ${part}.`);
        text += value;
      }
    },
  };
}

describe("the events of a list", () => {
  test("miss nothing that changes while the list is read", async () => {
    const text = await runInDurableObject(objectOf("busy"), async (_one, { storage }) => {
      const read = Promise.withResolvers<void>();
      const seal = async (bytes: Uint8Array) => bytes;
      const open = (bytes: Uint8Array) => read.promise.then(() => bytes);
      const calls = new ListedCalls(storage.sql);
      const sealer = { seal, open } as unknown as Sealer;
      await calls.put(listed("one"), sealer);
      const watched = calls.watch("ada", sealer);
      await calls.put(listed("one", { status: "completed" }), sealer);
      read.resolve();
      const stream = reading(await watched);
      await calls.put(listed("later"), sealer);
      return stream.until('"id":"later"');
    });
    const last = text.slice(text.lastIndexOf('"id":"one"'));
    expect(last).toMatch(/^"id":"one","kind":"call","name":"one","status":"completed"/);
  });

  test("say which calls are dropped, as there are too many", async () => {
    const object = objectOf("full");
    const stream = reading(await object.watch("full"));
    await stream.until("event: all");
    const now = Date.now();
    for (let nth = 0; nth <= limits.listedCalls; nth++)
      await object.list("full", listed(`c${nth}`, { updated: now + nth }));
    await stream.until(`"id":"c${limits.listedCalls}"`);
    expect(await stream.until("event: gone")).toContain('event: gone\ndata: "c0"');
  });

  test("say that there are too many windows, and the others go on", async () => {
    const object = objectOf("windows");
    const streams = [];
    for (let nth = 0; nth <= limits.consoleStreams; nth++)
      streams.push(reading(await object.watch("windows")));
    const [oldest, next] = streams;
    expect(await oldest!.until("event: crowded")).toContain("event: all");
    await object.list("windows", listed("one"));
    expect(await next!.until('"id":"one"')).not.toContain("crowded");
  });
});

test("what is taken out of the list while it is being listed is not in it", async () => {
  const object = objectOf("short");
  const coming = object.list("short", listed("session", { kind: "session" }));
  const going = object.unlist("session");
  await Promise.all([coming, going]);
  expect(await object.listed("short")).toEqual([]);
});

/** A person whose client has tasks, and begins calls of this plan. */
async function clientOf(name: string) {
  const server = createApp(new Kernel(bundle, { ...env, API_KEYS: await hashed([name]) }));
  const headers = { authorization: `Bearer ${name}`, "cf-connecting-ip": newAddress() };
  const sent = { server, capabilities: { ...ABLE, ...TASKS }, headers };
  return async (...steps: object[]) => {
    const params = { name: "plan_always", arguments: { steps } };
    const { result, error } = await send("tools/call", params, sent);
    expect(error).toBeUndefined();
    const { taskId, inputRequests = {} } = result!;
    return (answer: object) => {
      const inputResponses = Object.fromEntries(
        Object.keys(inputRequests as object).map((key) => [key, answer]),
      );
      return send("tasks/update", { taskId, inputResponses }, sent);
    };
  };
}

test("a servlet that asks a thousand questions at once takes no more of the list than another", async () => {
  const name = "asked-live";
  const begin = await clientOf(name);
  const keys = Array.from({ length: 1000 }, (_, nth) => `k${nth}`);
  await begin({ do: "inputs", message: "?".repeat(400), keys });
  const { reason } = await eventually(async () => {
    const [one] = await objectOf(name).listed(name);
    expect(one).toMatchObject({ status: "input_required" });
    return one!;
  });
  expect(reason!.length).toBeLessThanOrEqual(limits.pageCharacters);
  expect(reason).toMatch(/^\?{100}/);
});

test("a task is forgotten only when nothing about it is on its way to the list", async () => {
  const [began, arrived] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const persons = { list: () => (began.resolve(), arrived.promise) };
  const store = {
    id: "task",
    exists: true,
    isOver: false,
    expires: Date.now() + 60_000,
    row: { status: "working", created: 1, updated: 1, ttl: 60_000 },
    subject: async () => ({ ref: { kind: "tool", name: "greet", input: {} }, lister: "ada" }),
    read: async () => undefined,
    waits: async () => undefined,
  };
  const listing = new Listing(store as unknown as TaskStore, { persons } as unknown as TaskServing);
  void listing.tell();
  await began.promise;
  const order: string[] = [];
  const ended = Promise.resolve(listing.end()).then(() => order.push("forgotten"));
  await scheduler.wait(0);
  order.push("listed");
  arrived.resolve();
  await ended;
  expect(order).toEqual(["listed", "forgotten"]);
});

test(
  "a call of a client with a session leaves the list with its result, and the session with its end",
  { tags: ["sessions"] },
  async () => {
    const name = "session-live";
    const server = createApp(new Kernel(bundle, { ...env, API_KEYS: await hashed([name]) }));
    const headers = { authorization: `Bearer ${name}`, "cf-connecting-ip": newAddress() };
    const client = await SessionClient.begin({ server, headers });
    const kinds = async () =>
      (await objectOf(name).listed(name)).map(({ kind }) => kind).toSorted();
    const events = new Events(await client.call("plan", { steps: [{ do: "elicit" }] }));
    const { id } = await events.message();
    await eventually(async () => expect(await kinds()).toEqual(["call", "session"]));
    await client.post({
      jsonrpc: "2.0",
      id,
      result: { action: "accept", content: { value: "x" } },
    });
    expect((await events.message())["result"]).toBeDefined();
    await eventually(async () => expect(await kinds()).toEqual(["session"]));
    await client.end();
    await eventually(async () => expect(await kinds()).toEqual([]));
  },
);

test(
  "a session that is in use for longer than calls are kept stays in the list",
  { tags: ["sessions"] },
  async () => {
    const name = "long-live";
    const server = createApp(new Kernel(bundle, { ...env, API_KEYS: await hashed([name]) }));
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "daily" },
    };
    const message = { jsonrpc: "2.0", id: 1, method: "initialize", params };
    const authorization = `Bearer ${name}`;
    const begun = await post(message, { authorization }, server);
    const id = begun.headers.get("mcp-session-id")!;
    const setLevel = {
      jsonrpc: "2.0",
      id: 2,
      method: "logging/setLevel",
      params: { level: "debug" },
    };
    await (await post(setLevel, { authorization, "mcp-session-id": id }, server)).text();
    const names = async () => (await objectOf(name).listed(name)).map((one) => one.name);
    await expect.poll(names).toEqual(["daily"]);
    const session = env.SESSIONS!.get(env.SESSIONS!.idFromString(await objectIn(id)));
    for (
      let used = 0;
      used < limits.taskMs + limits.sessionIdleMs;
      used += limits.sessionIdleMs / 2
    ) {
      clock.aheadMs += limits.sessionIdleMs / 2;
      const ping = { jsonrpc: "2.0", id: 2, method: "ping" };
      expect((await post(ping, { authorization, "mcp-session-id": id }, server)).status).toBe(200);
      await runDurableObjectAlarm(session);
    }
    await expect.poll(names).toEqual(["daily"]);
  },
);
