/**
 * `npm run conformance`: the official suite against workerd itself, for both revisions that it scores.
 * https://github.com/modelcontextprotocol/conformance
 */
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { buildWorker, serve } from "./workerd.ts";

const PORT = 8861;

/** What is run, and the scenarios that need what is not built yet: sessions. */
const RUNS: { name: string; args: string[]; later?: RegExp }[] = [
  { name: "2026-07-28", args: ["--requirements", "2026-07-28"] },
  {
    name: "2025-11-25",
    args: ["--requirements", "2025-11-25"],
    later:
      /^(tools-call-(sampling|elicitation)|elicitation-|resources-(un)?subscribe|server-sse-|server-session-)/,
  },
];

const suite = join(
  dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/package.json")),
  "dist/index.js",
);
const run = promisify(execFile);
const folder = await buildWorker("test/conformance/worker.ts", ".bundle/conformance");
const server = await serve(folder, PORT, { durable: true });
let failures = 0;
try {
  for (const { name, args, later } of RUNS) {
    const command = [suite, "server", "--url", `http://localhost:${PORT}/mcp`, ...args];
    const { stdout } = await run(process.execPath, command, { maxBuffer: 1 << 26 }).catch(
      (error: { stdout?: string }) => ({ stdout: error.stdout ?? "" }),
    );
    const scenarios = [...stdout.matchAll(/^(✓|✗) ([\w-]+): (\d+) passed, (\d+) failed/gm)];
    if (scenarios.length < 30) throw new Error(`the suite did not run:\n${stdout.slice(-2000)}`);
    const due = scenarios.filter(([, , scenario = ""]) => !later?.test(scenario));
    const failed = due.filter(([, mark]) => mark === "✗");
    failures += failed.length;
    console.log(`${name}: ${due.length - failed.length} of ${due.length} scenarios pass`);
    for (const [line] of failed) console.log(`  ${line}`);
    const left = scenarios.filter((one) => !due.includes(one)).map(([, , scenario]) => scenario);
    if (left.length > 0) console.log(`  not built yet: ${left.join(", ")}`);
  }
} finally {
  // A signal that asks would wait for the streams that are open.
  server.process.kill("SIGKILL");
}
process.exit(failures === 0 ? 0 : 1);
