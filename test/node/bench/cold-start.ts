/**
 * `npm run bench -- coldStart`: CPU time of workerd from its start to the first answer of a plain call, of a project with
 * one TypeScript servlet as it is made, of one without bindings, of this repository's servlets, and of 300 more. It is split up by Workers that have a part each:
 * an empty one; one with the same Wasm and data modules, which it does not import; one with the script, too, which
 * workerd then parses and does not run. All of them start in turn.
 */
import { execFile } from "node:child_process";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { buildWorker, serve, stop } from "../workerd.ts";
import { FEATURES, featureExport } from "../../../src/tools/bundle/features.ts";
import { buildCheckout } from "./against.ts";
import { fleetOf } from "./fleet.ts";
import { modern } from "./kinds.ts";
import { drive } from "./load.ts";
import { median } from "./turns.ts";
import { OBJECTS } from "../objects.ts";

const ROUNDS = 9;
const MANY = 300;
const SCRATCH = join(".bundle", "bench", "cold");
/** The most that a project with one servlet may take beyond an empty Worker, in ms of CPU time. */
const TARGET_MS = 70;

const call = modern("tools/call", { name: "greet", arguments: { name: "Ada" } }, "greet");

/** CPU time of all threads of a process that has not ended any, in ms: finer than the ticks of its `stat`. */
async function cpuMs(pid: number): Promise<number> {
  const tasks = await readdir(`/proc/${pid}/task`);
  const stats = tasks.map((task) => readFile(`/proc/${pid}/task/${task}/schedstat`, "utf8"));
  return (await Promise.all(stats)).reduce(
    (sum, stat) => sum + Number(stat.split(" ")[0]) / 1e6,
    0,
  );
}

/** CPU time of a start, in ms: until the Worker answers at all, and until it has answered its first call. */
interface Start {
  ready: number;
  called: number;
}

async function started(folder: string): Promise<Start> {
  const objects = objectsOf.get(folder);
  const served = await serve(folder, { durable: true, ...(objects && { objects }) });
  try {
    const ready = await cpuMs(served.process.pid!);
    await drive(
      { ...call, port: served.port, connections: 1 },
      (count) => count >= 1,
      (body) => body.includes('"text":"Hello, '),
    );
    return { ready, called: await cpuMs(served.process.pid!) };
  } finally {
    await stop(served);
  }
}

/** Workers with a part each of what a Worker has, by the names of their rows. */
async function partsOf(whole: string, empty: string, name: string): Promise<Map<string, string>> {
  const files = await readdir(whole);
  const [modules, parsed] = ["modules", "parsed"].map((part) => join(SCRATCH, `${name}-${part}`));
  for (const folder of [modules!, parsed!]) {
    await rm(folder, { recursive: true, force: true });
    await cp(empty, folder, { recursive: true });
    for (const file of files.filter((one) => /\.(wasm|bin|txt)$/.test(one)))
      await cp(join(whole, file), join(folder, file));
  }
  await cp(join(whole, "index.js"), join(parsed!, "never.js"));
  return new Map(Object.entries({ modules: modules!, parsed: parsed!, whole }));
}

/** The Durable Objects of the Workers that have not all of them, by their folders. */
const objectsOf = new Map<string, Record<string, string>>();

/** What a project binds as `init` makes it, besides what the kernel uses, and the features that this brings in. */
const AS_MADE = {
  bindings: ["HUBS", "PROFILES", "SESSIONS", "STATES", "TASKS", "USAGE"],
  features: ["usage", "tasks", "carried", "sessions", "people", "console"],
};
/** Bindings whose classes the kernel has. */
const OF_KERNEL = ["ATTEMPTS", "KEY_RECORDS", "KEY_RING", "QUOTAS"];

/** The Worker of a project with one servlet in TypeScript, which binds these. */
async function projectWorker(
  name: string,
  { bindings, features }: typeof AS_MADE,
): Promise<string> {
  const folder = join(SCRATCH, name);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const bundle = join(folder, "bundle.gen.ts");
  const args = ["src/tools/commands/bundle.ts", "--quiet", "--out", bundle];
  await promisify(execFile)(process.execPath, [...args, "package/starters/plain/plugins"]);
  const text = await readFile(bundle, "utf8");
  const left = FEATURES.filter((one) => !features.includes(one)).map(featureExport);
  const narrow = left.reduce(
    (all, one) =>
      all
        .replace(new RegExp(`^import \\{ ${one} \\}.*\\n`, "m"), "")
        .replace(new RegExp(`\\b${one}(, )?`), ""),
    text,
  );
  await writeFile(bundle, narrow);
  const bound = features.length === 0 ? [] : [...OF_KERNEL, ...bindings];
  const objects = Object.fromEntries(bound.map((one) => [one, OBJECTS[one]!]));
  const entry = join(folder, "entry.ts");
  await writeFile(
    entry,
    `import { createWorker } from ${JSON.stringify(relative(folder, "src/server/worker.ts"))};
import { bundle } from "./bundle.gen.ts";
const { worker, objects } = createWorker(bundle);
export const { ${Object.values(objects).join(", ")} } = objects;
export default worker;
`,
  );
  const built = await buildWorker(entry, join(folder, "built"));
  objectsOf.set(built, objects);
  return built;
}

export async function benchColdStart(): Promise<void> {
  await rm(SCRATCH, { recursive: true, force: true });
  const empty = await buildWorker(join(import.meta.dirname, "empty.ts"), join(SCRATCH, "empty"));
  const wholes = {
    project: await projectWorker("project", AS_MADE),
    "no bindings": await projectWorker("kernel", { bindings: [], features: [] }),
    repository: await buildCheckout(".", join(SCRATCH, "repository")),
    [`${MANY} more`]: (await fleetOf(MANY, ["plugins"])).folder,
  };
  const folders = new Map([["empty", empty]]);
  for (const [name, whole] of Object.entries(wholes))
    for (const [part, folder] of await partsOf(whole, empty, name))
      folders.set(`${name} ${part}`, folder);
  const took = new Map<string, Start[]>();
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, folder] of folders)
      took.set(name, [...(took.get(name) ?? []), await started(folder)]);
  const middle = (name: string, key: keyof Start) => median(took.get(name)!.map((one) => one[key]));
  const [none, answered] = [middle("empty", "ready"), middle("empty", "called")];
  console.log(
    `an empty Worker: ${answered.toFixed(1)} ms of CPU, of them ${(answered - none).toFixed(1)} for its first answer`,
  );
  const header = ["more than that:", "modules", "parse", "evaluation", "first call", "in all"];
  console.log(header.map((one) => one.padStart(16)).join(""));
  for (const name of Object.keys(wholes)) {
    const modules = middle(`${name} modules`, "ready");
    const parsed = middle(`${name} parsed`, "ready");
    const [ready, called] = [middle(`${name} whole`, "ready"), middle(`${name} whole`, "called")];
    const first = called - ready - (answered - none);
    const all = [modules - none, parsed - modules, ready - parsed, first, called - answered];
    const goal = name === "project" ? `   (at most ${TARGET_MS})` : "";
    console.log(
      `${[name, ...all.map((one) => one.toFixed(1))].map((one) => one.padStart(16)).join("")}${goal}`,
    );
  }
}
