import { parseArgs } from "node:util";
import { describedScene, failuresOf, play, type Outcome } from "./simulate.ts";
import { killed } from "./kills.ts";
import { regressions } from "./regressions.ts";
import {
  callingSceneOf,
  remoteSceneOf,
  sceneOf,
  statefulSceneOf,
  transfersSceneOf,
  unattendedSceneOf,
  type Scene,
} from "./scene.ts";
import { shrunken } from "./shrink.ts";

/**
 * `npm run simulate -- --seed 7` plays one seed and prints all that happens; `--seeds 1..10000` plays many
 * (`10..1` the other way round) and prints the smallest scene found for each that fails. `--state` plays scenes of
 * servlets that keep state, `--calls` of servlets that call others, `--unattended` of schedules,
 * webhooks and events, `--files` of files that clients send and servlets make, `--remote` of calls that are passed on to
 * other MCP servers, and `--python` has servlets in Python. `--steps` is
 * during how many events there are faults. `--strict` lets known holes fail too, `--digests` prints a digest of each trace, `--regressions` plays the scenes that have failed before, with so many
 * `--tries` of each, and `--kills` plays small scenes with a death before each event: of each
 * kind of object, or with `--every 4` before each fourth event, of one kind in turn. `--and` stands between several of
 * these, which one process plays one after another.
 */
const OPTIONS = {
  seed: { type: "string" },
  seeds: { type: "string", default: "1..200" },
  steps: { type: "string", default: "600" },
  state: { type: "boolean", default: false },
  calls: { type: "boolean", default: false },
  unattended: { type: "boolean", default: false },
  files: { type: "boolean", default: false },
  remote: { type: "boolean", default: false },
  python: { type: "boolean", default: false },
  strict: { type: "boolean", default: false },
  kills: { type: "boolean", default: false },
  every: { type: "string" },
  regressions: { type: "boolean", default: false },
  tries: { type: "string", default: "12" },
  digests: { type: "boolean", default: false },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>["values"];

for (const args of runsIn(process.argv.slice(2))) {
  const { values } = parseArgs({ args, options: OPTIONS });
  console.log(`▶ ${args.join(" ")}`);
  if (!(await run(values))) process.exitCode = 1;
}

/** The arguments of each run. */
function runsIn(args: string[]): string[][] {
  const end = args.indexOf("--and");
  return end < 0 ? [args] : [args.slice(0, end), ...runsIn(args.slice(end + 1))];
}

/** False if something fails. */
function run(values: Values): Promise<boolean> {
  if (values.kills) return playKills(values);
  if (values.regressions) return playRegressions(values);
  return values.seed === undefined ? playMany(values) : playOne(Number(values.seed), values);
}

function sceneFor(seed: number, values: Values): Scene {
  const { state, calls, unattended, files, remote, steps, python } = values;
  const makers = [
    calls && callingSceneOf,
    state && statefulSceneOf,
    unattended && unattendedSceneOf,
    files && transfersSceneOf,
    remote && remoteSceneOf,
  ];
  const make = makers.find((one) => one !== false) ?? sceneOf;
  return { ...make(seed, Number(steps)), ...(python && { language: "python" }) };
}

async function playOne(seed: number, values: Values): Promise<boolean> {
  const outcome = await play(sceneFor(seed, values));
  show(outcome);
  for (const { hole } of outcome.violations) if (hole !== undefined) console.log(`known: ${hole}`);
  return failuresOf(outcome, values.strict).length === 0;
}

async function playMany(values: Values): Promise<boolean> {
  const failures = (outcome: Outcome) => failuresOf(outcome, values.strict);
  const [first = 1, last = first] = values.seeds.split("..").map(Number);
  const count = Math.abs(last - first) + 1;
  const began = performance.now();
  const holes = new Map<string, number[]>();
  const failing: number[] = [];
  let [events, faults] = [0, 0];
  for (let done = 1; done <= count; done++) {
    const seed = first + Math.sign(last - first) * (done - 1);
    const outcome = await play(sceneFor(seed, values));
    events += outcome.events;
    faults += outcome.faults;
    for (const hole of new Set(outcome.violations.map((one) => one.hole ?? ""))) {
      if (hole !== "") holes.set(hole, [...(holes.get(hole) ?? []), seed]);
    }
    if (values.digests) console.log(`${seed} trace ${outcome.digest}`);
    const [failure] = failures(outcome);
    if (failure !== undefined) {
      failing.push(seed);
      console.log(`\nSeed ${seed} fails: ${failure.rule}: ${failure.what}`);
      // Many seeds that fail most likely fail for the same reason.
      if (failing.length <= 3) {
        const isSame = (other: Outcome) =>
          failures(other).some(({ rule, hole }) => rule === failure.rule && hole === failure.hole);
        show(await shrunken(outcome, isSame));
      }
    }
    if (done % 100 === 0) {
      const seconds = (performance.now() - began) / 1000;
      console.log(
        `${done} seeds, ${events} events, ${faults} faults, ${failing.length} failures, ${seconds.toFixed(0)} s`,
      );
    }
  }
  for (const [hole, seeds] of holes) {
    console.log(`known, ${seeds.length} seeds (${seeds.slice(0, 5).join(", ")}): ${hole}`);
  }
  console.log(failing.length === 0 ? "No seed fails." : `Seeds that fail: ${failing.join(", ")}`);
  return failing.length === 0;
}

async function playKills(values: Values): Promise<boolean> {
  const failures = (outcome: Outcome) => failuresOf(outcome, values.strict);
  let [played, failed] = [0, 0];
  for await (const outcome of killed(
    values.every === undefined ? undefined : Number(values.every),
  )) {
    played++;
    if (failures(outcome).length === 0) continue;
    if (++failed <= 3) show(outcome);
  }
  console.log(`${played} scenes`);
  console.log(failed === 0 ? "No scene fails." : `${failed} scenes fail.`);
  return failed === 0;
}

async function playRegressions(values: Values): Promise<boolean> {
  const failures = (outcome: Outcome) => failuresOf(outcome, values.strict);
  const failing: string[] = [];
  for (const [what, scenes] of regressions(Number(values.tries))) {
    const holes = new Set<string>();
    for (const scene of scenes) {
      const outcome = await play(scene);
      for (const { hole } of outcome.violations) if (hole !== undefined) holes.add(hole);
      if (failures(outcome).length === 0) continue;
      if (!failing.includes(what)) show(outcome);
      failing.push(what);
    }
    for (const hole of holes) console.log(`known: ${hole}`);
  }
  console.log(failing.length === 0 ? "No scene fails." : `Scenes that fail: ${failing.join("; ")}`);
  return failing.length === 0;
}

/** Prints what was to happen, what happened, and what was wrong with it. */
function show(outcome: Outcome): void {
  console.log(outcome.trace.join("\n"));
  console.log(describedScene(outcome.scene));
  console.log(`trace ${outcome.digest}, ${outcome.events} events, ${outcome.faults} faults`);
  console.log(outcome.ends.join("\n"));
  for (const { rule, what } of outcome.violations) console.log(`VIOLATION of "${rule}": ${what}`);
}
