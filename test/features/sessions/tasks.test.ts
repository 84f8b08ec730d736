import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { accept, clock, limited, prepare, type Json } from "../../worker/calls/client.ts";
import { objectOf } from "../../worker/calls/faults.ts";
import {
  Events,
  messageIn,
  resultIn,
  type SessionClient,
} from "../../worker/mcp/legacy/session-client.ts";
import {
  about,
  begin,
  objectOf as sessionOf,
  RELATED,
  resultOf,
  started,
  startedTask,
  until,
} from "../../worker/mcp/legacy/session-steps.ts";

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
