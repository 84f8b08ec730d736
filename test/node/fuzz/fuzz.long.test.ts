import { expect, inject, test } from "vitest";
import { fuzzHostile } from "./hostile.ts";
import { fuzzParts } from "./parts.ts";
import { fuzz } from "./run.ts";

test(
  "whatever is sent is answered as it should be, and nothing is let out",
  { timeout: 300_000 },
  async () => {
    const { failures, answers } = await fuzz({
      seed: 20260728,
      steps: 600,
      folder: inject("worker"),
    });
    expect(failures).toEqual([]);
    // It got through to the servlets, and to what they ask.
    expect(answers["200"]).toBeGreaterThan(250);
    expect(answers["200 stream"]).toBeGreaterThan(10);
  },
);

test("hostile requests get valid answers", async () => {
  const folder = inject("worker");
  const hostile = { seed: 20260728, steps: 80, folder, isMeasured: false };
  const { failures, answers } = await fuzzHostile(hostile);
  expect(failures).toEqual([]);
  for (const kind of ["schema", "form", "uri", "completion", "operations", "secrets"]) {
    expect(Object.keys(answers).filter((one) => one.startsWith(kind))).not.toEqual([]);
  }
});

test(
  "parts of the server hold what they promise, whatever comes to them",
  { timeout: 300_000 },
  async () => {
    const { failures, played } = await fuzzParts({ seed: 20260728, steps: 30 });
    expect(failures).toEqual([]);
    expect(Object.keys(played)).toEqual(["bodies", "registries", "file-calls", "file-steps"]);
  },
);
