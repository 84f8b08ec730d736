import { describe, expect, test, vi } from "vitest";
import { Sealer } from "../../../src/durable/vault.ts";
import { responsesIn } from "../../../src/mcp/wire/answers.ts";
import type { Answers } from "../../../src/asks.ts";
import { limits } from "../../../src/limits.ts";
import { accept, callOf, clock, prepare, type Json } from "./client.ts";
import {
  answersTo,
  beginTask,
  Faults,
  finish,
  newWorld,
  nextAlarm,
  prepareFaults,
  type Server,
  taskOf,
  withTasks,
  type Death,
} from "./faults.ts";
import { ELICIT, http } from "./plans.ts";

vi.setConfig({ testTimeout: 30_000 });

/** What happens twice, at once, in the wrong order, or again and again. */
prepare();
const manifest = prepareFaults();

const TYPED = "typed: Who?";
const DEATHS: Death[] = ["at once", "with all others"];
const saidIn = (result: Json) => result["structuredContent"].said as unknown[];

/** Lets a call die wherever something is awaited, and looks at what comes of it. */
async function everywhere(
  begin: () => Promise<string>,
  look: (trial: { result: Json; world: Server; where: string }) => void,
): Promise<void> {
  const undisturbed = new Faults();
  newWorld();
  await finish(await begin(), undisturbed);
  for (const [fatal, place] of undisturbed.passed.entries()) {
    const death = DEATHS[fatal % 2]!;
    const world = newWorld();
    const { status, result } = await finish(await begin(), new Faults({ fatal, death }));
    const where = `${place}, place ${fatal}, ${death}`;
    expect({ where, status }).toEqual({ where, status: "completed" });
    look({ result, world, where });
  }
}

describe("a request that must not be repeated", () => {
  const steps = [http("POST", "/pay"), ELICIT, http("PATCH", "/pay")];

  test("is sent once at most, and the servlet is told where nobody knows what came of it", async () => {
    const unknowns: string[] = [];
    await everywhere(
      () => beginTask("plan_always", { steps }),
      ({ result, world, where }) => {
        const said = saidIn(result);
        for (const [at, line] of [
          [0, "POST /pay"],
          [2, "PATCH /pay"],
        ] as const) {
          const sent = world.seen.filter((one) => one.line === line).length;
          const isUnknown = typeof said[at] === "string";
          if (isUnknown) unknowns.push(where);
          const message = /outcome of the HTTP request to world\.example is unknown/;
          const right = isUnknown ? message.test(String(said[at])) : said[at];
          const expected = isUnknown ? true : [200, `answer to ${line}`];
          expect({ where, right }).toEqual({ where, right: expected });
          expect(isUnknown ? [0, 1] : [1]).toContain(sent);
        }
        expect(said[1]).toBe(TYPED);
      },
    );
    expect(unknowns.length).toBeGreaterThan(3);
    for (const where of unknowns) expect(where).toMatch(/intend|fetch|keep|seal|suspend|end/);
  });

  test("is repeated under its key where the manifest allows it", async () => {
    manifest.resend_requests = true;
    try {
      let repeated = 0;
      await everywhere(
        () => beginTask("plan_always", { steps }),
        ({ result, world }) => {
          expect(saidIn(result)).toEqual([
            [200, "answer to POST /pay"],
            TYPED,
            [200, "answer to PATCH /pay"],
          ]);
          expect([...world.done.values()].map(({ line }) => line)).toEqual([
            "POST /pay",
            "PATCH /pay",
          ]);
          expect(world.seen.length).toBeLessThanOrEqual(3);
          repeated += world.seen.length - 2;
        },
      );
      expect(repeated).toBeGreaterThan(0);
    } finally {
      delete manifest.resend_requests;
    }
  });

  test("has a key of its own in each call of a servlet that is called anew", async () => {
    manifest.resend_requests = true;
    try {
      const args = { rounds: 1, post: "https://world.example/tick" };
      await everywhere(
        () => beginTask("rounds_always", args),
        ({ result, world, where }) => {
          expect(result["content"][0].text).toBe("typed: Name 1?");
          expect({ where, keys: world.done.size }).toEqual({ where, keys: 2 });
          expect(world.seen.length).toBeLessThanOrEqual(3);
        },
      );
    } finally {
      delete manifest.resend_requests;
    }
  });
});

const STEPS = [ELICIT, { do: "inputs", keys: ["a", "b"] }, http("POST", "/a"), { do: "random" }];

describe("what comes twice", () => {
  const expectWhole = (result: Json, world: Server) => {
    expect(saidIn(result)).toEqual([
      TYPED,
      answersTo({
        a: { method: "elicitation/create", params: { message: "What?" } },
        b: { method: "elicitation/create", params: { message: "What?" } },
      }),
      [200, "answer to POST /a"],
      true,
    ]);
    expect(world.seen).toHaveLength(1);
  };

  test.each([["one after the other"], ["at once"]])("alarms, %s", async (how) => {
    expect.hasAssertions();
    const world = newWorld();
    const faults = new Faults();
    const id = await beginTask("plan_always", { steps: [{ do: "sleep", ms: 9e6 }, ...STEPS] });
    const { result } = await finish(id, faults, async () => {
      await faults.within(id, async (instance) => {
        if (how === "at once") await Promise.all([instance.alarm(), instance.alarm()]);
        else for (let time = 0; time < 3; time++) await instance.alarm();
      });
    });
    expectWhole({ ...result, structuredContent: withoutFirst(result) }, world);
  });

  test("updates, at once and later", async () => {
    const world = newWorld();
    const faults = new Faults();
    const id = await beginTask("plan_always", { steps: STEPS });
    const sent: Answers[] = [];
    const { result } = await finish(id, faults, async () => {
      await faults.within(id, async (instance) => {
        const requests = (await instance.get({ name: "anonymous" }))!["inputRequests"] as
          | Json
          | undefined;
        if (requests !== undefined) sent.push(responsesIn(answersTo(requests)));
        const other = responsesIn({ ask_1: accept("too late") });
        const all = [...sent, ...sent, ...(requests === undefined ? [other] : [])];
        const answers = await Promise.all(
          all.map((one) => instance.update({ name: "anonymous" }, one)),
        );
        expect(answers).toEqual(all.map(() => ({})));
      });
    });
    expectWhole(result, world);
  });

  test("two updates at once that bring one answer each are both taken", async () => {
    for (const [first, second] of [
      ["a", "b"],
      ["b", "a"],
    ] as const) {
      const faults = new Faults();
      const id = await beginTask("plan_always", { steps: [{ do: "inputs", keys: ["a", "b"] }] });
      await faults.within(id, nextAlarm);
      await faults.within(id, async (instance) => {
        const given = (key: string) => responsesIn({ [key]: accept(key) });
        await Promise.all(
          [first, second].map((key) => instance.update({ name: "anonymous" }, given(key))),
        );
      });
      const { result } = await finish(id, faults);
      expect(saidIn(result)).toMatchObject([
        { a: { content: { value: "a" } }, b: { content: { value: "b" } } },
      ]);
    }
  });
});

const withoutFirst = ({ structuredContent }: Json) => ({
  ...structuredContent,
  said: structuredContent.said.slice(1),
});

describe("a cancel", () => {
  const steps = [ELICIT, http("PUT", "/a")];

  test.each([["first"], ["last"]])("and an answer at once: %s", async (when) => {
    const world = newWorld();
    const faults = new Faults();
    const id = await beginTask("plan_always", { steps });
    await faults.within(id, nextAlarm);
    await faults.within(id, async (instance) => {
      const requests = { ask_1: { method: "elicitation/create", params: {} } };
      const answers = responsesIn(answersTo(requests));
      const update = () => instance.update({ name: "anonymous" }, answers);
      const cancel = () => instance.cancel("anonymous");
      await Promise.all(when === "first" ? [cancel(), update()] : [update(), cancel()]);
    });
    expect(await finish(id, faults)).toMatchObject({ status: "cancelled", result: undefined });
    await faults.within(id, (instance) => instance.alarm());
    expect(await taskOf(id)).toMatchObject({ status: "cancelled" });
    expect(world.seen).toEqual([]);
  });

  test("while the servlet runs, wherever it is", async () => {
    const undisturbed = new Faults();
    undisturbed.meanwhile = { at: -1, work: async () => {} };
    newWorld();
    const all = [http("PUT", "/a"), { do: "sleep", ms: 3 }, { do: "sleep", ms: 9e6 }, ELICIT];
    await finish(await beginTask("plan_always", { steps: all }), undisturbed);
    for (const [at, place] of undisturbed.passed.entries()) {
      const world = newWorld();
      const faults = new Faults();
      const id = await beginTask("plan_always", { steps: all });
      faults.meanwhile = { at, work: (instance) => instance.cancel("anonymous") };
      const { status, result, error } = await finish(id, faults);
      const ending = place.endsWith(" end") && status === "completed";
      if (ending) continue;
      expect({ place, status, result, error }).toEqual({ place, status: "cancelled" });
      expect(world.seen.length).toBeLessThanOrEqual(1);
      await faults.within(id, async (instance) => instance.alarm());
      expect(await taskOf(id)).toMatchObject({ status: "cancelled" });
    }
  });
});

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
  const doubled = waits.slice(2).map((wait, at) => wait / waits[at + 1]!);
  for (const factor of doubled) expect(factor).toBeCloseTo(2, 0);
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
    Sealer.prototype.seal = async () => {
      throw new Error("the key ring is not there");
    };
    const { status, error } = await callOf("plan_always", { steps: [ELICIT] }, withTasks);
    Object.assign(Sealer.prototype, { seal });
    expect({ status, error }).toEqual({
      status: 500,
      error: { code: -32603, message: "Internal error" },
    });
  });
});
