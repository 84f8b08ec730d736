import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { accept, clock, prepare, send } from "../../worker/calls/client.ts";
import {
  objectOf,
  pause,
  taskOf,
  updateTask,
  withTasks,
  type Instance,
} from "../../worker/calls/faults.ts";
import { ELICIT, HOUR, NIGHT } from "../../worker/calls/plans.ts";
import { alarmIn, NAP, planned, ring, until } from "../../worker/calls/task-steps.ts";

/** How tasks end: they are cancelled, or over, and then forgotten. */
prepare();

const request = (method: string, taskId: string) => send(method, { taskId }, withTasks);
const cancel = (id: string) => request("tasks/cancel", id);

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
    vi.spyOn(globalThis, "fetch").mockImplementation(
      (_input, init) =>
        new Promise((_resolve, reject) => {
          isSent();
          init!.signal!.addEventListener("abort", () => {
            fetching.isStopped = true;
            reject(new Error("aborted"));
          });
        }),
    );
    const id = await planned({ do: "http", url: "https://world.example/slow" });
    while (!(await Promise.race([sent.then(() => true), pause().then(() => false)])));
    await expectCancelled(id);
    while (!fetching.isStopped) await pause();
    expect(await taskOf(id)).toMatchObject({ status: "cancelled" });
  });

  test("of one that sleeps ends it, and it does not wake", async () => {
    const id = await planned(NIGHT);
    await alarmIn(id, NIGHT.ms);
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
    await ring(id, limits.taskMs);
    await runInDurableObject(objectOf(id), async (_instance, { storage }) => {
      expect(storage.sql.exec("SELECT name FROM sqlite_master").toArray()).toEqual([]);
      expect(await storage.getAlarm()).toBeNull();
    });
    for (const method of ["tasks/get", "tasks/cancel"]) {
      const { error } = await request(method, id);
      expect(error).toMatchObject({
        code: -32602,
        message: expect.stringContaining(`Unknown task: ${id}`),
      });
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
    await alarmIn(id, limits.taskMs);
    await expectForgotten(id);
  });
});

test("a machine whose clock is behind believes the alarm, and does not set it again", async () => {
  const id = await planned(NAP);
  await until(id, "completed");
  await runInDurableObject(objectOf(id), async (instance, { storage }) => {
    const alarm = async () =>
      (instance as unknown as Instance).alarm({ scheduledTime: await storage.getAlarm() });
    await alarm(); // Its journal is dropped.
    await alarm();
    expect(storage.sql.exec("SELECT name FROM sqlite_master").toArray()).toEqual([]);
    expect(await storage.getAlarm()).toBeNull();
  });
});

test("an hour after its end, of a task only that is kept, and what it called", async () => {
  const id = await planned({ do: "inputs", keys: ["a"] }, { do: "config" });
  await until(id, "input_required");
  await updateTask(id, { a: accept("secret") });
  await until(id, "completed");
  await runInDurableObject(objectOf(id), async (instance, { storage }) => {
    const rows = (from: string) => storage.sql.exec(`SELECT * FROM ${from}`).toArray();
    const due = (await storage.getAlarm())!;
    expect(due - Date.now()).toBeLessThanOrEqual(limits.endedJournalMs);
    expect(rows("answers")).not.toEqual([]);
    await (instance as unknown as Instance).alarm({ scheduledTime: due });
    expect(rows("answers")).toEqual([]);
    expect(rows("intents")).toEqual([]);
    expect(rows("texts").map((row) => row["name"])).toEqual(["end", "subject"]);
    expect(await storage.getAlarm()).toBeGreaterThan(due);
  });
});

test("of a cancelled task nothing but that is kept", async () => {
  const id = await planned({ do: "config" }, { do: "elicit" });
  await until(id, "input_required");
  await cancel(id);
  await runInDurableObject(objectOf(id), (_instance, { storage }) => {
    const rows = (from: string) => storage.sql.exec(`SELECT * FROM ${from}`).toArray();
    expect(rows("answers")).toEqual([]);
    expect(rows("texts").map((row) => row["name"])).toEqual(["subject"]);
  });
});
