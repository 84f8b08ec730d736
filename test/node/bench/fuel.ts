/**
 * `npm run bench -- fuel`: what a guest can make the host compute for a unit of fuel, by each kind of
 * instruction and each host function. A unit is worth a nanosecond, so each figure is how many times its
 * price a row takes; above `FAIR` it is marked. Prices are in src/tools/bundle/wasm/fuel.ts and src/server/kernel/core/limits.ts.
 *
 * Each row is a loop in a prepared servlet that runs until its fuel is used up: once compiled by V8's
 * baseline compiler, in which a loop stays that it was entered in, and once by the optimising one.
 */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { assemble, inFolder } from "../../../src/tools/bundle/wasm/binaryen.ts";
import { prepare } from "../../../src/tools/bundle/wasm/prepare.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { dialects } from "../../../src/server/kernel/servlets/dialects.ts";
import type { Answers, Asks } from "../../../src/server/kernel/core/asks.ts";
import { Guest } from "../../../src/server/kernel/wasm/guest.ts";
import { Journal } from "../../../src/server/kernel/wasm/journal.ts";
import { instantiate, runExport } from "../../../src/server/kernel/wasm/link.ts";
import { nobody } from "../../../src/server/kernel/wasm/pool.ts";
import { liveWorld } from "../../../src/server/kernel/wasm/world.ts";
import type { Files } from "../../../src/server/kernel/files/files.ts";
import { fileDeclarations, fileRows, filesOf } from "./fuel-files.ts";
import { hostDeclarations, hostRows, hostSetup } from "./fuel-host.ts";
import {
  exceptionDeclarations,
  exceptionRows,
  plainDeclarations,
  plainRows,
} from "./fuel-instructions.ts";
import type { Row } from "./fuel-rows.ts";

const FAIR = 4;
/** Little, so that most runs are over before the machine does something else. */
const FUEL = 200_000;
/** Others have the machine too: what looks unfair is measured again. */
const REPEATS = 6;
const COMPILERS = { baseline: ["--liftoff-only"], optimising: ["--no-liftoff"] };

interface Kind {
  rows: Row[];
  /** How much each run has; the host's JavaScript is compiled on the way. */
  fuel: number;
  declarations: string;
  setup: string;
  /** The files of a call. */
  filesOf?: (row: Row) => Files;
}

export const KINDS: Record<string, Kind> = {
  instructions: { rows: plainRows, fuel: FUEL, declarations: plainDeclarations, setup: "" },
  /** A module that catches exceptions is counted differently. */
  exceptions: { rows: exceptionRows, fuel: FUEL, declarations: exceptionDeclarations, setup: "" },
  "host functions": {
    rows: hostRows,
    fuel: 20 * FUEL,
    declarations: hostDeclarations,
    setup: hostSetup,
  },
  /** By their worst states: one call of some of these takes several thousand steps. */
  "file functions": {
    rows: fileRows,
    fuel: 100 * FUEL,
    declarations: fileDeclarations,
    setup: "",
    filesOf,
  },
};

const TYPES: Record<string, string> = {
  i: "i32",
  j: "i32",
  a: "i64",
  b: "i64",
  x: "f64",
  y: "f64",
  f: "f32",
  g: "f32",
  v: "v128",
  w: "v128",
};
const locals = Object.entries(TYPES);
/** Locals begin as what lies in memory, and those that a row sets are kept there, so that none is known. */
const begin = locals.map(
  ([name, type], at) => `(local.set $${name} (${type}.load (i32.const ${at * 16})))`,
);
const keep = (body: string) =>
  locals
    .map(([name, type], at) =>
      body.includes(`(local.set $${name} `)
        ? `(${type}.store (i32.const ${at * 16}) (local.get $${name}))`
        : "",
    )
    .join("");

const runs = ({ rows }: Kind) => rows.flatMap((row) => row.times.map((times) => ({ row, times })));

/** A servlet whose tool is the row that its first global names. */
function servlet(kind: Kind): string {
  const functions = runs(kind).map(
    ({ row: { body }, times }, at) =>
      `(func $row${at} ${locals.map(([name, type]) => `(local $${name} ${type})`).join(" ")}
        ${begin.join(" ")} (loop $turn ${body.repeat(times)} ${keep(body)} (br $turn)))`,
  );
  const imports = kind.declarations.match(/^ *\(import .*$/gm) ?? [];
  return `(module ${imports.join("\n")}
    (global $row (mut i32) (i32.const 0))
    (memory (export "memory") 600)
    ${kind.declarations.replaceAll(/^ *\(import .*$/gm, "")}
    (type $nothing (func))
    (table $rows ${functions.length} funcref)
    (elem (table $rows) (i32.const 0) func ${functions.map((_, at) => `$row${at}`).join(" ")})
    ${functions.join("\n")}
    (func (export "call") (result i32) ${kind.setup}
      (call_indirect $rows (type $nothing) (global.get $row)) (i32.const 0)))`;
}

/** The path of the prepared servlet of this kind; a measurement needs it optimised. */
export const prepared = (kind: Kind, { optimise = true } = {}) =>
  inFolder(async (file) => {
    await writeFile(file("servlet.wat"), servlet(kind));
    const plugin = await assemble(file("servlet.wat"));
    const { memoryBytes } = limits;
    return (await prepare(plugin, { memoryBytes, optimise }, ".bundle", () => {})).path;
  });

interface Exports {
  edge_fuel: WebAssembly.Global;
  edge_global_0: WebAssembly.Global;
  memory: WebAssembly.Memory;
}

/** Nanoseconds for a unit of fuel, of each run of a prepared module; the least of several. */
async function measure(path: string, kind: Kind): Promise<number[]> {
  const module = await WebAssembly.compile(await readFile(path));
  const { userFunctions } = dialects["hyper-v2"];
  const figures: number[] = [];
  for (const [at, { row }] of runs(kind).entries()) {
    let least = Infinity;
    for (let repeat = 0; repeat < REPEATS && least > FAIR / 2; repeat++) {
      const setup = {
        ...nobody,
        ...(kind.filesOf && { files: kind.filesOf(row) }),
        config: { key: "value" },
        logLevel: "info" as const,
        world: liveWorld,
        ask: async (asks: Asks): Promise<Answers> =>
          Object.fromEntries(Object.keys(asks).map((key) => [key, { result: {} }])),
      };
      const guest = new Guest(setup, new Journal({ hash: "", input: "" }, liveWorld, undefined));
      const instance = instantiate({ module, userFunctions }, guest);
      const { exports } = instance;
      const { edge_fuel: fuel, edge_global_0: chosen, memory } = exports as unknown as Exports;
      // Pages that were never written are all the same one, which is in every cache.
      if (row.isFar === true) new Uint32Array(memory.buffer).fill(0x2545f491, 50_000);
      chosen.value = at;
      guest.attach(exports, kind);
      const began = performance.now();
      try {
        await runExport(instance, "call");
      } catch (error) {
        if (guest.fuelMeter?.isEmpty !== true)
          throw new Error(`row ${at}: ${String(error)}`, { cause: error });
      }
      const ns = (performance.now() - began) * 1e6;
      least = Math.min(least, ns / (kind.fuel - Number(fuel.value)));
    }
    figures.push(least);
  }
  return figures;
}

/** Runs this file again, under one of V8's compilers. */
async function measureUnder(compiler: keyof typeof COMPILERS, name: string, path: string) {
  const args = [...COMPILERS[compiler], import.meta.filename, name, path];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as number[];
}

export async function benchFuel(): Promise<void> {
  const cells = (name: string, ...others: string[]) =>
    name.padEnd(52) + others.map((one) => one.padStart(12)).join("");
  let worst = { name: "", figure: 0 };
  for (const [name, kind] of Object.entries(KINDS)) {
    const path = await prepared(kind);
    const baseline = await measureUnder("baseline", name, path);
    const optimising = await measureUnder("optimising", name, path);
    console.log(`\n${cells(`ns a unit: ${name}`, "in a turn", ...Object.keys(COMPILERS))}`);
    for (const [at, { row, times }] of runs(kind).entries()) {
      const figure = Math.max(baseline[at]!, optimising[at]!);
      if (figure > worst.figure) worst = { name: row.name, figure };
      const told = [baseline[at]!, optimising[at]!].map((one) => one.toFixed(2));
      console.log(cells(row.name, String(times), ...told) + (figure > FAIR ? "  <" : ""));
    }
  }
  console.log(`\nworst: ${worst.name}, ${worst.figure.toFixed(1)} times its price`);
}

if (process.argv[1] === import.meta.filename) {
  const [name, path] = process.argv.slice(2);
  console.log(JSON.stringify(await measure(path!, KINDS[name!]!)));
}
