import { beforeAll, describe, expect, test } from "vitest";
import { play } from "./play.ts";

describe("durable calls in a simulated world", () => {
  let first: string[];
  let second: string[];
  beforeAll(async () => {
    [first, second] = await Promise.all([
      play(
        "--seed 28",
        "--seeds 1..10",
        "--state --seeds 11..14",
        "--regressions --tries 2",
        "--calls --seeds 1..6",
      ),
      play(
        "--seeds 26..27",
        "--state --seeds 11..11",
        "--seed 28",
        "--unattended --seeds 1..6",
        "--files --seeds 1..4",
        "--remote --seeds 20..25",
      ),
    ]);
  });

  test("10 seeds break no rule of the model", () => {
    expect(first[1]).toContain("No seed fails.");
  });

  test("4 seeds of servlets that keep state break no rule", () => {
    expect(first[2]).toContain("No seed fails.");
  });

  test("6 seeds of servlets that call servlets break no rule", () => {
    expect(first[4]).toContain("No seed fails.");
  });

  test("6 seeds of schedules, webhooks and events break no rule", () => {
    expect(second[3]).toContain("No seed fails.");
  });

  test("4 seeds of files that are sent and made break no rule", () => {
    expect(second[4]).toContain("No seed fails.");
  });

  test("6 seeds of calls of other MCP servers break no rule", () => {
    expect(second[5]).toContain("No seed fails.");
  });

  test("scenes that have failed before pass", () => {
    expect(first[3]).toContain("No scene fails.");
  });

  test("the same seed plays the same to the byte, whatever was played before it", () => {
    expect(first[0]).toMatch(/^trace \w+/m);
    expect(second[2]).toBe(first[0]);
  });
});
