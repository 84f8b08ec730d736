/**
 * `npm run bench -- coldStart`: CPU time of workerd from its start to the first answer of a plain call, beside an empty
 * Worker in the same run: what an isolate pays before it serves. With 300 servlets more, too; and of an empty Worker whose
 * script has ours in a function that is never called, which V8 reads all the same.
 */
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { transform } from "esbuild";
import { buildWorker, serve, stop, type Options } from "../workerd.ts";
import { buildCheckout } from "./against.ts";
import { fleetOf } from "./fleet.ts";
import { kindsWith } from "./kinds.ts";
import { drive, type Load } from "./load.ts";
import { median } from "./turns.ts";

const ROUNDS = 9;
const MANY = 300;

/** CPU time of all threads of a process that has not ended any, in ms: finer than the ticks of its `stat`. */
async function cpuMs(pid: number): Promise<number> {
  const tasks = await readdir(`/proc/${pid}/task`);
  const stats = tasks.map((task) => readFile(`/proc/${pid}/task/${task}/schedstat`, "utf8"));
  return (await Promise.all(stats)).reduce(
    (sum, stat) => sum + Number(stat.split(" ")[0]) / 1e6,
    0,
  );
}

/** One start, and its first call. */
async function started(folder: string, load: Omit<Load, "port" | "connections">, options: Options) {
  const served = await serve(folder, options);
  await drive(
    { ...load, port: served.port, connections: 1 },
    (count) => count >= 1,
    (body) => /"text":"(Hello|hi)/.test(body),
  );
  const ms = await cpuMs(served.process.pid!);
  await stop(served);
  return ms;
}

/** An empty Worker that has the script of another one, and does not run it. */
async function unrun(empty: string, other: string, folder: string): Promise<string> {
  await cp(empty, folder, { recursive: true });
  const script = await readFile(join(other, "index.js"), "utf8");
  const { code } = await transform(script, { format: "cjs", minify: true });
  const index = join(folder, "index.js");
  const own = await readFile(index, "utf8");
  await writeFile(index, `${own}\nexport function never(module, exports, require) {${code}}`);
  return folder;
}

export async function benchColdStart(): Promise<void> {
  const scratch = join(".bundle", "bench", "cold");
  const { callModern } = kindsWith({ key: {}, token: {} });
  const bare = await buildWorker(join(import.meta.dirname, "empty.ts"), join(scratch, "empty"));
  const ours = await buildCheckout(".", join(scratch, "ours"));
  const fleet = await fleetOf(MANY, ["plugins"]);
  const read = await unrun(bare, ours, join(scratch, "read"));
  const durable = { durable: true } as const;
  const starts = {
    empty: () => started(bare, callModern!, durable),
    "script alone": () => started(read, callModern!, durable),
    bundled: () => started(ours, callModern!, durable),
    [`${MANY} more`]: () => started(fleet.folder, callModern!, durable),
  };
  const took = new Map<string, number[]>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, start] of Object.entries(starts))
      took.set(name, [...(took.get(name) ?? []), await start()]);
  }
  const empty = median(took.get("empty")!);
  for (const [name, all] of took) {
    const cpu = median(all);
    console.log(
      `${name.padEnd(14)} ${cpu.toFixed(1).padStart(7)} ms of CPU, ${(cpu - empty).toFixed(1).padStart(6)} more than empty`,
    );
  }
}
