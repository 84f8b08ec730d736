import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, test } from "vitest";
import { limits } from "../../../src/limits.ts";
import {
  accept,
  as,
  beginTool,
  callOf,
  clock,
  goOn,
  keyed,
  limited,
  prepare,
  SAID,
  send,
  textIn,
  type Json,
  type Sent,
} from "./client.ts";
import { beginTask, objectOf, taskOf, updateTask, withTasks } from "./faults.ts";

/** Calls that outlive their request, as clients see them; alarms go off by themselves here. */
prepare();

const HOUR = 3_600_000;
const ELICIT = { do: "elicit", message: "Who?" };
const NAP = { do: "sleep", ms: 30 };
const NIGHT = { do: "sleep", ms: 10 * HOUR };
const steps = (...all: Json[]) => ({ steps: all });
const planned = (...all: Json[]) => beginTask("plan_always", steps(...all));
const request = (method: string, taskId: unknown, sent: Sent = withTasks) =>
  send(method, { taskId }, sent);
const cancel = (id: string, sent: Sent = withTasks) => request("tasks/cancel", id, sent);
const { fetch } = globalThis;
afterEach(() => {
  globalThis.fetch = fetch;
});

/** Waits until the task has this status; gives it. */
async function until(id: string, status: string): Promise<Json> {
  for (let look = 0; look < 500; look++) {
    const task = await taskOf(id);
    if (task["status"] === status) return task;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error(`the task does not become ${status}: ${JSON.stringify(await taskOf(id))}`);
}

/** Waits until the task's alarm is at this distance from now, in ms, and lets it go off then. */
async function later(id: string, ms: number): Promise<void> {
  const object = objectOf(id);
  for (let look = 0; look < 500; look++) {
    const at = await runInDurableObject(object, (_instance, { storage }) => storage.getAlarm());
    if (at !== null && Math.abs(at - Date.now() - ms) < 60_000) break;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  clock.aheadMs += ms;
  expect(await runDurableObjectAlarm(object)).toBe(true);
}

const saidIn = (task: Json) => task["result"]?.structuredContent.said;

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
      status: "working",
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

  test("auto: one that asks stays a call", async () => {
    const round = await beginTool("plan", steps(ELICIT), withTasks);
    expect(saidIn(await goOn(round, { ask_1: accept("x") }))).toEqual(["x"]);
  });

  test("auto: one that has asked may become one when it goes on", async () => {
    const round = await beginTool("plan", steps(ELICIT, NIGHT), withTasks);
    const { result } = await goOn(round, { ask_1: accept("x") });
    expect(result).toMatchObject({ resultType: "task" });
    await later(result!["taskId"], 10 * HOUR);
    expect(saidIn(await until(result!["taskId"], "completed"))).toEqual(["x", "slept"]);
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

  test("a servlet that returns what it asks is asked for by its request, then goes on as a task", async () => {
    const round = await beginTool("test_tool_with_task", {}, withTasks);
    const { result } = await goOn(round, { user_name: accept("Ada", "name") });
    expect(result).toMatchObject({ resultType: "task" });
    const task = await until(result!["taskId"], "completed");
    expect(textIn({ status: 200, result: task["result"] })).toBe("Hello, Ada!");
  });
});

test("statusMessage is the newest progress, and is gone when the task is over", async () => {
  const progress = (message: string) => ({ do: "progress", message });
  const sent = { ...withTasks, meta: { progressToken: 7 } };
  const plan = steps(NAP, progress("one"), progress("two"), NIGHT, progress("three"), ELICIT);
  const { result } = await callOf("plan_always", plan, sent);
  const id = result!["taskId"];
  await later(id, 10 * HOUR);
  const asking = await until(id, "input_required");
  expect(asking).toMatchObject({ statusMessage: "three" });
  expect(asking["lastUpdatedAt"] > asking["createdAt"]).toBe(true);
  await updateTask(id, { ask_1: accept("x"), ask_3: accept("x") });
  await runDurableObjectAlarm(objectOf(id));
  expect(await until(id, "completed")).not.toHaveProperty("statusMessage");
});

describe("input in the middle", () => {
  test("is asked for, and given bit by bit", async () => {
    const id = await planned({ do: "inputs", keys: ["a", "b"] }, { do: "sample" });
    const first = await until(id, "input_required");
    expect(Object.keys(first["inputRequests"])).toEqual(["a", "b"]);
    expect(await updateTask(id, { b: accept("B") })).toMatchObject({
      result: { resultType: "complete" },
    });
    expect(Object.keys((await taskOf(id))["inputRequests"])).toEqual(["a"]);
    await updateTask(id, { b: accept("other"), a: accept("A") });
    const second = await until(id, "input_required");
    expect(Object.keys(second["inputRequests"])).toEqual(["ask_2"]);
    await updateTask(id, { ask_2: SAID, a: accept("late") });
    const task = await until(id, "completed");
    expect(saidIn(task)).toEqual([{ a: accept("A"), b: accept("B") }, SAID.content]);
    expect(task).not.toHaveProperty("inputRequests");
  });

  test("two updates at once are both taken", async () => {
    const id = await planned({ do: "inputs", keys: ["a", "b"] });
    await until(id, "input_required");
    await Promise.all(["a", "b"].map((key) => updateTask(id, { [key]: accept(key) })));
    expect(saidIn(await until(id, "completed"))).toEqual([{ a: accept("a"), b: accept("b") }]);
  });

  test("of two answers at once to one question, one counts", async () => {
    const id = await planned(ELICIT, { do: "elicit", message: "And?" });
    await until(id, "input_required");
    const both = ["one", "two"].map((value) => updateTask(id, { ask_1: accept(value) }));
    for (const answer of await Promise.all(both)) expect(answer.error).toBeUndefined();
    const next = await until(id, "input_required");
    expect(Object.keys(next["inputRequests"])).toEqual(["ask_2"]);
    await updateTask(id, { ask_2: accept("last") });
    const said = saidIn(await until(id, "completed"));
    expect(["one", "two"]).toContain(said[0]);
    expect(said[1]).toBe("last");
  });

  test.each<[wrong: unknown, message: RegExp]>([
    [{ ask_1: { action: "yes" } }, /ask_1 must have an action/],
    [{ ask_1: accept(7) }, /ask_1 does not fit what was asked/],
    [{ ask_1: null }, /ask_1 must be an object/],
    [{ ask_1: 7 }, /ask_1 must be an object/],
    [null, /inputResponses must be an object/],
    [undefined, /inputResponses must be an object/],
    ["x", /inputResponses must be an object/],
    [[], /inputResponses must be an object/],
  ])("answers that are wrong are refused, and can be mended: %j", async (wrong, message) => {
    const id = await planned(ELICIT);
    await until(id, "input_required");
    const { status, error } = await updateTask(id, wrong);
    expect(status).toBe(200);
    expect(error).toMatchObject({ code: -32602, message: expect.stringMatching(message) });
    await updateTask(id, { ask_1: accept("right") });
    expect(saidIn(await until(id, "completed"))).toEqual(["right"]);
  });

  test("answers to what was not asked are ignored", async () => {
    const id = await planned(ELICIT);
    const asking = await until(id, "input_required");
    const others = { ask_2: accept("x"), constructor: accept("y"), "": accept("z") };
    expect((await updateTask(id, others)).error).toBeUndefined();
    expect((await updateTask(id, {})).error).toBeUndefined();
    expect((await taskOf(id))["inputRequests"]).toEqual(asking["inputRequests"]);
  });

  test("answers while nothing is asked are ignored", async () => {
    const id = await planned(NIGHT, ELICIT);
    expect((await updateTask(id, { ask_2: accept("early") })).error).toBeUndefined();
    await later(id, 10 * HOUR);
    expect(await until(id, "input_required")).toMatchObject({ status: "input_required" });
  });

  test("a key that a servlet uses again is another one for the client", async () => {
    const asked: string[] = [];
    globalThis.fetch = async () => new Response("tick");
    const post = "https://world.example/tick";
    const id = await beginTask("rounds_always", { rounds: 3, key: "who", post });
    for (const name of ["Ada", "Bob", "Eve"]) {
      const { inputRequests } = await until(id, "input_required");
      const [key] = Object.keys(inputRequests);
      asked.push(key!);
      // What was answered before is not taken for this one.
      const others = asked.slice(0, -1).map((one) => [one, accept("nobody", "name")]);
      await updateTask(id, { ...Object.fromEntries(others), [key!]: accept(name, "name") });
    }
    expect(asked[0]).toBe("who");
    expect(new Set(asked).size).toBe(3);
    const { result } = await until(id, "completed");
    expect(textIn({ status: 200, result })).toBe("Ada and Bob and Eve");
  });

  test("keys that look like those of others are told apart", async () => {
    const keys = [["a"], ["a"], ["a-2", "a"], ["a-2", "a-3", "a"]];
    const id = await planned(...keys.map((some) => ({ do: "inputs", keys: some })));
    const asked: string[] = [];
    for (const some of keys) {
      const { inputRequests } = await until(id, "input_required");
      const now = Object.keys(inputRequests);
      expect(now).toHaveLength(some.length);
      asked.push(...now);
      await updateTask(id, Object.fromEntries(now.map((key) => [key, accept("x")])));
    }
    expect(new Set(asked).size).toBe(asked.length);
    const said: Json[] = saidIn(await until(id, "completed"));
    expect(said.map((one) => Object.keys(one))).toEqual(keys);
  });

  test("a servlet that returns what it asks for ever is stopped", async () => {
    limited({ inputRounds: 2 });
    globalThis.fetch = async () => new Response("tick");
    const post = "https://world.example/tick";
    const id = await beginTask("rounds_always", { rounds: 10, key: "who", post });
    for (let round = 0; round < 2; round++) {
      const { inputRequests } = await until(id, "input_required");
      const [key] = Object.keys(inputRequests);
      await updateTask(id, { [key!]: accept("Ada", "name") });
    }
    expect(await until(id, "failed")).toMatchObject({
      error: { message: "The servlet has asked 2 times in one call." },
    });
  });

  test("a client that cannot be asked has a failed task", async () => {
    const sent = { capabilities: { ...withTasks.capabilities, elicitation: undefined } };
    const { result } = await callOf("plan_always", steps(NAP, ELICIT), sent);
    expect(await until(result!["taskId"], "failed")).toMatchObject({
      error: { code: -32021, data: { requiredCapabilities: { elicitation: {} } } },
    });
  });

  test("what is not answered by its deadline is cancelled, by an alarm", async () => {
    const id = await planned({ ...ELICIT, timeout: 2 * HOUR }, { do: "config" });
    await until(id, "input_required");
    await later(id, 2 * HOUR);
    await runDurableObjectAlarm(objectOf(id));
    expect(saidIn(await until(id, "completed"))).toEqual(["cancel", "hi"]);
  });

  test("an answer after the deadline is too late", async () => {
    const id = await planned({ ...ELICIT, timeout: 2 * HOUR });
    await until(id, "input_required");
    clock.aheadMs += 3 * HOUR;
    expect((await updateTask(id, { ask_1: accept("late") })).error).toBeUndefined();
    await runDurableObjectAlarm(objectOf(id));
    expect(saidIn(await until(id, "completed"))).toEqual(["cancel"]);
  });
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
    expect(other.error?.message).toBe(`Unknown task: ${id}`);
    const anonymous = await sendTo(method, id, {});
    expect(anonymous.error?.message).toBe(`Unknown task: ${id}`);
    const { result: mine } = await send("tasks/get", { taskId: id }, own);
    expect(mine).toMatchObject({ taskId: id });
    expect(mine!["status"]).not.toBe("cancelled");
  });

  test.each(METHODS)("by an id that nobody has: %s", async (method) => {
    const known = await planned(ELICIT);
    const other = `${known.slice(0, -1)}${known.endsWith("0") ? "1" : "0"}`;
    const ids = ["0".repeat(64), "f".repeat(64), other, "nonsense", "../x", "x".repeat(5000), " "];
    for (const id of ids) {
      const { status, error } = await sendTo(method, id, {});
      // Some are no header's value at all.
      expect([200, 400]).toContain(status);
      expect([-32602, -32020]).toContain(error?.code);
      expect(error?.message.length).toBeLessThan(200);
    }
  });

  test.each(METHODS)("by what is no id: %s", async (method) => {
    for (const id of [undefined, null, 7, {}, []]) {
      const { error } = await sendTo(method, id, { headers: { "mcp-name": "x" } });
      expect([-32602, -32020]).toContain(error?.code);
    }
  });
});

describe("a cancel", () => {
  const expectCancelled = async (id: string) => {
    const { result, error } = await cancel(id);
    expect(error).toBeUndefined();
    expect(result).toMatchObject({ resultType: "complete" });
    const task = await taskOf(id);
    expect(task).toMatchObject({ status: "cancelled" });
    for (const gone of ["result", "error", "inputRequests"]) expect(task).not.toHaveProperty(gone);
    return task;
  };

  test("of one that runs stops it", async () => {
    const fetching = { isStopped: false };
    let isSent = () => {};
    const sent = new Promise<void>((resolve) => (isSent = resolve));
    globalThis.fetch = (given) =>
      new Promise((_resolve, reject) => {
        isSent();
        (given as Request).signal.addEventListener("abort", () => {
          fetching.isStopped = true;
          reject(new Error("aborted"));
        });
      });
    const id = await planned({ do: "http", url: "https://world.example/slow" });
    while (!(await Promise.race([sent.then(() => true), pause().then(() => false)])));
    await expectCancelled(id);
    while (!fetching.isStopped) await pause();
    expect(await taskOf(id)).toMatchObject({ status: "cancelled" });
  });

  test("of one that sleeps ends it, and it does not wake", async () => {
    const id = await planned(NIGHT);
    await later(id, 0).catch(() => {});
    await expectCancelled(id);
    clock.aheadMs += 11 * HOUR;
    await runDurableObjectAlarm(objectOf(id));
    expect(await taskOf(id)).toMatchObject({ status: "cancelled" });
  });

  test("of one that asks ends it, and answers are ignored from then on", async () => {
    const id = await planned(ELICIT);
    await until(id, "input_required");
    const before = await expectCancelled(id);
    expect((await updateTask(id, { ask_1: accept("x") })).error).toBeUndefined();
    expect((await updateTask(id, { ask_1: { action: "nonsense" } })).error).toBeUndefined();
    expect(await taskOf(id)).toEqual(before);
  });

  test("of one that is over leaves it as it is", async () => {
    const id = await planned(NAP);
    const before = await until(id, "completed");
    expect((await cancel(id)).error).toBeUndefined();
    expect(await taskOf(id)).toEqual(before);
  });

  test("twice is the same as once", async () => {
    const id = await planned(ELICIT);
    const before = await expectCancelled(id);
    expect(await expectCancelled(id)).toEqual(before);
  });
});

test("an update to a task that is over is ignored", async () => {
  const id = await planned(NAP, ELICIT);
  const { inputRequests } = await until(id, "input_required");
  const answers = { [Object.keys(inputRequests)[0]!]: accept("x") };
  await updateTask(id, answers);
  const before = await until(id, "completed");
  for (const late of [answers, { ask_2: { action: "nonsense" } }, {}]) {
    expect((await updateTask(id, late)).error).toBeUndefined();
  }
  expect(await taskOf(id)).toEqual(before);
});

describe("a task is forgotten when its time is over", () => {
  const expectForgotten = async (id: string) => {
    await later(id, limits.taskMs);
    await runInDurableObject(objectOf(id), async (_instance, { storage }) => {
      expect(storage.sql.exec("SELECT name FROM sqlite_master").toArray()).toEqual([]);
      expect(await storage.getAlarm()).toBeNull();
    });
    for (const method of ["tasks/get", "tasks/cancel"]) {
      const { error } = await request(method, id);
      expect(error).toMatchObject({ code: -32602, message: `Unknown task: ${id}` });
    }
    expect((await updateTask(id, {})).error?.code).toBe(-32602);
  };

  test("completed", async () => {
    expect.hasAssertions();
    const id = await planned(NAP);
    await until(id, "completed");
    await expectForgotten(id);
  });

  test("cancelled", async () => {
    expect.hasAssertions();
    const id = await planned(ELICIT);
    await cancel(id);
    await expectForgotten(id);
  });

  test("waiting for a client that never comes back", async () => {
    expect.hasAssertions();
    const id = await planned(ELICIT);
    await until(id, "input_required");
    await expectForgotten(id);
  });

  test("asleep for longer than tasks are kept", async () => {
    expect.hasAssertions();
    const id = await planned({ do: "sleep", ms: limits.taskMs * 3 });
    await expectForgotten(id);
  });
});

test("of a task that is over only its end is kept", async () => {
  const id = await planned({ do: "inputs", keys: ["a"] }, { do: "config" });
  await until(id, "input_required");
  await updateTask(id, { a: accept("secret") });
  await until(id, "completed");
  await runInDurableObject(objectOf(id), (_instance, { storage }) => {
    const rows = (from: string) => storage.sql.exec(`SELECT * FROM ${from}`).toArray();
    expect(rows("answers")).toEqual([]);
    expect(rows("intents")).toEqual([]);
    expect(rows("texts").map((row) => row["name"])).toEqual(["end"]);
  });
});

const pause = () => new Promise((resolve) => setTimeout(resolve, 1));
