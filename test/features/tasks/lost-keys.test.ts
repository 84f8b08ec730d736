import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { losableKeys } from "../../worker/lost-keys.ts";
import { accept, prepare } from "../../worker/calls/client.ts";
import { objectOf, taskOf, updateTask } from "../../worker/calls/faults.ts";
import { ELICIT, HOUR, NIGHT } from "../../worker/calls/plans.ts";
import { later, NAP, planned, until } from "../../worker/calls/task-steps.ts";
import { eventually } from "../../worker/waiting.ts";

/** Data that was sealed with a key that is gone. */
prepare();
const loseKeys = losableKeys();

const LOST = {
  status: "failed",
  error: { code: -32603, message: expect.stringMatching(/key .* is gone.*before you call/) },
};

describe("a task", () => {
  test("that waits for input has failed, and says so", async () => {
    const id = await planned(ELICIT);
    await until(id, "input_required");
    loseKeys();
    await evictDurableObject(objectOf(id));
    expect(await taskOf(id)).toMatchObject(LOST);
    expect((await updateTask(id, { ask_1: accept("Ada") })).error).toBeUndefined();
    expect(await taskOf(id)).toMatchObject(LOST);
  });

  test("that is sent answers has failed, and says so", async () => {
    const id = await planned(ELICIT);
    await until(id, "input_required");
    loseKeys();
    expect((await updateTask(id, { ask_1: accept("Ada") })).error).toBeUndefined();
    expect(await taskOf(id)).toMatchObject(LOST);
  });

  test("that sleeps fails when it wakes", async () => {
    const id = await planned(NIGHT);
    await eventually(async () => {
      const due = await runInDurableObject(objectOf(id), (_one, { storage }) => storage.getAlarm());
      expect(due).toBeGreaterThan(Date.now() + HOUR);
    });
    loseKeys();
    await later(id, 10 * HOUR);
    expect(await taskOf(id)).toMatchObject(LOST);
    // All that is left to be done is to forget it.
    await runDurableObjectAlarm(objectOf(id));
    expect(await taskOf(id)).toMatchObject(LOST);
  });

  test("that was completed has lost its result, and says so", async () => {
    const id = await planned(NAP);
    await until(id, "completed");
    loseKeys();
    await evictDurableObject(objectOf(id));
    const task = await taskOf(id);
    expect(task).toMatchObject(LOST);
    expect(task).not.toHaveProperty("result");
  });
});
