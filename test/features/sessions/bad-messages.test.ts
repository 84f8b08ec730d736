import { describe, expect, onTestFinished, test, vi } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { Session } from "../../worker/index.ts";
import { post } from "../../worker/server.ts";
import { ABLE, accept, prepare, ROOTS, server, type Json } from "../../worker/calls/client.ts";
import { ELICIT, log, saidIn, steps } from "../../worker/calls/plans.ts";
import {
  Events,
  LATEST,
  messageIn,
  resultIn,
  type SessionClient,
} from "../../worker/mcp/legacy/session-client.ts";
import {
  begin,
  faultOf,
  planned,
  request,
  response,
} from "../../worker/mcp/legacy/session-steps.ts";

/** Messages in a session that are not valid, cancel nothing, name no task, or come in odd batches. */
prepare();

test.each([
  [{ id: 1, method: "ping" }],
  [{ jsonrpc: "1.0", id: 1, method: "ping" }],
  [{ jsonrpc: "2.0", id: null, method: "ping" }],
  [{ jsonrpc: "2.0", id: 1.5, method: "ping" }],
  [{ jsonrpc: "2.0", id: 1, method: 7 }],
  [{ jsonrpc: "2.0", id: 1, method: "ping", params: [] }],
  [{ jsonrpc: "2.0", id: 1 }],
  ["ping"],
  [null],
])("an invalid message is refused: %j", async (body) => {
  const client = await begin();
  const answer = await client.post(JSON.stringify(body));
  expect(await faultOf(answer)).toMatchObject({ status: 400, code: -32600 });
});

test("a batch whose object dies may have acted, also with a method that names toString", async () => {
  const client = await begin({ version: "2025-03-26" });
  const dying = vi.spyOn(Session.prototype, "post").mockRejectedValueOnce(new Error("it died"));
  onTestFinished(() => dying.mockRestore());
  const odd = { jsonrpc: "2.0", id: 1, method: { toString: 1 } };
  const call = request(2, "tools/call", { name: "greet", arguments: { name: "Ada" } });
  const answer = await client.post(JSON.stringify([odd, call]));
  expect(await answer.text()).toContain("Its outcome is unknown");
});

test.each([["tasks/nope"], ["toString"], ["constructor"], [""], ["notifications/initialized"]])(
  "the method %j is not found",
  async (method) => {
    const client = await begin();
    const { error } = await messageIn(await client.request(method));
    expect(error).toMatchObject({ code: -32601 });
  },
);

describe("notifications/cancelled", () => {
  test.each([
    [{}],
    [{ requestId: null }],
    [{ requestId: "no" }],
    [{ requestId: 99 }],
    [{ requestId: {} }],
  ])("of no call is taken, and cancels nothing: %j", async (params) => {
    const client = await begin();
    const events = await planned(client, ELICIT);
    const { id } = await events.message();
    expect((await client.notify("notifications/cancelled", params)).status).toBe(202);
    await client.answer(id, accept("x"));
    expect(saidIn(await events.message())).toEqual(["x"]);
  });

  test("twice, and when the call has ended, changes nothing", async () => {
    const client = await begin();
    const cancel = (requestId: unknown) => client.notify("notifications/cancelled", { requestId });
    const events = new Events(await client.call("plan", steps(ELICIT), {}, "a"));
    await events.message();
    const both = await Promise.all([cancel("a"), cancel("a")]);
    expect(both.map(({ status }) => status)).toEqual([202, 202]);
    expect(await events.rest()).toHaveLength(1);
    expect((await cancel("a")).status).toBe(202);
    const done = await resultIn(await client.call("plan", steps(log("x")), {}, "b"));
    expect(done).toHaveProperty("result");
    expect((await cancel("b")).status).toBe(202);
    const again = await resultIn(await client.call("greet", { name: "Ada" }, {}, "a"));
    expect(again).toMatchObject({ id: "a", result: {} });
  });

  test("of what the server tells the servlets by itself cancels nothing", async () => {
    const client = await begin();
    const own = new Events(await client.listen());
    await client.notify("notifications/roots/list_changed");
    const { id } = await own.message();
    await client.notify("notifications/cancelled", { requestId: null });
    expect((await client.answer(id, ROOTS)).status).toBe(202);
    await own.drop();
  });
});

describe("a batch", () => {
  const client = () => begin({ version: "2025-03-26" });
  const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };

  test.each([
    ["nothing", []],
    ["too much", Array.from({ length: limits.batchMessages + 1 }, (_, id) => request(id, "ping"))],
  ])("of %s is refused", async (_what, body) => {
    const refused = await faultOf(await (await client()).post(body));
    expect(refused).toMatchObject({ status: 400, code: -32600 });
  });

  test("with an invalid message: the others are answered", async () => {
    const body = [7, request(1, "ping"), { id: "b", nonsense: true }, null, []];
    const answer = await (await client()).post(body);
    expect(answer.status).toBe(200);
    const answers = (await answer.json()) as Json[];
    expect(answers).toHaveLength(5);
    expect(answers.filter(({ error }) => error?.code === -32600)).toHaveLength(4);
    expect(answers.map(({ id }) => id)).toEqual(expect.arrayContaining([1, "b", null]));
    expect(answers.find(({ id }) => id === 1)).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
  });

  test("with nothing but invalid messages is answered, too", async () => {
    const answer = await (await client()).post([7, "x"]);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toHaveLength(2);
  });

  test("of notifications is taken", async () => {
    const posted = await (await client()).post([initialized, initialized]);
    expect({ status: posted.status, body: await posted.text() }).toEqual({ status: 202, body: "" });
  });

  test("of answers: the right ones are taken, and others are ignored", async () => {
    const one = await client();
    for (const wrongFirst of [true, false]) {
      const events = await planned(one, ELICIT);
      const { id } = await events.message();
      const both = [response(99, accept("x")), response(id, accept("y"))];
      const posted = await one.post(wrongFirst ? both : both.toReversed());
      expect(posted.status).toBe(202);
      expect(saidIn(await events.message())).toEqual(["y"]);
    }
  });

  test("of answers and requests: all are taken", async () => {
    const one = await client();
    const events = await planned(one, ELICIT);
    const { id } = await events.message();
    const body = [response(99, accept("x")), request(1, "ping"), response(id, accept("y"))];
    const answer = await one.post([...body, initialized]);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual([{ jsonrpc: "2.0", id: 1, result: {} }]);
    expect(saidIn(await events.message())).toEqual(["y"]);
  });

  test("with an initialize begins no session, in one and without one", async () => {
    const body = [request(1, "initialize", { protocolVersion: LATEST }), request(2, "ping")];
    const within = await (await client()).post(body);
    const answers = (await within.json()) as Json[];
    expect(answers.find(({ id }) => id === 1)?.["error"]).toMatchObject({ code: -32600 });
    expect(answers.find(({ id }) => id === 2)?.["result"]).toEqual({});
    const without = await post(body, { "mcp-protocol-version": "2025-03-26" }, server);
    expect(without.headers.get("mcp-session-id")).toBeNull();
  });
});

describe("tasks", () => {
  const started = async (client: SessionClient, name: string, task: unknown, args: Json = {}) =>
    messageIn(await client.call(name, args, { task }));
  const SLOW = { seconds: 0 };

  test.each([[7], ["x"], [null], [[]], [true], [{ ttl: "1000" }], [{ ttl: 0 }], [{ ttl: -1 }]])(
    "params that ask for none: %j",
    async (task) => {
      const client = await begin();
      const { error } = await started(client, "slow_compute", task, SLOW);
      expect(error).toMatchObject({
        code: -32602,
        message: expect.stringContaining("params.task"),
      });
    },
  );

  test("of a tool that has none are refused, and a tool that has nothing else", async () => {
    const client = await begin();
    const none = await started(client, "greet", {}, { name: "Ada" });
    expect(none["error"]).toMatchObject({
      code: -32601,
      message: expect.stringContaining("greet"),
    });
    const only = await messageIn(await client.call("failing_job"));
    expect(only["error"]).toMatchObject({ code: -32601 });
    const unknown = await started(client, "no_such_tool", {});
    expect(unknown["error"]).toMatchObject({ code: -32602 });
    const { result } = await messageIn(await client.request("tasks/list"));
    expect(result.tasks).toEqual([]);
  });

  test("with arguments that the tool does not take fail as the call would", async () => {
    const client = await begin();
    const plain = await messageIn(await client.call("slow_compute", { seconds: "x" }));
    const { result, error } = await started(client, "slow_compute", {}, { seconds: "x" });
    expect(error).toBeUndefined();
    const { taskId } = result.task;
    const ended = await resultIn(await client.request("tasks/result", { taskId }));
    expect(ended["error"] ?? ended["result"]).toMatchObject(plain["error"] ?? plain["result"]);
  });

  test.each(["tasks/get", "tasks/result", "tasks/cancel"])("%s: of no task", async (method) => {
    const client = await begin();
    const session = client.id;
    const wrong = ["x", "", "0".repeat(64), session, "a".repeat(5000), undefined, 7, null, {}];
    for (const taskId of wrong) {
      const { error } = await messageIn(await client.request(method, { taskId }));
      expect({ taskId, code: error?.code }).toEqual({ taskId, code: -32602 });
    }
  });

  test("an invalid cursor is refused", async () => {
    const client = await begin();
    for (const cursor of ["x", "", btoa("tasks:x"), btoa("tools:1:2"), 7, null, {}, "%%%"]) {
      const { error } = await messageIn(await client.request("tasks/list", { cursor }));
      expect({ cursor, code: error?.code }).toEqual({ cursor, code: -32602 });
    }
  });

  test.each(["2025-06-18", "2025-03-26", "2024-11-05"])("%s has none", async (version) => {
    const client = await begin({ version });
    for (const method of ["tasks/get", "tasks/list", "tasks/cancel", "tasks/result"]) {
      const { error } = await messageIn(await client.request(method, { taskId: "x" }));
      expect({ method, code: error?.code }).toEqual({ method, code: -32601 });
    }
    const own = { capabilities: { ...ABLE, tasks: { requests: { elicitation: { create: {} } } } } };
    const able = await begin({ version, ...own });
    const events = await planned(able, ELICIT);
    expect((await events.message())["params"]).not.toHaveProperty("task");
  });
});
