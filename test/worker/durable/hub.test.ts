import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createApp } from "../../../src/app.ts";
import type { Hub } from "../../../src/durable/hub.ts";
import { namespaceOf } from "../../../src/env.ts";
import { limits } from "../../../src/limits.ts";
import { bundle } from "../../bundle.gen.ts";
import { answerOf, ask, listenerOf, modern, post, settings } from "../server.ts";

const hubs = namespaceOf<Hub>(env, "HUBS")!;
const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

/** Each test has hubs of its own: what others left behind is not in them. */
let server: ReturnType<typeof createApp>;
let anonymous: DurableObjectStub<Hub>;
const bound: Record<string, unknown> = { ...env, ...settings };
beforeEach(() => {
  const mark = crypto.randomUUID();
  bound["HUBS"] = { getByName: (name: string) => hubs.getByName(`${name} ${mark}`) };
  server = createApp(bundle, bound);
  anonymous = hubs.getByName(`anonymous ${mark}`);
});

type Listener = ReturnType<typeof listenerOf>;
const open: Listener[] = [];

/** Sends the request; `more` are parts of it and its headers. */
function request(
  notifications: unknown,
  more: { id?: unknown; headers?: object; capabilities?: object } = {},
): Promise<Response> {
  const meta = { "io.modelcontextprotocol/clientCapabilities": more.capabilities ?? {} };
  const { body, headers } = modern("subscriptions/listen", { notifications }, meta);
  return post({ ...body, id: more.id ?? 1 }, { ...headers, ...more.headers }, server);
}

/** Opens a stream and reads what is agreed on. */
async function listen(...sent: Parameters<typeof request>) {
  const response = await request(...sent);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const listener = listenerOf(response);
  open.push(listener);
  return { ...listener, acknowledged: await listener.next() };
}

/** What a hub is asked for by the server. */
const plain = { id: 1, filter: {}, opening: '"hello"', ending: '"bye"' };

const call = (name: string) => ask("tools/call", { name, arguments: {} }, {}, server);

afterEach(() => Promise.all(open.splice(0).map((listener) => listener.close())));

describe("subscriptions/listen", () => {
  test("is declared, with what can be heard", async () => {
    const { result } = await ask("server/discover", {}, {}, server);
    expect(result?.["capabilities"]).toMatchObject({
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
    });
  });

  test("first says what is agreed on, under the id of the request", async () => {
    const wanted = { toolsListChanged: true, resourceSubscriptions: ["test://a", "test://a"] };
    const { acknowledged } = await listen({ ...wanted, promptsListChanged: false, other: 1 });
    expect(acknowledged).toEqual({
      jsonrpc: "2.0",
      method: "notifications/subscriptions/acknowledged",
      params: {
        notifications: { toolsListChanged: true, resourceSubscriptions: ["test://a"] },
        _meta: { [SUBSCRIPTION]: 1 },
      },
    });
  });

  test("does not agree to what the server does not have", async () => {
    const only = bundle.servlets.filter(({ name }) => name === "hello");
    server = createApp({ servlets: only }, bound);
    const all = {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: ["test://a"],
    };
    const { acknowledged } = await listen(all);
    expect(acknowledged.params.notifications).toEqual({ toolsListChanged: true });
  });

  test("tells of a change that another request makes, with the id in the client's own type", async () => {
    const one = await listen({ toolsListChanged: true }, { id: "listen:1" });
    const other = await listen({ toolsListChanged: true }, { id: 7 });
    const { result } = await call("test_trigger_tool_change");
    expect(result?.["content"]).toHaveLength(1);
    const told = (id: unknown) => ({
      jsonrpc: "2.0",
      method: "notifications/tools/list_changed",
      params: { _meta: { [SUBSCRIPTION]: id } },
    });
    expect(await one.next()).toEqual(told("listen:1"));
    expect(await other.next()).toEqual(told(7));
  });

  test("tells nothing that was not asked for", async () => {
    const { next } = await listen({
      promptsListChanged: true,
      resourceSubscriptions: ["test://a"],
    });
    await call("test_trigger_tool_change");
    await call("test_trigger_prompt_change");
    expect(await next()).toMatchObject({ method: "notifications/prompts/list_changed" });
    await anonymous.publish([
      { method: "notifications/resources/list_changed" },
      { method: "notifications/resources/updated", params: { uri: "test://b" } },
      { method: "notifications/tasks", params: { taskId: "test://a" } },
      { method: "notifications/message", params: { level: "info", data: "" } },
      { method: "notifications/resources/updated", params: { uri: "test://a" } },
    ]);
    expect(await next()).toEqual({
      jsonrpc: "2.0",
      method: "notifications/resources/updated",
      params: { uri: "test://a", _meta: { [SUBSCRIPTION]: 1 } },
    });
  });

  test("tells one principal nothing of another's", async () => {
    const hash = async (key: string) => {
      const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
      return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join(
        "",
      );
    };
    const API_KEYS = JSON.stringify({ ada: await hash("a"), bob: await hash("b") });
    server = createApp(bundle, { ...bound, API_KEYS });
    const [ada, bob] = [{ authorization: "Bearer a" }, { authorization: "Bearer b" }];
    const both = { toolsListChanged: true, promptsListChanged: true };
    const ofAda = await listen(both, { headers: ada });
    const ofBob = await listen(both, { headers: bob });
    const change = async (name: string, headers: Record<string, string>) => {
      const sent = modern("tools/call", { name, arguments: {} });
      await (await post(sent.body, { ...sent.headers, ...headers }, server)).text();
    };
    await change("test_trigger_tool_change", ada);
    expect(await ofAda.next()).toMatchObject({ method: "notifications/tools/list_changed" });
    await change("test_trigger_prompt_change", bob);
    expect(await ofBob.next()).toMatchObject({ method: "notifications/prompts/list_changed" });
  });

  test("ends with one result when its time is over", async () => {
    const { listenMs } = limits;
    Object.assign(limits, { listenMs: 100 });
    try {
      const { next } = await listen({ toolsListChanged: true }, { id: "x" });
      await anonymous.publish([{ method: "notifications/tools/list_changed" }]);
      expect(await next()).toMatchObject({ method: "notifications/tools/list_changed" });
      expect(await next()).toEqual({
        jsonrpc: "2.0",
        id: "x",
        result: {
          resultType: "complete",
          _meta: {
            [SUBSCRIPTION]: "x",
            "io.modelcontextprotocol/serverInfo": expect.objectContaining({
              name: "edge-servlets",
            }),
          },
        },
      });
      expect(await next()).toBeUndefined();
    } finally {
      Object.assign(limits, { listenMs });
    }
  });

  test("is refused where too many are open, until one is closed", async () => {
    const others = await Promise.all(
      Array.from({ length: limits.listenStreams - 1 }, () =>
        anonymous.listen({ ...plain, lifeMs: 1000 }),
      ),
    );
    const { close } = await listen({ toolsListChanged: true });
    const { status, id, error } = await answerOf(await request({}, { id: 99 }));
    expect({ status, id }).toEqual({ status: 429, id: 99 });
    expect(error?.message).toContain(`(limit ${limits.listenStreams} for one caller`);
    await close();
    const began = Date.now();
    let again = await request({ toolsListChanged: true });
    while (again.status !== 200 && Date.now() - began < 800) {
      await again.text();
      again = await request({ toolsListChanged: true });
    }
    expect(again.status).toBe(200);
    open.push(listenerOf(again));
    const texts = await Promise.all(others.map((stream) => new Response(stream).text()));
    expect(new Set(texts.map((text) => text.replaceAll(": waiting\n\n", "")))).toEqual(
      new Set(['event: message\ndata: "hello"\n\nevent: message\ndata: "bye"\n\n']),
    );
  });

  describe("keeps filters of a bounded size", () => {
    const LONG = [`test://${"€".repeat(limits.listenFilterCharacters - 100)}`];

    /** How many of them are let in. */
    const opened = async (callers: string[], resourceSubscriptions = LONG) => {
      const wanted = { ...plain, filter: { resourceSubscriptions }, lifeMs: 60_000 };
      const all = await Promise.all(
        callers.map((caller) => anonymous.listen({ ...wanted, caller })),
      );
      const streams = all.filter((stream) => stream !== null);
      await Promise.all(streams.map((stream) => stream.cancel()));
      return streams.length;
    };

    test("of one caller", async () => {
      const most = Math.floor(limits.listenFilterBytes / (2 * limits.listenFilterCharacters));
      const count = await opened(Array.from({ length: limits.listenStreams }, () => "ada"));
      expect(count).toBeGreaterThan(0);
      expect(count).toBeLessThanOrEqual(most);
    });

    test("of one caller, whose URIs are short, but many", async () => {
      const uris = Array.from({ length: 10_000 }, (_, at) => `${at}`);
      const count = await opened(
        Array.from({ length: limits.listenStreams }, () => "ada"),
        uris,
      );
      const most = Math.floor(limits.listenFilterBytes / (uris.length * limits.filterItemBytes));
      expect(count).toBeGreaterThan(0);
      expect(count).toBeLessThanOrEqual(most);
    });

    test("of all, where many callers send the largest that they may", async () => {
      const most = Math.floor(limits.hubFilterBytes / (2 * limits.listenFilterCharacters));
      const count = await opened(Array.from({ length: 400 }, (_, at) => `caller ${at}`));
      expect(count).toBeGreaterThan(0);
      expect(count).toBeLessThanOrEqual(most);
    });
  });

  test("ends streams that nobody reads, whose openings are too much together", async () => {
    const { hubBacklogBytes } = limits;
    Object.assign(limits, { hubBacklogBytes: 10_000 });
    const opening = "x".repeat(4000);
    const isEnded = await runInDurableObject(anonymous, async (hub: Hub) => {
      const streams = [];
      for (let at = 0; at < 3; at++)
        streams.push((await hub.listen({ ...plain, opening, lifeMs: 60_000 }))!);
      const ends = streams.map((stream) => stream.getReader().read());
      return (await Promise.allSettled(ends)).map(({ status }) => status === "rejected");
    });
    Object.assign(limits, { hubBacklogBytes });
    expect(isEnded.filter(Boolean)).toHaveLength(1);
  });

  test("tells a change that is made again and again once in a while, and none too few", async () => {
    const { next } = await listen({ toolsListChanged: true, resourceSubscriptions: ["test://a"] });
    const TOOLS = { method: "notifications/tools/list_changed" };
    const ended = { method: "notifications/resources/updated", params: { uri: "test://a" } };
    await Promise.all(Array.from({ length: 50 }, () => anonymous.publish([TOOLS])));
    await anonymous.publish([ended]);
    const heard = [];
    do heard.push(await next());
    while (heard.at(-1).method !== ended.method);
    expect(heard.length).toBeGreaterThan(1);
    expect(heard.length).toBeLessThan(5);
    await anonymous.publish([TOOLS]);
    expect(await next()).toMatchObject(TOOLS);
  });

  test("loses updates of resources where more wait than may be sent to all, and no change of a list", async () => {
    const uri = `test://${"x".repeat(2000)}`;
    const { next } = await listen({ toolsListChanged: true, resourceSubscriptions: [uri] });
    const TOOLS = { method: "notifications/tools/list_changed" };
    const updated = (one: string) => ({
      method: "notifications/resources/updated",
      params: { uri: one },
    });
    const many = Array.from({ length: 100 }, (_, at) => updated(`test://${at}${"y".repeat(1000)}`));
    await anonymous.publish([updated(uri), ...many, TOOLS]);
    expect(await next()).toMatchObject(updated(uri));
    expect(await next()).toMatchObject(TOOLS);
    await anonymous.publish([...many, updated(uri), TOOLS]);
    expect(await next()).toMatchObject(TOOLS);
  });

  test("is refused under an id that is too long to be kept for others", async () => {
    expect((await listen({}, { id: "x".repeat(limits.idCharacters) })).acknowledged).toBeDefined();
    const response = await request({}, { id: "x".repeat(limits.idCharacters + 1) });
    expect(response.status).toBe(400);
    expect(await answerOf(response)).toMatchObject({
      id: null,
      error: { code: -32600, message: expect.stringContaining("at most 256 characters") },
    });
  });

  test("drops who does not read", async () => {
    const filter = { taskIds: ["t"] };
    const stream = (await anonymous.listen({ ...plain, filter, lifeMs: 60_000 }))!;
    const params = { taskId: "t", text: "x".repeat(limits.listenBacklogBytes / 2) };
    for (let at = 0; at < 8; at++)
      await anonymous.publish([{ method: "notifications/tasks", params }]);
    const reader = stream.getReader();
    const all = async () => {
      while (!(await reader.read()).done);
    };
    await expect(all()).rejects.toThrow();
  });

  test.each([
    [undefined],
    [[]],
    [{ toolsListChanged: "yes" }],
    [{ resourceSubscriptions: "test://a" }],
    [{ resourceSubscriptions: [1] }],
    [{ taskIds: [null] }],
    [{ taskIds: Array.from({ length: limits.listenTasks + 1 }, (_, at) => `${at}`) }],
    [{ resourceSubscriptions: ["x".repeat(limits.listenFilterCharacters)] }],
  ])("refuses params that are no filter", async (notifications) => {
    const { status, error } = await answerOf(await request(notifications, { capabilities: TASKS }));
    expect({ status, code: error?.code }).toEqual({ status: 200, code: -32602 });
  });

  test("asks for the extension where it is asked for tasks, and agrees to none of others", async () => {
    const { status, error } = await answerOf(await request({ taskIds: ["t"] }));
    expect({ status, code: error?.code }).toEqual({ status: 400, code: -32021 });
    expect(error?.data).toEqual({ requiredCapabilities: TASKS });
    const { acknowledged } = await listen({ taskIds: ["t"] }, { capabilities: TASKS });
    expect(acknowledged.params.notifications).toEqual({});
  });

  test("needs a client that takes event streams", async () => {
    const response = await request({}, { headers: { accept: "application/json" } });
    expect(response.status).toBe(406);
    await response.text();
  });
});
