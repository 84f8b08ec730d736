import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { responsesIn } from "../../../src/server/kernel/asks/answers.ts";
import { Sealer } from "../../../src/server/kernel/storage/vault.ts";
import type { Answers } from "../../../src/server/kernel/core/asks.ts";
import { accept, prepare, type Json } from "../../worker/calls/client.ts";
import {
  answersTo,
  beginTask,
  Faults,
  finish,
  newWorld,
  nextAlarm,
  objectOf,
  pause,
  prepareFaults,
  type Server,
  taskOf,
  type Death,
} from "../../worker/calls/faults.ts";
import { ELICIT, http } from "../../worker/calls/plans.ts";

vi.setConfig({ testTimeout: 30_000 });

/** Events that happen twice, at once, in the wrong order, or repeatedly. */
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

  test("is sent once at most, and the servlet gets an error if the outcome is unknown", async () => {
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
    // Once the answer is stored the call goes on, and may be sending when its object dies a moment later.
    for (const where of unknowns)
      expect(where).toMatch(/answer|intend|fetch|keep|seal|suspend|end/);
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

describe("requests that come twice", () => {
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

test("the places of a task are those in its own object, whatever others seal meanwhile", async () => {
  const passed = async () => {
    const faults = new Faults();
    newWorld();
    await finish(await beginTask("plan_always", { steps: [ELICIT] }), faults);
    return faults.passed;
  };
  const alone = await passed();
  const another = { isDone: false, sealed: 0 };
  const sealing = runInDurableObject(objectOf(env.TASKS!.newUniqueId().toString()), async () => {
    const key = { id: 1, bytes: new Uint8Array(32), until: Infinity };
    const sealer = new Sealer({ current: () => key, byId: () => key, lasting: () => key.bytes });
    for (; !another.isDone; another.sealed++) {
      await sealer.seal(new Uint8Array(3));
      await pause();
    }
  });
  const amongOthers = await passed();
  another.isDone = true;
  await sealing;
  expect(amongOthers).toEqual(alone);
  expect(another.sealed).toBeGreaterThan(2);
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
      const cancel = () => instance.cancel({ name: "anonymous" });
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
    let missed = 0;
    for (const [at, place] of undisturbed.passed.entries()) {
      const world = newWorld();
      const faults = new Faults();
      const id = await beginTask("plan_always", { steps: all });
      let isCancelled = false;
      faults.meanwhile = {
        at,
        work: async (instance) => {
          await instance.cancel({ name: "anonymous" });
          isCancelled = true;
        },
      };
      const { status, result, error } = await finish(id, faults);
      const ending = place.endsWith(" end") && status === "completed";
      if (ending) continue;
      // On a busy machine a short sleep is over before the task has waited for it: it passes fewer places.
      if (!isCancelled && faults.passed.length <= at) {
        missed++;
        continue;
      }
      expect({ place, isCancelled, status, result, error }).toEqual({
        place,
        isCancelled: true,
        status: "cancelled",
      });
      expect(world.seen.length).toBeLessThanOrEqual(1);
      await faults.within(id, async (instance) => instance.alarm());
      expect(await taskOf(id)).toMatchObject({ status: "cancelled" });
    }
    expect(missed).toBeLessThan(undisturbed.passed.length / 3);
  });
});
