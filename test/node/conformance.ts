/**
 * `npm run conformance`: the official suite against workerd itself, for both revisions that it scores, and
 * its last release before 0.2 with all that it has; then against the kernel alone, without the scenarios that need a feature.
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
let failures = 0;

/** Scenarios that need something kept: sessions, tasks, states of calls or streams of changes. */
const NEEDS_FEATURES =
  /^(tasks-|input-required-result-|resources-(un)?subscribe$|tools-call-(sampling|elicitation)$|elicitation-|server-stateless$)/;

async function tried(what: string, { worker, isKernel }: { worker: string; isKernel: boolean }) {
  const folder = await buildWorker(worker, `.bundle/conformance-${process.pid}`);
  const server = await serve(folder, { ...(!isKernel && { durable: true }), log: () => {} });
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
      const all = [...stdout.matchAll(/^(✓|✗) ([\w-]+): (\d+) passed, (\d+) failed/gm)];
      if (all.length < 30) throw new Error(`the suite did not run:\n${stdout.slice(-2000)}`);
      const scenarios = all.filter(([, , one]) => !isKernel || !NEEDS_FEATURES.test(one!));
      const failed = scenarios.filter(([, mark]) => mark === "✗");
      failures += failed.length;
      const passed = scenarios.length - failed.length;
      console.log(`${what}${name}: ${passed} of ${scenarios.length} scenarios pass`);
      for (const [line] of failed) console.log(`  ${line}`);
      const idle = scenarios.filter(([, , , checks, misses]) => checks === "0" && misses === "0");
      for (const [, , scenario] of idle) console.log(`  ${scenario} has checked nothing`);
    }
  } finally {
    // A signal that asks would wait for the streams that are open.
    server.process.kill("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  }
}

await tried("", { worker: "test/conformance/worker.ts", isKernel: false });
await tried("the kernel alone, ", { worker: "test/conformance/kernel.ts", isKernel: true });
process.exit(failures === 0 ? 0 : 1);
