/**
 * `npm run bench -- tracking`: what marking its writes (src/tools/bundle/wasm/tracking.ts) costs a guest that
 * computes. Each row is one call of the same plugin, prepared with marks and without, in Node: CPU time of
 * the thread, in turn, and the median of the rounds' ratios. Rows of large plugins need `PLUGIN_CASES`.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { build, sourceIn } from "../../../src/tools/bundle/source.ts";
import { bundleScript, kitScript } from "../../../src/languages/typescript/script.ts";
import { prepare, type Prepared } from "../../../src/tools/bundle/wasm/prepare.ts";
import { snapshot } from "../../../src/tools/bundle/wasm/snapshot.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { dialectOf, dialects } from "../../../src/server/kernel/servlets/dialects.ts";
import { callExport, type Program } from "../../../src/server/kernel/wasm/call.ts";
import { nobody } from "../../../src/server/kernel/wasm/pool.ts";
import { liveWorld } from "../../../src/server/kernel/wasm/world.ts";
import { NOT_GIVEN, pluginFolder } from "./plugins.ts";

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
for turn in range(4):
    numbers = []
    for i in range(50000):
        total += i * i % 7
        numbers.append(total)
`;

const QUERY = `WITH RECURSIVE n(i, x) AS
  (SELECT 1, 1 UNION ALL SELECT i + 1, x * 48271 % 2147483647 FROM n WHERE i < 50000)
  SELECT count(*) FROM (SELECT x FROM n ORDER BY x)`;

interface Row {
  /** Of the servlet; undefined if its plugin was not given. */
  folder: string | undefined;
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
  "RustPython loops": { folder: pluginFolder("python"), tool: "run", arguments: { code: LOOP } },
  "SQLite sorts 50,000 rows": {
    folder: pluginFolder("ledger"),
    tool: "query",
    arguments: { sql: QUERY },
    env: { db_path: ":memory:" },
  },
};

/** The patches that turn an engine into a servlet: that of the kit, and that of its script. */
async function loadedScript(engine: Prepared, entry: string) {
  const { patch: base } = await snapshot(engine, await kitScript(), CACHE);
  const { text } = await bundleScript(entry);
  const { patch, output } = await snapshot(engine, { name: "servlet.js", text }, CACHE, [base]);
  return { base, patch, exports: output as string[] };
}

/** A row's call, of the plugin prepared so that it marks its writes from so many pages on. */
async function calling(
  folder: string,
  row: Row,
  markedPages: number,
): Promise<() => Promise<void>> {
  const source = await sourceIn(folder, LANGUAGES);
  if (source === undefined) throw new Error(`${folder} has no servlet`);
  const plugin = await build(source, CACHE, () => {});
  const prepared = await prepare(
    plugin,
    { memoryBytes: limits.memoryBytes, markedPages },
    CACHE,
    () => {},
  );
  const loaded = source.kind === "typescript" ? await loadedScript(prepared, source.files[0]!) : {};
  const { base, patch, exports } = { ...prepared, ...loaded };
  const dialect = dialectOf(exports)!;
  const program: Program = {
    module: await WebAssembly.compile(prepared.wasm),
    userFunctions: dialects[dialect].userFunctions,
    ...(base && patch && { base: base.bytes.buffer, patch: patch.bytes.buffer, startsOnce: true }),
    // As in a Worker; beside what these calls compute it is little.
    restorable: true,
  };
  const request = { name: row.tool, arguments: row.arguments };
  const isFirst = dialect === "hyper-v1";
  const input = JSON.stringify(
    isFirst ? { params: request } : { request, context: { id: "1", _meta: {} } },
  );
  return async () => {
    const ending = await callExport(program, isFirst ? "call" : "call_tool", input, {
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
    const { folder } = row;
    if (folder === undefined) {
      console.log(`left out: ${name}: ${NOT_GIVEN}`);
      continue;
    }
    const calls = [await calling(folder, row, Infinity), await calling(folder, row, 0)] as const;
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
