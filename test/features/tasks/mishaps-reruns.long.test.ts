import { describe, expect, test, vi } from "vitest";
import { Sealer } from "../../../src/server/kernel/storage/vault.ts";
import { responsesIn } from "../../../src/server/kernel/asks/answers.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { callOf, clock, prepare, type Json } from "../../worker/calls/client.ts";
import {
  answersTo,
  beginTask,
  Faults,
  finish,
  newWorld,
  nextAlarm,
  prepareFaults,
  taskOf,
  withTasks,
} from "../../worker/calls/faults.ts";
import { ELICIT, http } from "../../worker/calls/plans.ts";

vi.setConfig({ testTimeout: 30_000 });

/** Tasks whose runs die, and whose key ring cannot be reached. */
prepare();
prepareFaults();

const TYPED = "typed: Who?";
const saidIn = (result: Json) => result["structuredContent"].said as unknown[];

test("a run that dies again and again ends as failed, and waits for longer each time", async () => {
  const world = newWorld();
  const id = await beginTask("plan_always", { steps: [http("PUT", "/a")] });
  const waits: number[] = [];
  for (let run = 0; run < limits.maxRuns; run++) {
    const faults = new Faults();
    const before = clock.aheadMs;
    // It dies when its request has been answered.
    faults.dieAt("after fetch");
    expect(await faults.within(id, nextAlarm)).toBe(false);
    waits.push(clock.aheadMs - before);
    expect(await taskOf(id)).toMatchObject({ status: "working" });
  }
  const { status, error, result } = await finish(id, new Faults());
  expect({ status, result }).toEqual({ status: "failed", result: undefined });
  expect(error).toEqual({
    code: -32603,
    message: expect.stringMatching(/stopped 6 times in a row without progress/),
  });
  expect(new Set(world.seen.map(({ key }) => key)).size).toBe(1);
  expect(world.seen).toHaveLength(limits.maxRuns);
  // Each is twice the one before, less what the machine takes for a run.
  for (const [at, wait] of waits.slice(2).entries()) expect(wait).toBeGreaterThan(waits[at + 1]!);
});

test("runs that die are not counted where each has got further", async () => {
  const world = newWorld();
  const steps = Array.from({ length: limits.maxRuns + 2 }, (_, at) => http("PUT", `/${at}`));
  const id = await beginTask("plan_always", { steps });
  for (const at of steps.keys()) {
    const faults = new Faults({ death: "with all others" });
    faults.dieAt("after keep");
    expect({ at, isAlive: await faults.within(id, nextAlarm) }).toEqual({ at, isAlive: false });
  }
  const { status, result } = await finish(id, new Faults());
  expect(status).toBe("completed");
  expect(saidIn(result)).toHaveLength(steps.length);
  expect(world.seen).toHaveLength(steps.length);
});

test("a question whose run died before it was seen is asked when the server is there again", async () => {
  newWorld();
  const steps = [http("GET", "/a"), { ...ELICIT, timeout: 60_000 }];
  const id = await beginTask("plan_always", { steps });
  const faults = new Faults({ death: "with all others" });
  faults.dieAt("before suspend");
  expect(await faults.within(id, nextAlarm)).toBe(false);
  clock.aheadMs += 9e6;
  await new Faults().within(id, nextAlarm);
  expect(await taskOf(id)).toMatchObject({ status: "input_required" });
  expect(saidIn((await finish(id, new Faults())).result)).toEqual([
    [200, "answer to GET /a"],
    TYPED,
  ]);
});

test("runs that end well in between are not counted", async () => {
  const asks = Array.from({ length: limits.maxRuns + 2 }, () => ELICIT);
  const id = await beginTask("plan_always", { steps: asks });
  for (let run = 0; run < asks.length; run++) {
    const faults = new Faults();
    faults.dieAt("before suspend");
    await faults.within(id, nextAlarm);
    await new Faults().within(id, nextAlarm);
    await new Faults().within(id, async (instance) => {
      const { inputRequests } = (await instance.get({ name: "anonymous" }))!;
      await instance.update({ name: "anonymous" }, responsesIn(answersTo(inputRequests as Json)));
    });
  }
  expect((await finish(id, new Faults())).status).toBe("completed");
});

describe("a key ring that cannot be reached", () => {
  const { seal, open } = Sealer.prototype;

  test("for once, makes no difference to a task", async () => {
    const steps = [http("PUT", "/a"), ELICIT, { do: "sleep", ms: 9e6 }, http("GET", "/b")];
    const calls = { count: 0, failing: -1, faults: new Faults() };
    const count = () => {
      if (calls.faults.isWatching && calls.count++ === calls.failing)
        throw new Error("the key ring is not there");
    };
    Sealer.prototype.seal = async function (bytes) {
      count();
      return seal.call(this, bytes);
    };
    Sealer.prototype.open = async function (bytes) {
      count();
      return open.call(this, bytes);
    };
    try {
      const trial = async (failing: number) => {
        const world = newWorld();
        const faults = new Faults({ fragile: true });
        calls.failing = -1;
        const id = await beginTask("plan_always", { steps });
        Object.assign(calls, { count: 0, failing, faults });
        const { status, result } = await finish(id, faults);
        return { status, said: saidIn(result ?? { structuredContent: {} }), done: world.done.size };
      };
      const undisturbed = await trial(-1);
      const { count: all } = calls;
      expect(undisturbed).toMatchObject({ status: "completed", done: 2 });
      for (let failing = 0; failing < all; failing++) {
        expect({ failing, ...(await trial(failing)) }).toEqual({ failing, ...undisturbed });
      }
    } finally {
      Object.assign(Sealer.prototype, { seal, open });
    }
  });

  test("when a task is made, makes none", async () => {
    const world = newWorld();
    Sealer.prototype.seal = async () => {
      throw new Error("the key ring is not there");
    };
    const { status, error } = await callOf(
      "plan_always",
      { steps: [http("POST", "/a")] },
      withTasks,
    );
    Object.assign(Sealer.prototype, { seal });
    expect({ status, error }).toEqual({
      status: 500,
      error: { code: -32603, message: expect.stringMatching(/^Internal error\./) },
    });
    expect(world.seen).toEqual([]);
  });
});
