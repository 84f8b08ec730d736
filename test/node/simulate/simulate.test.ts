import { describe, expect, test } from "vitest";
import { play } from "./play.ts";

describe("durable calls in a simulated world", () => {
  test("20 seeds break no rule of the model", async () => {
    expect(await play("--seeds", "1..20")).toContain("No seed fails.");
  });

  test("10 seeds of servlets that keep state break no rule", async () => {
    expect(await play("--state", "--seeds", "11..20")).toContain("No seed fails.");
  });

  test("scenes that have failed before pass", async () => {
    expect(await play("--regressions")).toContain("No scene fails.");
  });

  test("the same seed plays the same to the byte, whatever was played before it", async () => {
    const [alone, again] = [await play("--seed", "28"), await play("--seed", "28")];
    expect(alone).toBe(again);
    const digest = /^trace \w+/m.exec(alone)![0];
    expect(await play("--digests", "--seeds", "24..28")).toContain(`28 ${digest}`);
  });
});
