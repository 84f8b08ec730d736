/**
 * `npm run conformance`: the official suite against workerd itself, for both revisions that it scores, and
 * its last release before 0.2 with all that it has.
 * https://github.com/modelcontextprotocol/conformance
 */
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { buildWorker, serve } from "./workerd.ts";

/** Conformance suites to run. */
const RUNS: { name: string; suite: string; args: string[] }[] = [
  {
    name: "2026-07-28",
    suite: "@modelcontextprotocol/conformance",
    args: ["--requirements", "2026-07-28"],
  },
  {
    name: "2025-11-25",
    suite: "@modelcontextprotocol/conformance",
    args: ["--requirements", "2025-11-25"],
  },
  {
    name: "conformance 0.1",
    suite: "conformance-0.1",
    args: ["--suite", "all"],
  },
];

const { resolve } = createRequire(import.meta.url);
const commandOf = (suite: string) =>
  join(dirname(resolve(`${suite}/package.json`)), "dist/index.js");
const run = promisify(execFile);
const folder = await buildWorker(
  "test/conformance/worker.ts",
  `.bundle/conformance-${process.pid}`,
);
const server = await serve(folder, { durable: true, log: () => {} });
let failures = 0;
try {
  for (const { name, suite, args } of RUNS) {
    const command = [
      commandOf(suite),
      "server",
      "--url",
      `http://localhost:${server.port}/mcp`,
      ...args,
    ];
    const { stdout } = await run(process.execPath, command, { maxBuffer: 1 << 26 }).catch(
      (error: { stdout?: string }) => ({ stdout: error.stdout ?? "" }),
    );
    const scenarios = [...stdout.matchAll(/^(✓|✗) ([\w-]+): (\d+) passed, (\d+) failed/gm)];
    if (scenarios.length < 30) throw new Error(`the suite did not run:\n${stdout.slice(-2000)}`);
    const failed = scenarios.filter(([, mark]) => mark === "✗");
    failures += failed.length;
    const passed = scenarios.length - failed.length;
    console.log(`${name}: ${passed} of ${scenarios.length} scenarios pass`);
    for (const [line] of failed) console.log(`  ${line}`);
    const idle = scenarios.filter(([, , , checks, misses]) => checks === "0" && misses === "0");
    for (const [, , scenario] of idle) console.log(`  ${scenario} has checked nothing`);
  }
} finally {
  // A signal that asks would wait for the streams that are open.
  server.process.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
}
process.exit(failures === 0 ? 0 : 1);
