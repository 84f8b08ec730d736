/**
 * `npm run bench -- fleet`: 300 servlets of one line each, in TypeScript. What it costs to bundle them, to begin to
 * serve them, and to call all of them in turn, beside one of them.
 */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { makeBundle } from "../../../src/tools/bundle/bundle.ts";
import { cpuMs, residentMB, serve, stop, type Served } from "../workerd.ts";
import { modern } from "./kinds.ts";
import { drive } from "./load.ts";
import { buildBundle } from "./plugins.ts";
import { median, WARM_UP_MS } from "./turns.ts";

const MANY = 300;
const ROUNDS = 9;
const ROUND_MS = 500;
const SCRATCH = join(".bundle", "bench", "fleet");

const kilobytes = (bytes: number) => `${(bytes / 1024).toFixed(1)} KB`;

/** Bundles so many servlets, with those of other folders, and builds their Worker. */
export async function fleetOf(count: number, others: readonly string[] = []) {
  const scratch = join(SCRATCH, String(count));
  await rm(scratch, { recursive: true, force: true });
  for (let at = 0; at < count; at++) {
    const folder = join(scratch, "plugins", `one${at}`);
    await mkdir(folder, { recursive: true });
    const tool = `say${at}: { description: "Says hi.", handler: () => "hi ${at}" }`;
    await writeFile(
      join(folder, "servlet.ts"),
      `import { defineServlet } from "edge-servlets/servlet";
export default defineServlet({ tools: { ${tool} } });
`,
    );
  }
  const began = performance.now();
  const cache = join(scratch, "cache");
  const folders = [join(scratch, "plugins"), ...others];
  const members = await makeBundle({ folders, languages: LANGUAGES, cache, progress: () => {} });
  const seconds = (performance.now() - began) / 1000;
  const patches = members.flatMap(({ prepared }) => prepared.patch?.bytes.length ?? []);
  const folder = await buildBundle(members, scratch);
  return { folder, seconds, patchBytes: median(patches) };
}

const callOf = (at: number) => {
  const name = `say${at}`;
  return modern("tools/call", { name, arguments: {} }, name);
};

/** Calls one servlet, or all of them in turn, for a while; CPU time of the process for each call, in µs. */
async function cpuPerCall(
  { port, ...served }: Served,
  count: number,
  roundMs: number,
): Promise<number> {
  const turns = Array.from({ length: count }, (_, at) => callOf(at));
  const load = { ...callOf(0), port, connections: 16, turns };
  const before = await cpuMs({ port, ...served });
  const { count: calls } = await drive(
    load,
    (done, ms) => ms > roundMs && done >= count,
    (body) => body.includes('"text":"hi '),
  );
  return (((await cpuMs({ port, ...served })) - before) * 1000) / calls;
}

export async function benchFleet(): Promise<void> {
  const [small, large] = [await fleetOf(1), await fleetOf(MANY)];
  const startups: number[][] = [[], []];
  for (let round = 0; round < 5; round++) {
    for (const [at, { folder }] of [small, large].entries()) {
      const served = await serve(folder, { durable: true });
      startups[at]!.push(served.startupMs);
      await stop(served);
    }
  }
  const served = await serve(large.folder, { durable: true });
  const ratios: number[] = [];
  try {
    for (let round = 0; round <= ROUNDS; round++) {
      // The first round is for the compilers.
      const ms = round === 0 ? WARM_UP_MS : ROUND_MS;
      const one = await cpuPerCall(served, 1, ms);
      const all = await cpuPerCall(served, MANY, ms);
      if (round > 0) ratios.push(all / one);
    }
    console.log(
      `a clean bundle: ${MANY} servlets in ${large.seconds.toFixed(1)} s, one in ${small.seconds.toFixed(1)} s`,
    );
    console.log(`a servlet of one line: ${kilobytes(large.patchBytes)}`);
    console.log(
      `start-up: ${median(startups[1]!).toFixed(0)} ms, with one servlet ${median(startups[0]!).toFixed(0)} ms`,
    );
    console.log(`resident memory after calls of all: ${Math.round(await residentMB(served))} MB`);
    console.log(
      `a call spread over all: ${median(ratios).toFixed(2)} times the CPU time of calls to one (goal 1.25)`,
    );
  } finally {
    await stop(served);
  }
}
