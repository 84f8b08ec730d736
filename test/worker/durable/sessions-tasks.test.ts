import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { limits } from "../../../src/limits.ts";
import { accept, clock, limited, prepare, type Json } from "./client.ts";
import { objectOf } from "./faults.ts";
import { Events, messageIn, resultIn, type SessionClient } from "./session-client.ts";
import {
  about,
  begin,
  objectOf as sessionOf,
  RELATED,
  resultOf,
  started,
  startedTask,
  until,
} from "./session-steps.ts";

/** Tasks as 2025-11-25 has them: how they begin, go on, are kept, and are cancelled. */
prepare();

const listOf = async (client: SessionClient, params: Json = {}) =>
  resultIn(await client.request("tasks/list", params));

describe("a call as a task", () => {
  test("is answered with the task, and its result is there when it has ended", async () => {
    const client = await begin();
    const task = await startedTask(client, "slow_compute", { seconds: 0.01, label: "it" });
    expect(task).toEqual({
      taskId: expect.stringMatching(/^[0-9a-f]{64}$/),
      status: "working",
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      lastUpdatedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      ttl: limits.taskMs,
      pollInterval: limits.taskPollMs,
    });
    const { taskId } = task;
    const whole = {
      content: [{ type: "text", text: "Computed it in 0.01 s." }],
      _meta: { [RELATED]: { taskId } },
    };
    expect((await resultIn(await resultOf(client, taskId)))["result"]).toEqual(whole);
    const { result } = await about(client, "tasks/get", taskId);
    expect(result).toMatchObject({ taskId, status: "completed" });
    expect(result).not.toHaveProperty("result");
    // As often as it is asked for, and at once now.
    const again = await resultOf(client, taskId);
    expect(again.headers.get("content-type")).toBe("application/json");
    expect((await messageIn(again))["result"]).toEqual(whole);
  });

  test("is refused where its session has too many", async () => {
    limited({ sessionTasks: 1 });
    const client = await begin();
    await startedTask(client, "slow_compute", { seconds: 0.01, label: "it" });
    const { error } = await started(client, "slow_compute", { seconds: 0.01, label: "it" });
    expect(error).toMatchObject({ message: expect.stringContaining("limit 1") });
  });

  test("fails as the call would have failed", async () => {
    const client = await begin();
    const broken = await startedTask(client, "protocol_error_job");
    expect((await resultIn(await resultOf(client, broken["taskId"])))["error"]).toEqual({
      code: -32603,
      message: "This job ends with a protocol error on purpose.",
    });
    expect(await until(client, broken["taskId"], "failed")).toBeDefined();
  });

  test("of a tool that only can be one", async () => {
    const client = await begin();
    const { taskId } = await startedTask(client, "test_tool_with_task");
    const events = new Events(await resultOf(client, taskId));
    const { id, params } = await events.message();
    expect(params._meta[RELATED]).toEqual({ taskId });
    await client.answer(id, accept("Ada", "name"));
    expect((await events.message())["result"].content[0].text).toBe("Hello, Ada!");
  });

  test("asks on the stream of who waits for its result", async () => {
    const client = await begin();
    const { taskId } = await startedTask(client, "confirm_delete", { filename: "a.txt" });
    await until(client, taskId, "input_required");
    const events = new Events(await resultOf(client, taskId));
    const asked = await events.message();
    expect(asked).toMatchObject({
      id: expect.any(Number),
      method: "elicitation/create",
      params: { message: "Delete a.txt?", _meta: { [RELATED]: { taskId } } },
    });
    expect((await client.answer(asked["id"], accept(true, "confirm"))).status).toBe(202);
    expect((await events.message())["result"]).toEqual({
      content: [{ type: "text", text: "Deleted a.txt." }],
      _meta: { [RELATED]: { taskId } },
    });
    expect(await events.rest()).toEqual([]);
  });

  test("asks many things at once, each once", async () => {
    const client = await begin();
    const { taskId } = await startedTask(client, "multi_input");
    const events = new Events(await resultOf(client, taskId));
    const asked = [await events.message(), await events.message()];
    const form = (name: string) => ({ action: "accept", content: { name, confirm: true } });
    for (const { id, params } of asked) {
      await client.answer(id, form(params.message.includes("first") ? "Ada" : "Bob"));
    }
    const rest = await events.rest();
    expect(rest).toHaveLength(1);
    expect(rest[0]?.message?.["result"].content[0].text).toMatch(/Ada.*Bob/);
  });

  test("asks a client that takes JSON only on the session's own stream", async () => {
    const client = await begin({ headers: { accept: "application/json" } });
    const { taskId } = await startedTask(client, "confirm_delete", { filename: "a.txt" });
    const own = new Events(await client.listen());
    const waiting = resultOf(client, taskId);
    let asked = await own.message();
    while (asked["method"] !== "elicitation/create") asked = await own.message();
    await client.answer(asked["id"], accept(false, "confirm"));
    const response = await waiting;
    expect(response.headers.get("content-type")).toBe("application/json");
    expect((await messageIn(response))["result"].content[0].text).toBe("Kept a.txt.");
    await own.drop();
  });

  test("is none of its client's business in the list of tools of older versions", async () => {
    const client = await begin({ version: "2025-06-18" });
    const { result } = await started(client, "slow_compute", { seconds: 0 });
    expect(result.content[0].text).toContain("Computed");
  });
});

describe("notifications/tasks/status", () => {
  test("tells on the session's own stream how a task goes on", async () => {
    const client = await begin();
    const own = new Events(await client.listen());
    const { taskId } = await startedTask(client, "confirm_delete", { filename: "a.txt" });
    const events = new Events(await resultOf(client, taskId));
    await client.answer((await events.message())["id"], accept(true, "confirm"));
    await events.rest();
    const told: Json[] = [];
    while (told.at(-1)?.["params"].status !== "completed") told.push(await own.message());
    for (const { method, params } of told) {
      expect({ method, taskId: params.taskId }).toEqual({
        method: "notifications/tasks/status",
        taskId,
      });
    }
    const statuses = told.map(({ params }) => params.status);
    expect(statuses).toEqual(["working", "input_required", "working", "completed"]);
    await own.drop();
  });

  test("says what it waits for, with a question cut off where it is long", async () => {
    const client = await begin();
    const filename = "a".repeat(1000);
    const { taskId } = await startedTask(client, "confirm_delete", { filename });
    const { statusMessage } = await until(client, taskId, "input_required");
    expect(statusMessage).toMatch(/^waiting for the user: Delete a+$/);
    expect(statusMessage.length).toBeLessThan(limits.statusCharacters + 40);
  });

  test("is one of those that a client without polls hears, beside the progress", async () => {
    const client = await begin();
    const own = new Events(await client.listen());
    const args = { seconds: 0.01, label: "it" };
    const _meta = { progressToken: "p" };
    const { result } = await resultIn(await client.call("slow_compute", args, { task: {}, _meta }));
    const { taskId } = result.task;
    const heard: Json[] = [];
    while (heard.at(-1)?.["params"].status !== "completed") heard.push(await own.message());
    const progress = heard.filter(({ method }) => method === "notifications/progress");
    expect(progress.length).toBeGreaterThan(0);
    for (const { params } of progress) {
      expect(params).toMatchObject({ progressToken: "p", _meta: { [RELATED]: { taskId } } });
    }
    await own.drop();
  });

  test("progress comes on the stream of who waits for the result, and goes on after a restart", async () => {
    const client = await begin();
    const tell = (progress: number) => ({ do: "progress", progress, message: `at ${progress}` });
    const steps = [tell(1), { do: "elicit" }, tell(2), { do: "elicit" }, tell(3)];
    const _meta = { progressToken: 5 };
    const made = await resultIn(await client.call("plan_always", { steps }, { task: {}, _meta }));
    const { taskId } = made["result"].task;
    await until(client, taskId, "input_required");
    const events = new Events(await resultOf(client, taskId));
    const first = await events.message();
    await client.answer(first["id"], accept("x"));
    expect(await events.message()).toMatchObject({
      method: "notifications/progress",
      params: { message: "at 2", progressToken: 5, _meta: { [RELATED]: { taskId } } },
    });
    const { id: last, message: second } = (await events.next())!;
    await events.drop();
    await abortAllDurableObjects();
    const resumed = new Events(await client.listen(last));
    await client.answer(second!["id"], accept("y"));
    expect((await resumed.message())["params"]).toMatchObject({
      message: "at 3",
      progressToken: 5,
    });
    expect(await resumed.message()).toHaveProperty("result");
  });

  test("says how far it is", async () => {
    const client = await begin();
    const own = new Events(await client.listen());
    const args = { seconds: 0.01, label: "it" };
    await client.call("slow_compute", args, { task: {}, _meta: { progressToken: 1 } });
    let told = await own.message();
    while (!told["params"].statusMessage?.startsWith("Computing it")) told = await own.message();
    expect(told["params"]).toMatchObject({ status: "working" });
    await own.drop();
  });

  test("is not sent for calls that no client sees as tasks", async () => {
    const client = await begin();
    const own = new Events(await client.listen());
    const steps = [{ do: "elicit" }];
    const events = new Events(await client.call("plan", { steps }));
    await client.answer((await events.message())["id"], accept("x"));
    await events.rest();
    const { taskId } = await startedTask(client, "slow_compute", { seconds: 0 });
    expect((await own.message())["params"].taskId).toBe(taskId);
    const { result } = await listOf(client);
    expect(result.tasks.map((task: Json) => task["taskId"])).toEqual([taskId]);
    await own.drop();
  });
});

describe("how long a task is kept", () => {
  test.each([
    [{ ttl: 60_000 }, 60_000],
    [{ ttl: null }, limits.taskMs],
    [{}, limits.taskMs],
    [{ ttl: 2 * limits.taskMs }, limits.taskMs],
  ])("%j", async (task, ttl) => {
    const client = await begin();
    const made = await startedTask(client, "slow_compute", { seconds: 0 }, task);
    expect(made["ttl"]).toBe(ttl);
    await resultIn(await resultOf(client, made["taskId"]));
    const { result } = await about(client, "tasks/get", made["taskId"]);
    expect(result.ttl).toBe(ttl);
  });

  test("then it is gone, and from the list too", async () => {
    const client = await begin();
    const other = await startedTask(client, "slow_compute", { seconds: 0 });
    const task = await startedTask(client, "slow_compute", { seconds: 0 }, { ttl: 60_000 });
    const { taskId } = task;
    await until(client, taskId, "completed");
    clock.aheadMs += 61_000;
    await runDurableObjectAlarm(objectOf(taskId));
    for (const method of ["tasks/get", "tasks/cancel", "tasks/result"]) {
      const { error } = await about(client, method, taskId);
      expect(error).toMatchObject({
        code: -32602,
        message: expect.stringContaining("Unknown task"),
      });
    }
    for (let look = 0; look < 2; look++) {
      const { result } = await listOf(client);
      expect(result.tasks.map((one: Json) => one["taskId"])).toEqual([other["taskId"]]);
    }
    const kept = await runInDurableObject(sessionOf(client), (_instance, { storage }) =>
      storage.sql.exec("SELECT id FROM tasks").toArray(),
    );
    expect(kept).toEqual([{ id: other["taskId"] }]);
  });
});

test("tasks/list gives the tasks of the session, page by page", async () => {
  limited({ taskPage: 2 });
  const [client, other] = [await begin(), await begin()];
  const ids: string[] = [];
  for (let at = 0; at < 3; at++) {
    ids.push((await startedTask(client, "slow_compute", { seconds: 0 }))["taskId"]);
  }
  await startedTask(other, "slow_compute", { seconds: 0 });
  const first = (await listOf(client))["result"];
  const second = (await listOf(client, { cursor: first.nextCursor }))["result"];
  expect([...first.tasks, ...second.tasks].map(({ taskId }: Json) => taskId)).toEqual(ids);
  expect(first.tasks).toHaveLength(2);
  expect(second).not.toHaveProperty("nextCursor");
});

describe("tasks/cancel", () => {
  test("ends a task, once", async () => {
    const client = await begin();
    const own = new Events(await client.listen());
    const { taskId } = await startedTask(client, "slow_compute", { seconds: 3000 });
    const waiting = await resultOf(client, taskId);
    const { result } = await about(client, "tasks/cancel", taskId);
    expect(result).toMatchObject({ taskId, status: "cancelled" });
    expect((await resultIn(waiting))["error"]).toMatchObject({ message: expect.any(String) });
    expect((await resultIn(await resultOf(client, taskId)))["error"]).toBeDefined();
    const { error } = await about(client, "tasks/cancel", taskId);
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining("cancelled") });
    let told = await own.message();
    while (told["params"].status === "working") told = await own.message();
    expect(told["params"].status).toBe("cancelled");
    await own.drop();
  });

  test("withdraws what the task asks", async () => {
    const client = await begin();
    const { taskId } = await startedTask(client, "confirm_delete", { filename: "a" });
    const events = new Events(await resultOf(client, taskId));
    const { id } = await events.message();
    await about(client, "tasks/cancel", taskId);
    const [withdrawn, end] = (await events.rest()).map(({ message }) => message);
    expect(withdrawn).toMatchObject({
      method: "notifications/cancelled",
      params: { requestId: id },
    });
    expect(end).toHaveProperty("error");
    expect((await client.answer(id, accept(true, "confirm"))).status).toBe(202);
  });

  test("is refused when the task is over", async () => {
    const client = await begin();
    const { taskId } = await startedTask(client, "slow_compute", { seconds: 0 });
    await resultIn(await resultOf(client, taskId));
    const { error } = await about(client, "tasks/cancel", taskId);
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining("completed") });
  });
});
