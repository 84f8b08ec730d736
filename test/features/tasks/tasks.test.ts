import { runDurableObjectAlarm } from "cloudflare:test";
import { beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import {
  accept,
  as,
  callOf,
  keyed,
  limited,
  prepare,
  send,
  type Sent,
} from "../../worker/calls/client.ts";
import { objectOf, taskOf, updateTask, withTasks } from "../../worker/calls/faults.ts";
import { ELICIT, HOUR, NIGHT, saidIn, steps } from "../../worker/calls/plans.ts";
import { later, NAP, planned, until } from "../../worker/calls/task-steps.ts";

/** Which calls outlive their request as tasks, and who sees them. */
prepare();

describe("which calls become tasks", () => {
  test("auto: not one that ends soon", async () => {
    const { result } = await callOf("plan", steps({ do: "config" }, NAP, NAP), withTasks);
    expect(result).toMatchObject({ resultType: "complete" });
    expect(saidIn({ result })).toEqual(["hi", "slept", "slept"]);
  });

  test("auto: one that lasts, when it begins to wait again", async () => {
    limited({ promoteAfterMs: 20 });
    const { result } = await callOf("plan", steps({ do: "config" }, NAP, NAP), withTasks);
    expect(result).toMatchObject({
      resultType: "task",
      taskId: expect.stringMatching(/^[0-9a-f]{64}$/),
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      ttlMs: limits.taskMs,
      pollIntervalMs: limits.taskPollMs,
    });
    expect(result).not.toHaveProperty("result");
    const task = await until(result!["taskId"], "completed");
    expect(saidIn(task)).toEqual(["hi", "slept", "slept"]);
    expect(task["result"]).not.toHaveProperty("resultType");
  });

  test("auto: one that is to sleep for longer, before it does", async () => {
    const began = performance.now();
    const { result } = await callOf("plan", steps(NAP, NIGHT, { do: "config" }), withTasks);
    expect(performance.now() - began).toBeLessThan(1000);
    await later(result!["taskId"], 10 * HOUR);
    expect(saidIn(await until(result!["taskId"], "completed"))).toEqual(["slept", "slept", "hi"]);
  });

  test("never: none, however long it lasts", async () => {
    limited({ promoteAfterMs: 0 });
    const { result } = await callOf("plan_never", steps(NAP, NAP), withTasks);
    expect(result).toMatchObject({ resultType: "complete" });
  });

  test("always: each, one that is over at once too", async () => {
    const { result } = await callOf("plan_always", steps({ do: "config" }), withTasks);
    expect(result).toMatchObject({ resultType: "task", status: "completed" });
    expect(result).not.toHaveProperty("result");
    expect(saidIn(await taskOf(result!["taskId"]))).toEqual(["hi"]);
  });

  test("always: one that fails at once too", async () => {
    const failed = await callOf("plan_always", steps({ do: "fail", message: "Oh." }), withTasks);
    const task = await taskOf(failed.result!["taskId"]);
    expect(task).toMatchObject({ status: "completed", result: { isError: true } });
    const broken = await callOf("protocol_error_job", {}, withTasks);
    expect(await taskOf(broken.result!["taskId"])).toMatchObject({
      status: "failed",
      error: { code: -32603, message: "This job ends with a protocol error on purpose." },
    });
  });

  test("always: none where the arguments are not valid, or there is no such tool", async () => {
    const { error } = await callOf("plan_nowhere", {}, withTasks);
    expect(error?.code).toBe(-32602);
  });

  test.each([["plan"], ["plan_always"]])("%s: none for a client without tasks", async (name) => {
    limited({ promoteAfterMs: 0 });
    const { result } = await callOf(name, steps(NAP, NAP));
    expect(result).toMatchObject({ resultType: "complete" });
  });

  test("required: refused for a client without tasks", async () => {
    const { status, error } = await callOf("plan_required", steps(NAP));
    expect(status).toBe(400);
    expect(error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
    });
    const { result } = await callOf("plan_required", steps(NAP), withTasks);
    expect(result).toMatchObject({ resultType: "task" });
  });

  test.each([["tasks/get"], ["tasks/update"], ["tasks/cancel"]])(
    "%s is refused for a client without tasks",
    async (method) => {
      const { error } = await send(method, { taskId: "x", inputResponses: {} });
      expect(error?.code).toBe(-32021);
    },
  );
});

describe("a new task says at once what it has come to", () => {
  beforeEach(() => limited({ firstRunMs: 10_000 }));

  test("it needs its user", async () => {
    const { result } = await callOf("plan_always", steps({ do: "elicit" }), withTasks);
    expect(result).toMatchObject({
      resultType: "task",
      status: "input_required",
      statusMessage: expect.stringMatching(/^waiting for the user: ./),
    });
    expect(result).not.toHaveProperty("inputRequests");
  });

  test("it sleeps until a time", async () => {
    const { result } = await callOf("plan_always", steps(NIGHT), withTasks);
    const [, wake = ""] = /^sleeping until (.+)$/.exec(result!["statusMessage"]) ?? [];
    expect(Date.parse(wake)).toBeGreaterThan(Date.parse(result!["createdAt"]));
  });
});

test("statusMessage is the newest progress and what the task waits for, and is gone when it is over", async () => {
  const progress = (message: string) => ({ do: "progress", message });
  const sent = { ...withTasks, meta: { progressToken: 7 } };
  const plan = steps(NAP, progress("one"), progress("two"), NIGHT, progress("three"), ELICIT);
  const { result } = await callOf("plan_always", plan, sent);
  const id = result!["taskId"];
  await later(id, 10 * HOUR);
  const asking = await until(id, "input_required");
  expect(asking).toMatchObject({
    statusMessage: expect.stringMatching(/^three; waiting for the user: ./),
  });
  expect(asking["lastUpdatedAt"] > asking["createdAt"]).toBe(true);
  await updateTask(id, { ask_1: accept("x"), ask_3: accept("x") });
  await runDurableObjectAlarm(objectOf(id));
  expect(await until(id, "completed")).not.toHaveProperty("statusMessage");
});

describe("a task that is not there", () => {
  const METHODS = ["tasks/get", "tasks/update", "tasks/cancel"];
  const unknown = { status: 200, error: { code: -32602, message: /^Unknown task: / } };
  const sendTo = (method: string, taskId: unknown, sent: Sent) =>
    send(method, { taskId, inputResponses: { ask_1: accept("x") } }, { ...withTasks, ...sent });

  test.each(METHODS)("for another principal: %s", async (method) => {
    const server = await keyed("ada", "bob");
    const own = { ...withTasks, server, ...as("ada") };
    const { result } = await callOf("plan_always", steps(ELICIT), own);
    const id = result!["taskId"];
    const other = await sendTo(method, id, { server, ...as("bob") });
    expect(other).toMatchObject({ ...unknown, error: { code: -32602 } });
    expect(other.error?.message).toContain(`Unknown task: ${id}`);
    const anonymous = await sendTo(method, id, {});
    expect(anonymous.error?.message).toContain(`Unknown task: ${id}`);
    const { result: mine } = await send("tasks/get", { taskId: id }, own);
    expect(mine).toMatchObject({ taskId: id });
    expect(mine!["status"]).not.toBe("cancelled");
  });

  test.each(METHODS)("by an id that nobody has: %s", async (method) => {
    const known = await planned(ELICIT);
    const other = `${known.slice(0, -1)}${known.endsWith("0") ? "1" : "0"}`;
    const own = { ...withTasks, server: await keyed("ada"), ...as("ada") };
    const { result } = await callOf("plan_always", steps(ELICIT), own);
    const wellFormed = ["0".repeat(64), "f".repeat(64), other, String(result!["taskId"])];
    const messages = new Set<string>();
    for (const id of wellFormed) {
      messages.add((await sendTo(method, id, {})).error!.message.replace(id, "ID"));
    }
    // Nobody learns which tasks others have.
    expect([...messages]).toEqual([expect.stringMatching(/^Unknown task: ID\b/)]);
    for (const id of [...wellFormed, "nonsense", "../x", "x".repeat(5000), " "]) {
      const { status, error } = await sendTo(method, id, {});
      // Some are no header's value at all.
      expect([200, 400]).toContain(status);
      expect([-32602, -32020]).toContain(error?.code);
      expect(error?.message.length).toBeLessThan(200);
    }
  });

  test.each(METHODS)("by an invalid id: %s", async (method) => {
    for (const id of [undefined, null, 7, {}, []]) {
      const { error } = await sendTo(method, id, { headers: { "mcp-name": "x" } });
      expect([-32602, -32020]).toContain(error?.code);
    }
  });
});
