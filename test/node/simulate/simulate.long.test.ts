import { describe, expect, test } from "vitest";
import { play } from "./play.ts";

/** Seeds that have failed before. */
const FAILED = [
  "902",
  "3280",
  "3987",
  "5374",
  "6019",
  "9438",
  "11571",
  "387 --state",
  "2892 --state",
  "3050 --state",
  "6287 --state",
  "1477 --calls",
];

/** The digests of the traces in a run's output. */
const digests = (output: string) => output.match(/^\d+ trace \w+$/gm)!.toSorted();

/** `npm run verify -- --all` plays 10,000 seeds of each kind, and a death before each event. */
describe("durable calls in a simulated world", { timeout: 300_000 }, () => {
  test("12 seeds break no rule of the model, and play the same in the opposite order: no scene leaves anything for the next", async () => {
    const [forward] = await play("--digests --seeds 1..12");
    const [backward] = await play("--digests --seeds 12..1");
    expect(forward).toContain("No seed fails.");
    expect(digests(forward!)).toHaveLength(12);
    expect(digests(backward!)).toEqual(digests(forward!));
  });

  test("6 seeds of servlets that keep state break no rule, and play the same in the opposite order", async () => {
    const [forward, backward] = await play(
      "--state --digests --seeds 1..6",
      "--state --digests --seeds 6..1",
    );
    expect(forward).toContain("No seed fails.");
    expect(digests(forward!)).toHaveLength(6);
    expect(digests(backward!)).toEqual(digests(forward!));
  });

  test("15 seeds of servlets that call servlets break no rule", async () => {
    const [output] = await play("--calls --seeds 30..44");
    expect(output).toContain("No seed fails.");
  });

  test("40 seeds of schedules, webhooks and events break no rule, and play the same in the opposite order", async () => {
    const [forward, backward] = await play(
      "--unattended --digests --seeds 30..69",
      "--unattended --digests --seeds 69..30",
    );
    expect(forward).toContain("No seed fails.");
    expect(digests(forward!)).toHaveLength(40);
    expect(digests(backward!)).toEqual(digests(forward!));
  });

  test("20 seeds of files and 20 of calls of other MCP servers break no rule, and play the same in the opposite order", async () => {
    for (const kind of ["--files", "--remote"]) {
      const [forward, backward] = await play(
        `${kind} --digests --seeds 30..49`,
        `${kind} --digests --seeds 49..30`,
      );
      expect(forward).toContain("No seed fails.");
      expect(digests(forward!)).toHaveLength(20);
      expect(digests(backward!)).toEqual(digests(forward!));
    }
  });

  test("scenes and seeds that have failed before pass", async () => {
    const [scenes, ...seeds] = await play(
      "--regressions",
      ...FAILED.map((seed) => `--seed ${seed}`),
    );
    expect(scenes).toContain("No scene fails.");
    expect(seeds).toHaveLength(FAILED.length);
    for (const output of seeds) expect(output).toMatch(/^trace (?![^]*VIOLATION)/m);
  });

  test("state and files are old or new, and calls of other servers are made once, after a death at some of their events", async () => {
    const [output] = await play("--kills --every 17");
    expect(output).toContain("No scene fails.");
  });
});
