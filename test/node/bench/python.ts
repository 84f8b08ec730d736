/**
 * `npm run bench -- python`: CPU time of calls in Python beside the same in TypeScript, what servlets in Python add to what
 * is uploaded, and what they take in memory while four are called at once.
 */
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { makeBundle } from "../../../src/tools/bundle/bundle.ts";
import { cpuMs, freePort, residentMB, serve, stop, type Served } from "../workerd.ts";
import { modern } from "./kinds.ts";
import { heapOf } from "./large-argument.ts";
import { drive } from "./load.ts";
import { buildBundle } from "./plugins.ts";
import { CONNECTIONS, median, WARM_UP_MS } from "./turns.ts";

const ROUNDS = 7;
const ROUND_MS = 1500;
const SCRATCH = join(".bundle", "bench", "python");

/** The project's own servlets, without that in Python. */
const PLUGINS = (await readdir("plugins", { withFileTypes: true }))
  .filter((one) => one.isDirectory() && !["lib", "tables"].includes(one.name))
  .map(({ name }) => join("plugins", name));

/** The work, what it is given, and the most that it may cost, as a multiple of the same in TypeScript. */
const WORK = {
  greet: { given: { name: "Ada" }, most: 2.2 },
  json: { given: { count: 1000 }, most: 2 },
  regex: { given: { count: 1000 }, most: 2 },
  sort: { given: { count: 10_000 }, most: 2 },
};

async function built(name: string, folders: readonly string[]) {
  const scratch = join(SCRATCH, name);
  await rm(scratch, { recursive: true, force: true });
  await mkdir(scratch, { recursive: true });
  const members = await makeBundle({
    folders,
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
  });
  const folder = await buildBundle(members, scratch);
  const files = await Promise.all(
    (await readdir(folder)).map((file) => readFile(join(folder, file))),
  );
  return {
    folder,
    gzip: files.reduce((sum, file) => sum + gzipSync(file, { level: 9 }).length, 0),
  };
}

/** CPU time of a call, in µs. */
async function cpuOf(
  served: Served,
  name: string,
  given: object,
  roundMs: number,
): Promise<number> {
  const load = { ...modern("tools/call", { name, arguments: given }, name), port: served.port };
  const before = await cpuMs(served);
  const { count } = await drive(
    { ...load, connections: CONNECTIONS },
    (_, elapsedMs) => elapsedMs > roundMs,
    (answer) => answer.includes('"text"') && !answer.includes('"isError"'),
  );
  return (1000 * ((await cpuMs(served)) - before)) / count;
}

/** Calls a tool once, so many at a time; resolves when all have answered. */
const calls = (served: Served, name: string, given: object, atOnce = 1) =>
  drive(
    {
      ...modern("tools/call", { name, arguments: given }, name),
      port: served.port,
      connections: atOnce,
    },
    (count) => count >= atOnce,
    (answer) => answer.includes('"text"'),
  );

/**
 * What the isolate holds of the bundled servlets and some in Python, in MB: before a call in Python, after one of each, and
 * while some wait. V8's heap by its inspector, and resident memory, which has the memories of guests and their code too.
 */
async function memoryOf(folder: string, servlets: readonly string[]) {
  const inspector = await freePort();
  const served = await serve(folder, { durable: true, inspector });
  const heap = await heapOf(inspector);
  const now = async () => ({ heap: (await heap()) / 1e6, resident: await residentMB(served) });
  await calls(served, "greet", { name: "Ada" });
  const before = await now();
  for (const name of servlets) await calls(served, `${name}_greet`, { name: "Ada" });
  const after = await now();
  const waiting = calls(served, `${servlets[0]}_wait`, { seconds: 4 }, 4);
  await pause(2000);
  const meanwhile = await now();
  await waiting;
  await stop(served);
  return { before, after, meanwhile };
}

/** Bytes of the modules of a built Worker. */
async function wasmBytes(folder: string): Promise<number> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".wasm"));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  return sizes.reduce((sum, one) => sum + one, 0);
}

/** So many copies of the servlet, whose tools have names of their own. */
async function copies(count: number): Promise<string[]> {
  const text = await readFile("test/python/py/servlet.py", "utf8");
  return Promise.all(
    Array.from({ length: count }, async (_, nth) => {
      const folder = join(SCRATCH, "copies", `py${nth}`);
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, "servlet.py"), text.replaceAll("def py_", `def py${nth}_`));
      return folder;
    }),
  );
}

/** Measures all of this, or the parts that are named: `speed`, `upload`, `memory`. */
export async function benchPython(parts: readonly string[]): Promise<void> {
  const isWanted = (part: string) => parts.length === 0 || parts.includes(part);
  if (isWanted("speed")) await speed();
  if (isWanted("upload")) await upload();
  if (isWanted("memory")) await memory();
}

async function speed(): Promise<void> {
  const both = await built("both", ["test/python/py", "test/python/ts"]);
  const served = await serve(both.folder, { durable: true });
  for (const [work, { given, most }] of Object.entries(WORK)) {
    const ratios: number[] = [];
    const costs: number[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      // The first round is for the compilers.
      const ms = round === 0 ? WARM_UP_MS : ROUND_MS;
      const python = await cpuOf(served, `py_${work}`, given, ms);
      const typescript = await cpuOf(served, `ts_${work}`, given, ms);
      if (round === 0) continue;
      ratios.push(python / typescript);
      costs.push(python);
    }
    console.log(
      `${work.padEnd(6)} ${median(costs).toFixed(0).padStart(6)} µs of CPU in Python, ${median(ratios).toFixed(2)} times TypeScript (at most ${most}): ${ratios.map((one) => one.toFixed(2)).join(" ")}`,
    );
  }
  await stop(served);
}

async function upload(): Promise<void> {
  const alone = await built("alone", ["test/python/py"]);
  const two = await built("two", ["test/python/py", "templates/python"]);
  const mb = (bytes: number) => `${(bytes / 1e6).toFixed(2)} MB`;
  console.log(
    `uploaded, gzipped: ${mb(alone.gzip)} with one servlet in Python (at most 5 MB), ${Math.round((two.gzip - alone.gzip) / 1000)} KB more with another (at most 60 KB)`,
  );
}

async function memory(): Promise<void> {
  for (const count of [1, 10]) {
    const folders = await copies(count);
    const { folder } = await built(`copies-${count}`, [...PLUGINS, ...folders]);
    const all = await memoryOf(
      folder,
      folders.map((one) => basename(one)),
    );
    const modules = (await wasmBytes(folder)) / 1e6;
    console.log(`the bundled servlets and ${count} in Python (at most 128 MB while four wait):`);
    for (const [when, { heap, resident }] of Object.entries(all)) {
      const more = resident - all.before.resident;
      const sum = all.before.heap + modules + more;
      console.log(
        `  ${when.padEnd(10)} ${sum.toFixed(0).padStart(4)} MB: ${modules.toFixed(0)} of modules, ${all.before.heap.toFixed(0)} of V8's heap before a call in Python, ${more.toFixed(0)} resident since (${heap.toFixed(0)} of V8's heap)`,
      );
    }
  }
}
