import { abortAllDurableObjects, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { ShownSchedule } from "../../../src/server/features/schedules/schedule.ts";
import { bundle } from "../../bundle.gen.ts";
import { objectOf } from "../../worker/calls/faults.ts";
import {
  clock,
  limited,
  newAddress,
  prepare,
  serverOf,
  textIn,
} from "../../worker/calls/client.ts";
import { answerOf, modern, post } from "../../worker/server.ts";

/** Runs of schedules whose objects die again and again, while the clock jumps. */
prepare();

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const KILLS = 200;

const server = serverOf(bundle);

/** Random numbers that are the same in each run of the test. */
function chance(seed: number) {
  let state = seed;
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test("each due time has its run, once, over 200 deaths and jumps of the clock by a day", async () => {
  limited({ shownRuns: 10_000, startsAtOnce: Infinity });
  const address = newAddress();
  const headers = { "cf-connecting-ip": address };
  const call = async (name: string, args: object = {}) => {
    const sent = modern("tools/call", { name: `waking-${name}`, arguments: args });
    return answerOf(await post(sent.body, { ...sent.headers, ...headers }, server));
  };
  const object = () => env.SCHEDULES!.getByName(`address ${address}`);
  /** Does this again until no object dies meanwhile. */
  const surely = async <T>(work: () => Promise<T>): Promise<T> => {
    for (;;)
      try {
        return await work();
      } catch {
        await scheduler.wait(1);
      }
  };
  const listed = (): Promise<ShownSchedule[]> => object().list();
  const made = await call("later", { every: HOUR, text: "killed", id: "it" });
  const first = Date.parse(made.result!["structuredContent"].next as string);
  const rings = async () => {
    await runDurableObjectAlarm(object());
    const [one] = await listed();
    const newest = one!.runs.find(({ task }) => task !== undefined)?.task;
    if (newest !== undefined) await runDurableObjectAlarm(objectOf(newest));
  };

  const next = chance(65);
  let latest = Date.now();
  for (let kill = 0; kill < KILLS; kill++) {
    const jump = next(20);
    clock.aheadMs += jump === 0 ? DAY : jump === 1 ? -DAY : next(3 * HOUR);
    latest = Math.max(latest, Date.now());
    const ringing = rings().catch(() => undefined);
    // Each second death is after the work, the others are somewhere within it.
    if (kill % 2 === 0) await ringing;
    else for (let turns = next(2 ** next(10)); turns > 0; turns--) await scheduler.wait(0);
    await abortAllDurableObjects();
    await ringing;
  }
  clock.aheadMs += Math.max(0, latest - Date.now()) + HOUR;
  for (let nth = 0; nth < 5; nth++) {
    clock.aheadMs += 10 * 60_000;
    await surely(rings);
  }
  const [one] = await surely(listed);
  for (const { task } of one!.runs)
    if (task !== undefined) await surely(() => runDurableObjectAlarm(objectOf(task)));

  const begun = one!.runs.filter(({ task }) => task !== undefined);
  const lines = textIn(await call("seen"))
    .split("\n")
    .filter((line) => line.includes("killed"));
  // Each run that has begun had its effect once.
  expect(lines).toHaveLength(begun.length);
  // Each due time belongs to one run, as its own or as one that it makes up for, or to a run that still went.
  const served = one!.runs.reduce((sum, { missed }) => sum + missed + 1, 0);
  expect(served).toBe(Math.round((one!.next! - first) / HOUR));
  expect(begun.length).toBeGreaterThan(20);
});
