import { describe, expect, test } from "vitest";
import type { TaskTimeline } from "../../../../src/server/kernel/calls/task-object.ts";
import { callPage } from "../../../../src/server/features/console/timeline.ts";

/** How the page of a call draws its steps along an axis of time. */

const BEGAN = 1_800_000_000_000;
const HOUR = 3_600_000;

/** The bars of a call whose answers came after so many ms, each with its place on an axis of 1000. */
async function barsOf(after: readonly number[], ended: number) {
  const timeline: TaskTimeline = {
    view: { status: "completed", result: {} } as unknown as TaskTimeline["view"],
    created: BEGAN,
    updated: BEGAN + ended,
    expires: BEGAN + 30 * HOUR,
    fuel: 1,
    called: { name: "deploy", servlet: "deploys", arguments: "", all: {} },
    changes: [],
    entries: after.map((ms) => ({ what: "http GET a.example", at: BEGAN + ms, outcome: "200" })),
    hasFailed: false,
    reason: "",
    hasJournal: false,
  };
  const html = String(await callPage({ id: "x", timeline, token: "t" }));
  const bars = [...html.matchAll(/<rect\s+x="(\d+)"\s+width="(\d+)"/g)].map(([, x, width]) => [
    Number(x),
    Number(width),
  ]);
  return { bars, isShort: html.includes("Long waits are shortened"), html };
}

test.each([
  [2000, true],
  // Its answer came, and it was cancelled while it ran on.
  [500, false],
])(
  "a call that was cancelled shows the question that was asked after %i ms: %s",
  async (asked, isOpen) => {
    const timeline: TaskTimeline = {
      view: { status: "cancelled" } as TaskTimeline["view"],
      created: BEGAN,
      updated: BEGAN + HOUR,
      expires: BEGAN + 30 * HOUR,
      fuel: 1,
      called: { name: "deploy", servlet: "deploys", arguments: "", all: {} },
      changes: [{ at: BEGAN + asked, what: "input_required" }],
      entries: [{ what: "elicitation/create", at: BEGAN + 1000 }],
      hasFailed: false,
      reason: "",
      hasJournal: false,
    };
    const html = String(await callPage({ id: "x", timeline, token: "t" }));
    expect(html.includes("Asked you, without an answer")).toBe(isOpen);
    expect(html).toContain("Was cancelled");
  },
);

describe("the axis of a call", () => {
  test("is one scale where nothing takes much longer than the rest", async () => {
    const { bars, isShort, html } = await barsOf([2000, 5000], 10_000);
    expect(bars).toEqual([
      [0, 200],
      [200, 300],
      [994, 6],
    ]);
    expect(isShort).toBe(false);
    expect(html).toContain("M500 0v10");
  });

  test("draws waits short beside which nothing would be seen", async () => {
    const { bars, isShort, html } = await barsOf(
      [1000, 1000 + HOUR, 2000 + HOUR, 2000 + 30 * HOUR],
      2000 + 30 * HOUR,
    );
    // Two requests of a second have 350 each, the waits of an hour and of 29 hours 150.
    expect(bars).toEqual([
      [0, 350],
      [350, 150],
      [500, 350],
      [850, 150],
      [994, 6],
    ]);
    expect(isShort).toBe(true);
    expect(html).toContain("M0 0v10M1000 0v10M350 0v10M500 0v10M850 0v10M1000 0v10");
  });

  test("shortens a wait that is the whole call", async () => {
    const { bars, isShort, html } = await barsOf([HOUR], HOUR);
    expect(isShort).toBe(true);
    expect(bars).toEqual([
      [425, 150],
      [575, 6],
    ]);
    expect(html).toContain("M0 0v10M1000 0v10M425 0v10M575 0v10");
    expect((await barsOf([5000], 5000)).isShort).toBe(false);
  });

  test("has room for what is short beside many waits", async () => {
    const after = Array.from({ length: 40 }, (_, nth) => (nth + 1) * HOUR + (nth + 1) * 1000);
    const { bars } = await barsOf(
      after.flatMap((ms) => [ms - 1000, ms]),
      after.at(-1)!,
    );
    const seen = bars.filter((_, nth) => nth % 2 === 1);
    expect(Math.min(...seen.map(([, width]) => width!))).toBeGreaterThanOrEqual(12);
  });

  test.each([[[]], [[0]], [[0, 0, 0]]])("is drawn where nothing took time: %j", async (after) => {
    const { bars } = await barsOf(after, 0);
    for (const [x, width] of bars) expect(x! + width!).toBeLessThanOrEqual(1000);
    expect((await barsOf(after, 20_000)).isShort).toBe(false);
  });
});
