import { evictDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import type { Json } from "../../worker/calls/client.ts";
import {
  beginTask,
  Faults,
  finish,
  newWorld,
  objectOf,
  type Server,
  type Death,
  type Finished,
} from "../../worker/calls/faults.ts";
import { ELICIT, http, NIGHT, TOLD } from "../../worker/calls/plans.ts";

/** Tests of tasks whose object dies wherever something is awaited. */

const NAP = { do: "sleep", ms: 3 };

/** By how often the host is asked. */
const PLANS: Json[][] = [
  [ELICIT],
  [{ do: "elicit_url", message: "Pay", url: "https://pay.example/" }],
  [{ do: "sample", message: "Say it" }],
  [{ do: "roots" }],
  [{ do: "inputs", keys: ["a", "b"] }],
  [http("GET", "/a")],
  [NAP],
  [NIGHT],
  [{ do: "config" }, NAP],
  [http("PUT", "/a"), ELICIT],
  [NIGHT, http("DELETE", "/a"), NIGHT],
  [{ do: "secret" }, ...TOLD, { do: "sample" }, NAP, http("GET", "/a")],
  [ELICIT, NIGHT, ...TOLD, http("PUT", "/a"), { do: "roots" }, { do: "config" }],
  [
    http("PUT", "/a"),
    { do: "config" },
    ELICIT,
    ...TOLD,
    NIGHT,
    http("GET", "/b"),
    { do: "sample" },
    { do: "secret" },
    { do: "inputs", keys: ["a", "b"] },
    NAP,
    http("DELETE", "/c"),
  ],
];

/** The part of an outcome that no fault may change. */
const essence = ({ status, result, error, asked }: Finished) => ({
  status,
  said: result?.["structuredContent"].said,
  error,
  asked,
});

interface Trial {
  finished: Finished;
  faults: Faults;
  world: Server;
}

async function tried(
  [name, args]: [name: string, args: Json],
  faults: Faults,
  between?: (id: string, step: number) => Promise<void>,
): Promise<Trial> {
  const world = newWorld();
  const id = await beginTask(name, args);
  const finished = await finish(id, faults, async (step) => between?.(id, step));
  return { finished, faults, world };
}

/** All that was done in the world was done once, under the same keys and with what the servlet saw. */
function expectOnce({ finished, world }: Trial, undisturbed: Trial): void {
  const done = [...world.done.values()];
  expect(done.map(({ line }) => line)).toEqual(undisturbed.world.seen.map(({ line }) => line));
  // One that was on its way when the object died may have been sent again, and no other.
  const repeated = world.seen.filter(({ key }, at) => key === world.seen[at - 1]?.key);
  expect(world.seen.length - done.length).toBe(repeated.length);
  expect(repeated.length).toBeLessThanOrEqual(1);
  const ids: string[] = finished.result["structuredContent"].ids;
  for (const { key, id } of world.seen) {
    expect(key).toMatch(/^[0-9a-f]{32}$/);
    expect(ids).toContain(id);
  }
  expect(new Set(world.seen.map(({ id }) => id)).size).toBe(done.length);
  const times: number[] = finished.result["structuredContent"].times;
  expect(times).toEqual(times.toSorted((a, b) => a - b));
}

const named = PLANS.map((steps) => [steps.map((step) => step["do"]).join(), steps] as const);

/**
 * An object dies at each of so many places of a plan, of which each plan takes others, in one of the two ways in turn;
 * with `every` 1 in both, and where it only reads, too.
 */
export function testDeaths(every: number): void {
  const died = new Set<string>();
  const met = new Set<string>();

  describe("an object that dies, alone or with all others, where something is awaited", () => {
    test.each(named.map((one, nth) => [...one, nth] as const))(
      "%s",
      async (what, steps, nth) => {
        const call: [string, Json] = ["plan_always", { steps }];
        const atLooks = every === 1 && ["elicit", "http"].includes(what);
        const undisturbed = await tried(call, new Faults({ atLooks }));
        expect(undisturbed.finished.status).toBe("completed");
        const { passed } = undisturbed.faults;
        for (const [fatal, place] of passed.entries()) {
          met.add(place);
          if ((fatal + nth) % every !== 0) continue;
          died.add(place);
          for (const death of every === 1 ? DEATHS : [DEATHS[fatal % 2]!]) {
            const trial = await tried(call, new Faults({ fatal, death, atLooks }));
            const where = `${place}, place ${fatal}, ${death}`;
            const expected = { where, ...essence(undisturbed.finished) };
            expect({ where, ...essence(trial.finished) }).toEqual(expected);
            expectOnce(trial, undisturbed);
          }
        }
      },
      600_000,
    );

    test("all kinds of places", () => {
      expect(died.size).toBeGreaterThan(15);
      expect(died).toEqual(met);
    });
  });
}

const DEATHS: Death[] = ["at once", "with all others"];

/** An object is evicted before each step of a plan. */
export function testEvictions(): void {
  describe("an object that is evicted before a step", () => {
    test.each(named)("%s", async (_what, steps) => {
      const call: [string, Json] = ["plan_always", { steps }];
      let count = 0;
      const undisturbed = await tried(call, new Faults(), async (_id, step) => {
        count = step;
      });
      for (let at = 0; at <= count; at++) {
        const trial = await tried(call, new Faults(), async (id, step) => {
          if (step === at || at === count) await evictDurableObject(objectOf(id));
        });
        expect(essence(trial.finished)).toEqual(essence(undisturbed.finished));
        expectOnce(trial, undisturbed);
      }
    });
  });
}
