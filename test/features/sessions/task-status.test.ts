import { abortAllDurableObjects } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { accept, prepare, type Json } from "../../worker/calls/client.ts";
import { Events, resultIn, type SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import {
  begin,
  RELATED,
  resultOf,
  startedTask,
  until,
} from "../../worker/mcp/legacy/session-steps.ts";

/** How the client of a session is notified of its tasks. */
prepare();

const listOf = async (client: SessionClient, params: Json = {}) =>
  resultIn(await client.request("tasks/list", params));

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
