import { describe, expect, test } from "vitest";
import { play } from "./play.ts";

describe("durable calls in a simulated world", () => {
  test("200 seeds break no rule of the model", { timeout: 300_000 }, async () => {
    expect(await play("--seeds", "1..200")).toContain("No seed fails.");
  });

  test("100 seeds of servlets that keep state break no rule", { timeout: 300_000 }, async () => {
    expect(await play("--state", "--seeds", "1..100")).toContain("No seed fails.");
  });

  test(
    "state and files are old or new after a death at any event",
    { timeout: 300_000 },
    async () => {
      expect(await play("--kills", "--in-turn")).toContain("No scene fails.");
    },
  );

  test.each(["902", "3280", "3987", "5374", "6019", "9438"])(
    "seed %s, which has failed before, passes",
    async (seed) => {
      expect(await play("--seed", seed)).not.toContain("VIOLATION");
    },
  );

  test("seeds play the same in the opposite order: no scene leaves anything for the next", async () => {
    const digests = (output: string) => output.match(/^\d+ trace \w+$/gm)!.toSorted();
    const forward = digests(await play("--digests", "--seeds", "1..40"));
    expect(forward).toHaveLength(40);
    expect(digests(await play("--digests", "--seeds", "40..1"))).toEqual(forward);
  });
});
