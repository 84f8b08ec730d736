/**
 * `npm run bench -- tracking`: what marking its writes (src/bundle/wasm/tracking.ts) costs a guest that
 * computes. Each row is one call of the same plugin, prepared with marks and without, in Node: CPU time of
 * the thread, in turn, and the median of the rounds' ratios. Rows of large plugins need `PLUGIN_CASES`.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build, sourceIn } from "../../../src/bundle/source.ts";
import { bundleScript } from "../../../src/bundle/typescript/script.ts";
import { prepare } from "../../../src/bundle/wasm/prepare.ts";
import { snapshot } from "../../../src/bundle/wasm/snapshot.ts";
import { limits } from "../../../src/limits.ts";
import { dialectOf, dialects } from "../../../src/servlets/dialects.ts";
import { callExport, type Program } from "../../../src/wasm/call.ts";
import { nobody } from "../../../src/wasm/pool.ts";
import { liveWorld } from "../../../src/wasm/world.ts";
import { NOT_GIVEN, pluginFile } from "./plugins.ts";

const TARGET = 1.1;
const ROUNDS = 15;
/** Long beside a clock tick, by which a thread's time is counted. */
const ROUND_MS = 200;
/** Rounds until the optimising compiler has made what the loops run in. */
const WARM_UP = 3;
const CACHE = ".bundle";
const scratch = join(CACHE, "bench", "sort");

const SORT = `import { defineServlet } from "edge-servlets/servlet";
export default defineServlet({
  tools: {
    sort: {
      handler() {
        let seed = 1;
        const numbers = Array.from({ length: 10000 }, () => (seed = (seed * 48271) % 2147483647));
        return String(numbers.sort((a, b) => a - b)[0]);
      },
    },
  },
});
`;

const LOOP = `total = 0
numbers = []
for i in range(50000):
    total += i * i % 7
    numbers.append(total)
`;

const QUERY = `WITH RECURSIVE n(i, x) AS
  (SELECT 1, 1 UNION ALL SELECT i + 1, x * 48271 % 2147483647 FROM n WHERE i < 50000)
  SELECT count(*) FROM (SELECT x FROM n ORDER BY x)`;

interface Row {
  /** A folder with a servlet, or a given plugin. */
  folder?: string;
  plugin?: string;
  tool: string;
  arguments: object;
  env?: Record<string, string>;
}

const ROWS: Record<string, Row> = {
  "QuickJS sorts 10,000 numbers": { folder: scratch, tool: "sort", arguments: {} },
  "C factors a number": {
    folder: "plugins/factor",
    tool: "factor",
    arguments: { number: 999_999_999_989 },
  },
  "RustPython loops": { plugin: "python", tool: "run", arguments: { code: LOOP } },
  "SQLite sorts 50,000 rows": {
    plugin: "ledger",
    tool: "query",
    arguments: { sql: QUERY },
    env: { db_path: ":memory:" },
  },
};

/** A row's call, of the plugin prepared so that it marks its writes from so many pages on. */
async function calling(row: Row, markedPages: number): Promise<() => Promise<void>> {
  const folder = row.folder ?? "";
  const source = row.plugin === undefined ? await sourceIn(folder) : undefined;
  const plugin = source
    ? await build(source, CACHE, () => {})
    : new Uint8Array(await readFile((await pluginFile(row.plugin!))!));
  const prepared = await prepare(
    plugin,
    { memoryBytes: limits.memoryBytes, markedPages },
    CACHE,
    () => {},
  );
  const { patch, exports } =
    source?.kind === "typescript"
      ? await snapshot(prepared, (await bundleScript(source.files[0]!)).text, CACHE)
      : { ...prepared, patch: undefined };
  const program: Program = {
    module: await WebAssembly.compile(prepared.wasm),
    userFunctions: dialects[dialectOf(exports)!].userFunctions,
    ...(patch && { patch: patch.buffer, startsOnce: true }),
  };
  const request = { name: row.tool, arguments: row.arguments };
  const isOld = exports.includes("call");
  const input = JSON.stringify(
    isOld ? { params: request } : { request, context: { id: "1", _meta: {} } },
  );
  return async () => {
    const ending = await callExport(program, isOld ? "call" : "call_tool", input, {
      ...nobody,
      world: liveWorld,
      config: row.env ?? {},
    });
    if (ending.kind !== "returned" || ending.output?.includes('"isError":true'))
      throw new Error(JSON.stringify(ending));
  };
}

/** CPU time in ms of a call, from as many as a round takes. */
async function measure(call: () => Promise<void>): Promise<number> {
  const before = process.threadCpuUsage();
  const began = performance.now();
  let count = 0;
  for (; performance.now() - began < ROUND_MS; count++) await call();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000 / count;
}

const median = (values: number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

export async function benchTracking(): Promise<void> {
  await mkdir(scratch, { recursive: true });
  await writeFile(join(scratch, "servlet.js"), SORT);
  const cells = (name: string, ...others: string[]) =>
    name.padEnd(32) + others.map((one) => one.padStart(14)).join("");
  console.log(cells("CPU ms of a call", "unmarked", "marked", "ratio"));
  for (const [name, row] of Object.entries(ROWS)) {
    if (row.plugin !== undefined && (await pluginFile(row.plugin)) === undefined) {
      console.log(`left out: ${name}: ${NOT_GIVEN}`);
      continue;
    }
    const calls = [await calling(row, Infinity), await calling(row, 0)] as const;
    const [unmarked, marked]: [number[], number[]] = [[], []];
    for (let round = 0; round < WARM_UP + ROUNDS; round++) {
      const [without, withMarks] = [await measure(calls[0]), await measure(calls[1])];
      if (round < WARM_UP) continue;
      unmarked.push(without);
      marked.push(withMarks);
    }
    const ratio = median(marked.map((one, at) => one / unmarked[at]!));
    const told = [median(unmarked), median(marked), ratio].map((one) => one.toFixed(2));
    const verdict = ratio <= TARGET ? "within" : "above";
    console.log(`${cells(name, ...told)}  ${verdict} the target of ${TARGET}`);
  }
}
