import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

/** Each in a process of its own: a simulation replaces the clock, timers and random numbers of its process. */
async function simulate(...args: string[]): Promise<string> {
  const run = promisify(execFile)(process.execPath, ["test/node/simulate/run.ts", ...args], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return run.then(
    ({ stdout }) => stdout,
    // It ends with code 1 where a seed fails; what it has printed says which.
    ({ stdout, stderr }: { stdout: string; stderr: string }) => `${stdout}${stderr}`,
  );
}

describe("durable calls in a simulated world", () => {
  test("200 seeds see what the model allows", { timeout: 300_000 }, async () => {
    expect(await simulate("--seeds", "1..200")).toContain("No seed fails.");
  });

  test("scenes that have failed before", async () => {
    expect(await simulate("--regressions")).toContain("No scene fails.");
  });

  test.each(["902", "3280", "3987", "5374", "6019", "9438"])(
    "seed %s, which has failed before",
    async (seed) => {
      expect(await simulate("--seed", seed)).not.toContain("VIOLATION");
    },
  );

  test("the same seed plays the same to the byte, whatever was played before it", async () => {
    const [alone, again] = [await simulate("--seed", "28"), await simulate("--seed", "28")];
    expect(alone).toBe(again);
    const digest = /^trace \w+/m.exec(alone)![0];
    expect(await simulate("--digests", "--seeds", "24..28")).toContain(`28 ${digest}`);
  });

  test("seeds play the same in the opposite order: nothing stays of a scene for the next one", async () => {
    const digests = (output: string) => output.match(/^\d+ trace \w+$/gm)!.toSorted();
    const forward = digests(await simulate("--digests", "--seeds", "1..80"));
    expect(forward).toHaveLength(80);
    expect(digests(await simulate("--digests", "--seeds", "80..1"))).toEqual(forward);
  });
});
