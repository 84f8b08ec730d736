import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { bundle } from "../../bundle.gen.ts";
import { TaskStore } from "../../../src/server/features/tasks/task-store.ts";
import {
  accept,
  callOf,
  clock,
  limited,
  prepare,
  SAID,
  textIn,
  type Json,
  send,
} from "../../worker/calls/client.ts";
import { beginTask, objectOf, taskOf, updateTask, withTasks } from "../../worker/calls/faults.ts";
import { ELICIT, HOUR, http, NIGHT, saidIn, steps } from "../../worker/calls/plans.ts";
import { later, NAP, planned, until, ring } from "../../worker/calls/task-steps.ts";

/** Requests of tasks to their client, and its answers. */
prepare();

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

  test("answers that came before it was asked are used once, however often it runs", async () => {
    const asking = { do: "inputs", keys: ["a"] };
    const call = {
      name: "plan_always",
      arguments: steps(asking, { do: "sleep", ms: HOUR }, asking),
      inputResponses: { a: accept("early") },
    };
    const { taskId } = (await send("tools/call", call, withTasks)).result!;
    await later(taskId, HOUR);
    await until(taskId, "input_required");
    await updateTask(taskId, { a: accept("asked") });
    await ring(taskId, 0);
    const said = JSON.stringify(saidIn(await until(taskId, "completed")));
    expect(said).toMatch(/early.*slept.*asked/);
  });

  test.each<[what: string, steps: Json[], says: RegExp]>([
    ["", [ELICIT], /^[^.]* was updated after this call began, .* Call again\.$/],
    [
      " after it has acted",
      [http("POST", "/"), ELICIT],
      /^[^.]* was updated after this call began, so the call cannot continue\. .* outcome is unknown/,
    ],
  ])(
    "is not asked for any more by another build, with which the call cannot go on%s",
    async (_what, all, says) => {
      vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("ok"));
      const id = await planned(...all);
      await until(id, "input_required");
      const servlet = bundle.servlets.find(({ name }) => name === "durable")!;
      const { hash } = servlet;
      try {
        // As after a deploy.
        servlet.hash = "0".repeat(64);
        await evictDurableObject(objectOf(id));
        const task = await taskOf(id);
        expect(task).toMatchObject({ status: "failed" });
        expect(task["error"]["message"]).toMatch(says);
        expect(task).not.toHaveProperty("inputRequests");
      } finally {
        servlet.hash = hash;
      }
    },
  );

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

  test("answers that are too large together are refused, and can be mended", async () => {
    limited({ hostBytes: 1_000_000 });
    const large = accept("x".repeat(600_000));
    const id = await planned({ do: "inputs", keys: ["a", "b"] });
    await until(id, "input_required");
    expect((await updateTask(id, { a: large })).error).toBeUndefined();
    expect((await updateTask(id, { b: large })).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining("must not exceed 1000000 characters together"),
    });
    expect((await updateTask(id, { b: accept("B") })).error).toBeUndefined();
    expect(saidIn(await until(id, "completed"))).toEqual([{ a: large, b: accept("B") }]);
  });

  test("answers to unknown asks are ignored", async () => {
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
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("tick"));
    const post = "https://world.example/tick";
    const id = await beginTask("rounds_always", { rounds: 3, key: "who", post });
    for (const name of ["Ada", "Bob", "Eve"]) {
      const { inputRequests } = await until(id, "input_required");
      const [key] = Object.keys(inputRequests);
      asked.push(key!);
      // Earlier answers are not taken for this one.
      const others = asked.slice(0, -1).map((one) => [one, accept("nobody", "name")]);
      await updateTask(id, { ...Object.fromEntries(others), [key!]: accept(name, "name") });
    }
    expect(asked[0]).toBe("who");
    expect(new Set(asked).size).toBe(3);
    const { result } = await until(id, "completed");
    expect(textIn({ status: 200, result })).toBe("Ada and Bob and Eve");
  });

  test("keys that look like those of others are distinguished", async () => {
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
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("tick"));
    const post = "https://world.example/tick";
    const id = await beginTask("rounds_always", { rounds: 10, key: "who", post });
    for (let round = 0; round < 2; round++) {
      const { inputRequests } = await until(id, "input_required");
      const [key] = Object.keys(inputRequests);
      await updateTask(id, { [key!]: accept("Ada", "name") });
    }
    expect(await until(id, "failed")).toMatchObject({
      error: { message: expect.stringMatching(/too often in one call \(limit 2\)/) },
    });
  });

  test("a client that cannot be asked has a failed task", async () => {
    const sent = { capabilities: { ...withTasks.capabilities, elicitation: undefined } };
    const { result } = await callOf("plan_always", steps(NAP, ELICIT), sent);
    expect(await until(result!["taskId"], "failed")).toMatchObject({
      error: { code: -32021, data: { requiredCapabilities: { elicitation: {} } } },
    });
  });

  test("so has one whose servlet returns what it asks", async () => {
    const sent = { capabilities: { ...withTasks.capabilities, elicitation: undefined } };
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("tick"));
    const post = "https://world.example/tick";
    const { result } = await callOf("rounds_always", { rounds: 1, post }, sent);
    expect(await until(result!["taskId"], "failed")).toMatchObject({
      error: { code: -32021, data: { requiredCapabilities: { elicitation: {} } } },
    });
  });

  test("an ask without an answer by its deadline is cancelled, by an alarm", async () => {
    const id = await planned({ ...ELICIT, timeout: 2 * HOUR }, { do: "config" });
    await until(id, "input_required");
    await later(id, 2 * HOUR);
    await runDurableObjectAlarm(objectOf(id));
    expect(saidIn(await until(id, "completed"))).toEqual(["cancel", "hi"]);
  });

  test("a deadline begins when the client can see the question, however late an alarm comes", async () => {
    const id = await planned(NIGHT, { ...ELICIT, timeout: HOUR });
    await later(id, 10 * HOUR, 5 * HOUR);
    await until(id, "input_required");
    const before = Date.now();
    await updateTask(id, { ask_2: accept("in time") });
    await runDurableObjectAlarm(objectOf(id));
    const { result } = await until(id, "completed");
    expect(saidIn({ result })).toEqual(["slept", "in time"]);
    const [slept] = result["structuredContent"].times;
    expect(before - slept).toBeLessThan(HOUR);
  });

  test("a deadline begins when the question is kept, however long it took to seal it", async () => {
    const id = await planned(NIGHT, { ...ELICIT, timeout: HOUR });
    const encrypt = crypto.subtle.encrypt.bind(crypto.subtle);
    const { suspend } = TaskStore.prototype;
    // What is sealed later, such as the list of its person's calls, counts no more.
    let isKept = false;
    vi.spyOn(TaskStore.prototype, "suspend").mockImplementation(async function (
      this: TaskStore,
      ...given
    ) {
      const kept = await suspend.apply(this, given);
      isKept = clock.aheadMs > 0;
      return kept;
    });
    const slow = vi.spyOn(crypto.subtle, "encrypt").mockImplementation((...given) => {
      if (clock.aheadMs > 0 && !isKept) clock.aheadMs += HOUR / 10;
      return encrypt(...given);
    });
    await later(id, 10 * HOUR);
    await until(id, "input_required");
    slow.mockRestore();
    const due = await runInDurableObject(objectOf(id), (_task, { storage }) => storage.getAlarm());
    expect(due! - Date.now()).toBeGreaterThan(0.95 * HOUR);
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

describe("a servlet that returns that it needs input", () => {
  const back = (...keys: string[]) => ({ do: "back", keys });

  test("but asks nothing is called again, with its state", async () => {
    const id = await beginTask("plan_back_always", steps(NAP, back(), { do: "config" }));
    const { result } = await until(id, "completed");
    expect(result["structuredContent"].said.at(-1)).toBe("hi");
  });

  test("and asks nothing each time is stopped", async () => {
    limited({ inputRounds: 5 });
    const rest = Array.from({ length: 8 }, () => back());
    const id = await beginTask("plan_back_always", steps(NAP, ...rest));
    const { error } = await until(id, "failed");
    expect(error.message).toContain("(limit 5)");
  });
});
