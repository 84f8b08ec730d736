import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { fuzzHostile } from "./hostile.ts";
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

// A process of its own loads what a Worker imports.
test.each(["bodies", "registries", "file-calls", "file-steps"])(
  "a part of the server holds what it promises, whatever comes to it: %s",
  { timeout: 300_000 },
  async (part) => {
    const args = ["test/node/fuzz/run.ts", "--part", part, "--seed", "20260728", "--count", "600"];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
    expect(stdout + stderr).toContain(`{"${part}":12} 0 failures`);
  },
);

test(
  "a server with 700 MiB of memory outlives a caller who takes all that it can, and refuses nobody else",
  { timeout: 300_000 },
  async () => {
    const attacks = ["grow", "arguments", "files"].flatMap((name) => ["--attack", name]);
    const args = ["test/node/fuzz/run.ts", "--attacks", ...attacks, "--memory", "700"];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(stdout).toContain("attacks 0 failures");
  },
);
