import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { accept, callOf, clock, limited, prepare } from "../../worker/calls/client.ts";
import {
  objectOf,
  pause,
  taskOf,
  updateTask,
  withTasks,
  type Instance,
} from "../../worker/calls/faults.ts";
import { ELICIT, HOUR, http, NIGHT, saidIn, steps } from "../../worker/calls/plans.ts";
import { NAP, planned, until } from "../../worker/calls/task-steps.ts";

/** Tasks whose alarms are lost or early, and clocks that are set back. */
prepare();

/** Waits until the task waits, with an alarm in so many ms. */
const waiting = (id: string, ms: number) =>
  vi.waitFor(async () => expect(await alarmIn(id)).toBeGreaterThan(ms - HOUR / 2), 10_000);

const alarmOf = (id: string) =>
  runInDurableObject(objectOf(id), (_instance, { storage }) => storage.getAlarm());

/** How long it is until the task's alarm, in ms. */
const alarmIn = async (id: string) => ((await alarmOf(id)) ?? -Infinity) - Date.now();

const loseAlarm = (id: string) =>
  runInDurableObject(objectOf(id), (_instance, { storage }) => storage.deleteAlarm());

/** Requests of servlets are answered when `isThere` becomes true. */
function answering() {
  const answer = { isThere: false };
  const sent = vi.spyOn(globalThis, "fetch").mockImplementation(async () => {
    while (!answer.isThere) await pause();
    return new Response("there");
  });
  const asked = () => vi.waitFor(() => expect(sent).toHaveBeenCalled(), 10_000);
  return { answer, asked };
}

describe("a task whose alarm is lost goes on when it is looked at", () => {
  test("asleep", async () => {
    const id = await planned(NIGHT);
    await waiting(id, 10 * HOUR);
    await loseAlarm(id);
    await taskOf(id);
    await waiting(id, 10 * HOUR);
    await loseAlarm(id);
    clock.aheadMs = 10 * HOUR;
    await taskOf(id);
    expect(await runDurableObjectAlarm(objectOf(id))).toBe(true);
    expect(saidIn(await until(id, "completed"))).toEqual(["slept"]);
  });

  test("with a question whose time is over", async () => {
    const id = await planned({ ...ELICIT, timeout: HOUR });
    await until(id, "input_required");
    await loseAlarm(id);
    clock.aheadMs = HOUR;
    await taskOf(id);
    await runDurableObjectAlarm(objectOf(id));
    await runDurableObjectAlarm(objectOf(id));
    expect(saidIn(await until(id, "completed"))).toEqual(["cancel"]);
  });

  test("waiting for room", async () => {
    limited({ waitingBytes: 1, shortageMs: 10 * HOUR });
    const { answer, asked } = answering();
    const other = callOf("plan_never", steps(http("GET", "/")));
    await asked();
    // A run that may not wait for long in its object is suspended.
    const { waitMs } = limits;
    limited({ waitMs: 1 });
    const id = await planned(NAP);
    await waiting(id, 10 * HOUR);
    limited({ waitMs });
    answer.isThere = true;
    await other;
    await loseAlarm(id);
    clock.aheadMs = 20 * HOUR;
    await taskOf(id);
    await runDurableObjectAlarm(objectOf(id));
    expect(saidIn(await until(id, "completed"))).toEqual(["slept"]);
  });

  test("which is over, so that it is deleted one day", async () => {
    expect.hasAssertions();
    const id = await planned({ do: "config" });
    await until(id, "completed");
    await loseAlarm(id);
    await taskOf(id);
    await waiting(id, limits.endedJournalMs);
  });

  test("but not while it runs", async () => {
    const { answer, asked } = answering();
    const id = await planned(http("GET", "/"));
    await asked();
    await loseAlarm(id);
    await taskOf(id);
    expect(await alarmOf(id)).toBeNull();
    answer.isThere = true;
    expect(saidIn(await until(id, "completed"))).toEqual([[200, "there"]]);
  });
});

test("an alarm that goes off before a sleep is over is set for its end, and for no time before", async () => {
  const id = await planned(NIGHT);
  await waiting(id, 10 * HOUR);
  const due = (await alarmOf(id))!;
  await runInDurableObject(objectOf(id), (instance) =>
    (instance as unknown as Instance).alarm({ scheduledTime: due - 1 }),
  );
  expect(await alarmOf(id)).toBe(due);
});

test("a question's time ends with a whole millisecond", async () => {
  const id = await planned({ ...ELICIT, timeout: HOUR + 0.25 });
  await until(id, "input_required");
  const due = (await alarmOf(id))!;
  await runInDurableObject(objectOf(id), (instance) =>
    (instance as unknown as Instance).alarm({ scheduledTime: due }),
  );
  await runDurableObjectAlarm(objectOf(id));
  expect(saidIn(await until(id, "completed"))).toEqual(["cancel"]);
});

describe("where the clock is set back by hours, they are not added", () => {
  const back = 5 * HOUR;
  // The clocks of this file are ahead at first, so that they can be set back.
  const begun = async (...all: object[]) => {
    clock.aheadMs = back;
    const id = await planned(...all);
    await runDurableObjectAlarm(objectOf(id));
    return id;
  };
  const setBack = () => void (clock.aheadMs = 0);

  test("to a sleep, which is as long for the servlet as it should be", async () => {
    const id = await begun(NIGHT, NIGHT);
    setBack();
    await taskOf(id);
    expect(await alarmIn(id)).toBeLessThanOrEqual(10 * HOUR);
    expect(await alarmIn(id)).toBeGreaterThan(9.9 * HOUR);
    for (let nights = 1; nights <= 2; nights++) {
      clock.aheadMs = nights * 10 * HOUR;
      await runDurableObjectAlarm(objectOf(id));
    }
    const { result } = await until(id, "completed");
    expect(saidIn({ result })).toEqual(["slept", "slept"]);
    const [first, second] = result["structuredContent"].times;
    expect(second - first).toBeGreaterThanOrEqual(10 * HOUR);
  });

  test.each([0, 1, 2])("to a sleep that is stored meanwhile (write %i)", async (write) => {
    clock.aheadMs = back;
    const id = await planned(NIGHT);
    const { encrypt } = crypto.subtle;
    let writes = 0;
    vi.spyOn(crypto.subtle, "encrypt").mockImplementation((...given) => {
      if (writes++ === write) setBack();
      return encrypt.apply(crypto.subtle, given);
    });
    await runDurableObjectAlarm(objectOf(id));
    expect(writes).toBeGreaterThan(write);
    // It is put right without anybody who looks at the task.
    await vi.waitFor(async () => expect(await alarmIn(id)).toBeGreaterThan(9 * HOUR), 10_000);
    expect(await alarmIn(id)).toBeLessThanOrEqual(10 * HOUR);
    clock.aheadMs = 10 * HOUR;
    await runDurableObjectAlarm(objectOf(id));
    expect(saidIn(await until(id, "completed"))).toEqual(["slept"]);
  });

  test("to a sleep, where it is set back again while that is put right", async () => {
    clock.aheadMs = 2 * back;
    const id = await planned(NIGHT);
    await runDurableObjectAlarm(objectOf(id));
    clock.aheadMs = back;
    const { encrypt } = crypto.subtle;
    vi.spyOn(crypto.subtle, "encrypt").mockImplementation((...given) => {
      setBack();
      return encrypt.apply(crypto.subtle, given);
    });
    await taskOf(id);
    expect(clock.aheadMs).toBe(0);
    await taskOf(id);
    expect(await alarmIn(id)).toBeLessThanOrEqual(10 * HOUR);
    clock.aheadMs = 10 * HOUR;
    await runDurableObjectAlarm(objectOf(id));
    expect(saidIn(await until(id, "completed"))).toEqual(["slept"]);
  });

  test("to the time at which the owner of a task that is over is told again", async () => {
    const id = await begun();
    await until(id, "completed");
    const set = await runInDurableObject(objectOf(id), (_instance, { storage }) =>
      vi.spyOn(storage, "setAlarm"),
    );
    setBack();
    await taskOf(id);
    expect(set.mock.calls[0]?.[0]).toBeLessThanOrEqual(Date.now());
  });

  test("to the time of a question", async () => {
    const id = await begun({ ...ELICIT, timeout: HOUR });
    await until(id, "input_required");
    setBack();
    await taskOf(id);
    expect(await alarmIn(id)).toBeLessThanOrEqual(HOUR);
    await updateTask(id, { ask_1: accept("in time") });
    await runDurableObjectAlarm(objectOf(id));
    expect(saidIn(await until(id, "completed"))).toEqual(["in time"]);
  });

  test("to the time of a question that nobody answers", async () => {
    const id = await begun({ ...ELICIT, timeout: HOUR });
    await until(id, "input_required");
    setBack();
    await taskOf(id);
    clock.aheadMs = HOUR;
    await runDurableObjectAlarm(objectOf(id));
    await runDurableObjectAlarm(objectOf(id));
    expect(saidIn(await until(id, "completed"))).toEqual(["cancel"]);
  });

  test("to the pause before a run is repeated that has died", async () => {
    vi.spyOn(globalThis, "fetch").mockImplementation(() => new Promise(() => {}));
    limited({ rerunMs: 10 * HOUR });
    clock.aheadMs = back;
    const { result } = await callOf("plan_always", steps(http("GET", "/")), withTasks);
    const id: string = result!["taskId"];
    runDurableObjectAlarm(objectOf(id)).catch(() => {});
    await waiting(id, 10 * HOUR);
    await runInDurableObject(objectOf(id), (_instance, state) =>
      state.abort("Instance dispose"),
    ).catch(() => {});
    setBack();
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("there"));
    await taskOf(id);
    expect(await alarmIn(id)).toBeLessThan(HOUR);
    // The room of the guest that died with its object is free after its longest wait, by the clock of before.
    clock.aheadMs = back + HOUR;
    await runDurableObjectAlarm(objectOf(id));
    expect(saidIn(await until(id, "completed"))).toEqual([[200, "there"]]);
  });

  test("in an object that lives on, whose clock does not go back: it ends where its caller's has", async () => {
    const { taskId: id } = (await callOf("plan_always", steps(NIGHT), withTasks)).result!;
    await waiting(id, 10 * HOUR);
    // The object of before is the one that compares.
    const instance = await runInDurableObject(objectOf(id), (one) => one);
    const seen = Date.now() - HOUR;
    const asked = async () => objectOf(id).get({ name: "anonymous", at: seen });
    expect(await asked().catch(String)).toContain("The clock was set back.");
    expect(await runInDurableObject(objectOf(id), (one) => one === instance)).toBe(false);
    // The next one goes by its own clock, whatever its caller's is.
    expect(await asked()).toBeDefined();
  });

  test("nor are minutes that machines may differ by taken from anything", async () => {
    const id = await begun(NIGHT);
    clock.aheadMs = back - limits.clockSlackMs / 2;
    const due = await alarmOf(id);
    await taskOf(id);
    expect(await alarmOf(id)).toBe(due);
  });
});
