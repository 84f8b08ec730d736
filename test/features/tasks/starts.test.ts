import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Starts } from "../../../src/server/features/tasks/starts.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { pause } from "../../worker/calls/faults.ts";

/** Runs of tasks begin a few at a time. */
const usual = { ...limits };
beforeEach(() => configureLimits({ startsAtOnce: 2, startMs: 60_000 }));
afterEach(() => {
  configureLimits(usual);
  vi.restoreAllMocks();
});

/** So many runs; `begin` lets the one of this number have begun. */
function runs(starts: Starts, count: number, principal = "a") {
  const started: number[] = [];
  const begun: (() => void)[] = [];
  const all = Array.from({ length: count }, async (_, nth) => {
    begun[nth] = await starts.take(principal);
    started.push(nth);
  });
  return { started, begin: (nth: number) => begun[nth]!(), all: Promise.all(all) };
}

/** Time for whatever may go on. */
const soon = async () => {
  for (let times = 0; times < 10; times++) await pause();
};

test("so many begin at once as may, and another when one has begun", async () => {
  const { started, begin, all } = runs(new Starts(), 6);
  await soon();
  expect(started).toEqual([0, 1]);
  for (let count = 3; count <= 6; count++) {
    begin(started.at(-1)!);
    // It has begun once.
    begin(started.at(-1)!);
    await vi.waitFor(() => expect(started.length).toBe(count), 10_000);
    await soon();
    expect(started.length).toBe(count);
  }
  await all;
  expect(started.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5]);
});

test("those that have waited longest look most often", async () => {
  const starts = new Starts();
  await starts.take("a");
  await starts.take("a");
  const wait = vi.spyOn(scheduler, "wait").mockImplementation(() => new Promise(() => {}));
  runs(starts, 50);
  await soon();
  const pauses = wait.mock.calls.map(([ms]) => ms);
  expect(pauses).toEqual(Array.from({ length: 50 }, (_, nth) => Math.max(10, 4 * nth)));
});

test("one that waited and died is not counted among those that wait", async () => {
  let now = Date.now();
  vi.spyOn(Date, "now").mockImplementation(() => now);
  const starts = new Starts();
  await starts.take("a");
  await starts.take("a");
  const wait = vi.spyOn(scheduler, "wait").mockImplementation(() => new Promise(() => {}));
  runs(starts, 50);
  await soon();
  // Those of 50 that look last do so after 196 ms.
  now += 60_000 + 200;
  await starts.take("a");
  await starts.take("a");
  runs(starts, 1);
  await soon();
  expect(wait.mock.lastCall).toEqual([10]);
});

test("the limit of some is a multiple of that of others", async () => {
  const { started } = runs(new Starts(3), 10);
  await soon();
  expect(started).toEqual([0, 1, 2, 3, 4, 5]);
});

test("one of another principal begins beside those that are enough, if these are not its own", async () => {
  const starts = new Starts();
  await starts.take("a");
  await starts.take("a");
  const { started } = runs(starts, 1);
  const begun = await Promise.all(["b", "c"].map((principal) => starts.take(principal)));
  expect(begun).toHaveLength(2);
  const second = runs(starts, 1, "b");
  await soon();
  expect([...started, ...second.started]).toEqual([]);
});

test("one that has not begun for long holds nobody up: its object may have died", async () => {
  configureLimits({ startMs: 30 });
  const { started, all } = runs(new Starts(), 5);
  await all;
  expect(started.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4]);
});

test("nor does one that began later than now, before the clock was set back", async () => {
  const starts = new Starts();
  const now = Date.now();
  vi.spyOn(Date, "now").mockReturnValue(now + 3_600_000);
  await runs(starts, 2).all;
  vi.mocked(Date.now).mockReturnValue(now);
  const { started, all } = runs(starts, 1);
  await all;
  expect(started).toEqual([0]);
});
