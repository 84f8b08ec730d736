import { features } from "../../all-features.ts";
import { describe, expect, test } from "vitest";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { bundle } from "../../bundle.gen.ts";
import { answerOf, ask, modern, post } from "../../worker/server.ts";
import {
  anonymous,
  call,
  listen,
  prepareHubs,
  request,
  server,
  serveAs,
  SUBSCRIPTION,
  TASKS,
} from "../../worker/mcp/hub-client.ts";

prepareHubs();

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
    serveAs({ features, servlets: only });
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
    serveAs(bundle, { API_KEYS });
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
    configureLimits({ listenMs: 300 });
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
      configureLimits({ listenMs });
    }
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
