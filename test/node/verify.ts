/**
 * `npm run verify [-- --all] [-- --only STEP,…]`: everything that a change must pass. `--all` adds what takes hours and
 * is run before a release; the newest result of each of those steps stands in test/verified.md.
 *
 * Two lanes run side by side: the tests, and what mostly waits. A step that fails shows the end of its output, and the
 * command that runs it alone.
 */
import { execFileSync, spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";

interface Step {
  name: string;
  command: string;
  /** Shows what it prints while it runs. */
  isShown?: boolean;
}

const FOLDER = ".bundle/verify";
const RESULTS = "test/verified.md";
const REPORT = ".bundle/tests.json";
const vitest = `vitest run --reporter=./test/node/progress.ts --reporter=json --outputFile=${REPORT}`;

const BUNDLE: Step = {
  name: "bundle",
  command: "npm run --silent bundle:tests",
};
const TESTS: Step = {
  name: "tests",
  command: `${vitest} --exclude '**/*.slow.test.ts'`,
  isShown: true,
};
const CHECKS: Step[] = [
  { name: "format", command: "oxfmt --check ." },
  { name: "lint", command: "npm run --silent lint" },
  { name: "size", command: "npm run --silent size" },
  { name: "site", command: "npm run --silent site" },
  { name: "conformance", command: "node test/node/conformance.ts" },
  { name: "clients:smoke", command: "npm run --silent clients:smoke" },
];
/** What only `--all` runs, one after another: each of them keeps the machine busy. */
const SLOW: Step[] = [
  {
    name: "slow tests",
    command: "vitest run --reporter=./test/node/progress.ts .slow.test.ts",
    isShown: true,
  },
  { name: "without features", command: "npm run --silent without -- --all", isShown: true },
  { name: "clients", command: "npm run --silent clients" },
  { name: "simulate", command: "npm run --silent simulate -- --seeds 1..10000" },
  { name: "simulate with state", command: "npm run --silent simulate -- --state --seeds 1..10000" },
  {
    name: "simulate calls of servlets",
    command: "npm run --silent simulate -- --calls --seeds 1..2000",
  },
  {
    name: "simulate unattended runs",
    command: "npm run --silent simulate -- --unattended --seeds 1..5000",
  },
  { name: "simulate files", command: "npm run --silent simulate -- --files --seeds 1..2000" },
  {
    name: "simulate remote calls",
    command: "npm run --silent simulate -- --remote --seeds 1..2000",
  },
  {
    name: "simulate Python",
    command:
      "npm run --silent simulate -- --python --seeds 1..2000 --and --python --state --seeds 1..500 --and --python --calls --seeds 1..500",
  },
  { name: "simulate with kills", command: "npm run --silent simulate -- --kills" },
  { name: "fuzz", command: "npm run --silent fuzz -- --count 1000000" },
  { name: "soak", command: "npm run --silent soak -- --calls 1000000" },
];

const { values } = parseArgs({
  options: { all: { type: "boolean", default: false }, only: { type: "string" } },
});
const only = values.only?.split(",");
const everything = [BUNDLE, TESTS, ...CHECKS, ...SLOW];
const unknown = only?.find((one) => !everything.some(({ name }) => name === one));
if (unknown !== undefined) {
  const names = everything.map(({ name }) => name).join(", ");
  console.error(`There is no step "${unknown}". Take some of: ${names}.`);
  process.exit(1);
}
const isWanted = (step: Step) => only === undefined || step === BUNDLE || only.includes(step.name);

const began = performance.now();
const failed: Step[] = [];
await mkdir(FOLDER, { recursive: true });
await rm(REPORT, { force: true });
if (await lane([BUNDLE])) {
  await Promise.all([lane([TESTS]), lane(CHECKS)]);
  if (values.all || only !== undefined) {
    for (const step of SLOW.filter(isWanted)) await record(step, await lane([step]));
  }
}
const { passed, failed: failedTests } = await counts();
console.log(`\nverify took ${minutes(performance.now() - began)}.`);
for (const { name } of failed)
  console.log(`  ${name} failed. Alone: npm run verify -- --only ${JSON.stringify(name)}`);
// A step that fails counts as a test that fails.
const failures = failedTests + failed.filter((step) => step !== TESTS).length;
console.log(`${passed} passed, ${failures} failed`);
process.exit(failed.length === 0 ? 0 : 1);

/** Runs steps one after another, also after one that fails; true if none does. */
async function lane(steps: readonly Step[]): Promise<boolean> {
  const before = failed.length;
  for (const step of steps.filter(isWanted)) {
    const start = performance.now();
    const { code, output } = await run(step);
    const took = minutes(performance.now() - start);
    if (code === 0) {
      console.log(`✓ ${step.name} (${took})`);
      continue;
    }
    failed.push(step);
    console.log(`✗ ${step.name} (${took})`);
    if (step.isShown !== true) console.log(output.trimEnd().split("\n").slice(-60).join("\n"));
  }
  return failed.length === before;
}

/** Runs a step's command; its output is kept in a file. */
function run({ name, command, isShown }: Step): Promise<{ code: number | null; output: string }> {
  const child = spawn(command, { shell: true, stdio: ["ignore", "pipe", "pipe"] });
  const file = createWriteStream(`${FOLDER}/${name.replace(/\W/g, "-")}.log`);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      file.write(text);
      output = (output + text).slice(-100_000);
      if (isShown === true) process.stdout.write(text);
    });
  }
  return new Promise((done) => {
    child.on("close", (code) => {
      file.end();
      done({ code, output });
    });
  });
}

/** How many tests passed and failed; a file that failed as a whole counts as one. */
async function counts(): Promise<{ passed: number; failed: number }> {
  if (!isWanted(TESTS)) return { passed: 0, failed: 0 };
  const text = await readFile(REPORT, "utf8").catch(() => "{}");
  const {
    numPassedTests = 0,
    numFailedTests = 0,
    numFailedTestSuites = 1,
  } = JSON.parse(text) as {
    [count in "numPassedTests" | "numFailedTests" | "numFailedTestSuites"]?: number;
  };
  return { passed: numPassedTests, failed: numFailedTests || numFailedTestSuites };
}

/** Replaces the row of a slow step in the file of results. */
async function record({ name, command }: Step, isRight: boolean): Promise<void> {
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  const date = new Date().toISOString().slice(0, 10);
  const row = `| ${name} | \`${command.replace("npm run --silent", "npm run")}\` | ${isRight ? "passed" : "failed"} | ${date} | ${commit} |`;
  const lines = (await readFile(RESULTS, "utf8")).trimEnd().split("\n");
  const at = lines.findIndex((line) => line.startsWith(`| ${name} |`));
  await writeFile(RESULTS, `${(at < 0 ? [...lines, row] : lines.with(at, row)).join("\n")}\n`);
}

function minutes(ms: number): string {
  return ms < 100_000 ? `${Math.round(ms / 1000)} s` : `${(ms / 60_000).toFixed(1)} min`;
}
