import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { accept, as, clock, keyed, limited, prepare } from "../../worker/calls/client.ts";
import { objectOf } from "../../worker/calls/faults.ts";
import { HOUR } from "../../worker/calls/plans.ts";
import { Events, resultIn, type SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import {
  about,
  begin,
  RELATED,
  resultOf,
  startedTask,
  until,
} from "../../worker/mcp/legacy/session-steps.ts";

/** Who may wait for what comes of a session's task, and for how long. */
prepare();

test("who does not want to wait for a result any more does not end the task", async () => {
  const client = await begin();
  const { taskId } = await startedTask(client, "confirm_delete", { filename: "a.txt" });
  const params = { taskId };
  const first = new Events(await client.request("tasks/result", params, "first"));
  const { id } = await first.message();
  await client.notify("notifications/cancelled", { requestId: "first" });
  expect(await first.rest()).toEqual([]);
  expect(await until(client, taskId, "input_required")).toBeDefined();
  expect((await client.answer(id, accept(true, "confirm"))).status).toBe(202);
  const { result } = await resultIn(await resultOf(client, taskId));
  expect(result.content[0].text).toBe("Deleted a.txt.");
});

test("who has lost the response asks again, and is asked what the task asks on the newer stream", async () => {
  const client = await begin();
  const { taskId } = await startedTask(client, "confirm_delete", { filename: "a.txt" });
  await until(client, taskId, "input_required");
  const lost = await resultOf(client, taskId);
  await lost.body?.cancel();
  const events = new Events(await resultOf(client, taskId));
  const { id, method } = await events.message();
  expect(method).toBe("elicitation/create");
  await client.answer(id, accept(true, "confirm"));
  expect((await events.message())["result"].content[0].text).toBe("Deleted a.txt.");
});

describe("another session of the same principal", () => {
  test("has the result of a task, too", async () => {
    const [client, other] = [await begin(), await begin()];
    const { taskId } = await startedTask(client, "slow_compute", { seconds: 0.02 });
    expect((await about(other, "tasks/get", taskId))["result"]).toMatchObject({ taskId });
    const { result } = await resultIn(await resultOf(other, taskId));
    expect(result._meta[RELATED]).toEqual({ taskId });
  });

  test("is asked what the task asks", async () => {
    const [client, other] = [await begin(), await begin()];
    const { taskId } = await startedTask(client, "confirm_delete", { filename: "a.txt" });
    await until(client, taskId, "input_required");
    const events = new Events(await resultOf(other, taskId));
    await other.answer((await events.message())["id"], accept(true, "confirm"));
    expect((await events.message())["result"].content[0].text).toBe("Deleted a.txt.");
  });

  test("leaves the task its own session, however many others there are", async () => {
    limited({ taskSessions: 2 });
    const [client, older, newer] = [await begin(), await begin(), await begin()];
    const { taskId } = await startedTask(client, "confirm_delete", { filename: "a.txt" });
    await until(client, taskId, "input_required");
    const own = new Events(await resultOf(client, taskId));
    await own.message();
    const question = async (session: SessionClient) => {
      const events = new Events(await resultOf(session, taskId));
      return { events, id: (await events.message())["id"] };
    };
    await question(older);
    const { events, id } = await question(newer);
    await newer.answer(id, accept(true, "confirm"));
    expect((await events.message())["result"]).toBeDefined();
    const told = [await own.message(), await own.message()];
    expect(told.at(-1)).toHaveProperty("result");
  });

  test("takes nothing from the one that waits already", async () => {
    const [client, other] = [await begin(), await begin()];
    const { taskId } = await startedTask(client, "confirm_delete", { filename: "a.txt" });
    const first = new Events(await resultOf(client, taskId));
    await first.message();
    const second = new Events(await resultOf(other, taskId));
    await other.answer((await second.message())["id"], accept(true, "confirm"));
    expect((await second.message())["result"].content[0].text).toBe("Deleted a.txt.");
    let last = await first.message();
    while (!("result" in last)) last = await first.message();
    expect(last["result"].content[0].text).toBe("Deleted a.txt.");
  });

  test("of another principal has nothing of it", async () => {
    const server = await keyed("ada", "bob");
    const ada = await begin({ server, ...as("ada") });
    const bob = await begin({ server, ...as("bob") });
    const { taskId } = await startedTask(ada, "slow_compute", { seconds: 0 });
    for (const method of ["tasks/get", "tasks/cancel", "tasks/result"]) {
      expect((await about(bob, method, taskId))["error"]).toMatchObject({ code: -32602 });
    }
    expect((await about(ada, "tasks/get", taskId))["result"]).toMatchObject({ taskId });
  });
});

test("a task is slept for, and told of, for as long as it lasts", async () => {
  const client = await begin();
  const { taskId } = await startedTask(client, "slow_compute", { seconds: 3600 });
  const waiting = await resultOf(client, taskId);
  const alarm = () =>
    runInDurableObject(objectOf(taskId), (_instance, { storage }) => storage.getAlarm());
  for (let look = 0; look < 500 && (await alarm())! < Date.now() + HOUR / 2; look++) {
    await runDurableObjectAlarm(objectOf(taskId));
  }
  clock.aheadMs += HOUR;
  await runDurableObjectAlarm(objectOf(taskId));
  const { result } = await resultIn(waiting);
  expect(result.content[0].text).toBe("Computed something in 3600 s.");
});
