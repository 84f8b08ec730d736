/**
 * Makes a prepared servlet of a plugin's wasm: checked, our kernel merged in, imports and start
 * functions under names of our own, memories bounded, optimised and stripped.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { limits } from "../limits.ts";
import {
  NUMBER_TYPES,
  outline,
  rewrite,
  type Export,
  type Import,
  type Outline,
} from "./binary.ts";
import { FEATURES, inFolder, optimise as optimised, tool, version } from "./binaryen.ts";
import { readIfThere, contentHash, writeWhole } from "../cache.ts";
import { shared } from "../work.ts";
import { metered } from "./fuel.ts";
import {
  check,
  everyInstruction,
  KERNEL,
  kernelFunctions,
  NAMESPACES,
  SERVLET_EXPORTS,
} from "./check.ts";
import { OP } from "./instructions.ts";
import { tracked } from "./tracking.ts";
import { starter, startFunctions } from "./start.ts";
import { OWN_EXTENSION } from "../own.ts";
import { Refusal } from "../refusal.ts";

/** A file of the cache. */
export interface Cached {
  path: string;
  bytes: Uint8Array<ArrayBuffer>;
}

export interface Prepared {
  wasm: Uint8Array<ArrayBuffer>;
  /** Path in the cache. */
  path: string;
  /** SHA-256 of the prepared wasm, in hex. */
  hash: string;
  /** Of an interpreter: the patch that its servlets share. */
  base?: Cached;
  /** Of an interpreter: the patch over the base that its servlets with the same packages share. */
  packages?: Cached;
  /** Makes an instance, or an interpreter's with the base, one in which calls begin. */
  patch?: Cached;
  /** Why an instance cannot be restored to its pristine state; absent if it can. */
  unrestorable?: string;
  /** The servlet's own exports. */
  exports: string[];
  /** The host functions that it imports, as `namespace.name` of the prepared wasm. */
  imports: string[];
}

export interface PrepareOptions {
  /** The most memory of an instance. */
  memoryBytes: number;
  /** From so many pages of memory on, a guest marks what it writes. */
  markedPages?: number;
  /** Runs the optimiser, which takes most of the time: what a guest does and its fuel are the same without. */
  optimise?: boolean;
}

/** Where nothing else is said: from there on, marks save more than they cost. */
const MARKED_PAGES = 4;

/**
 * Further exports of the JavaScript interpreter: to compile and load a script, to run modules that depend on the environment, and to
 * collect garbage before state is stored.
 */
export const INTERPRETER_EXPORTS = {
  compile: "edge_compile",
  load: "edge_load",
  environment: "edge_environment",
  collect: "edge_collect",
};

/** Functions that set a guest up before its image is taken: https://github.com/bytecodealliance/wizer */
const WIZER_EXPORTS = new Set(["wizer-initialize", "wizer.initialize"]);

const PAGE = 65536;

/**
 * Prepares one plugin. `cache` is a folder of earlier results by content; `progress` reports where
 * there is none.
 *
 * Throws a `Refusal` where the file is no servlet.
 */
export async function prepare(
  plugin: Uint8Array<ArrayBuffer>,
  options: PrepareOptions,
  cache: string,
  progress: (doing: string) => void,
): Promise<Prepared> {
  const { path, guest, ...how } = await resultOf(plugin, options, cache);
  const exports = guest.exports.map(({ name }) => name).filter((name) => SERVLET_EXPORTS.has(name));
  const { wasm, unrestorable } = await shared(path, () =>
    transformed(plugin, guest, path, { ...how, progress }),
  );
  const module = await WebAssembly.compile(wasm);
  return {
    wasm,
    path,
    hash: contentHash(wasm),
    ...(unrestorable === "" ? {} : { unrestorable }),
    exports,
    imports: WebAssembly.Module.imports(module).map((one) => `${one.module}.${one.name}`),
  };
}

/**
 * Where in `cache` the result of preparing a plugin is, or will be: its name says all that it depends on. Beside it, with
 * the ending `state.txt`, stands why its instances cannot be restored.
 *
 * Throws a `Refusal` where the file is no servlet.
 */
export async function resultOf(
  plugin: Uint8Array<ArrayBuffer>,
  { memoryBytes, markedPages = MARKED_PAGES, optimise = true }: PrepareOptions,
  cache: string,
) {
  const guest = await check(plugin);
  const maximumPages = Math.floor(memoryBytes / PAGE);
  for (const memory of guest.memories) {
    if (memory.initial > maximumPages) {
      throw new Refusal(
        `it starts with ${memory.initial * 64} KiB of memory, more than its limit of ${maximumPages * 64} KiB: raise memory_limit in servlet.json`,
      );
    }
  }
  const isMarked = guest.memories[0] !== undefined && guest.memories[0].initial >= markedPages;
  const recipe = contentHash(
    await ingredients(),
    `${maximumPages} ${isMarked} ${optimise}`,
    plugin,
  );
  const path = join(cache, `${recipe.slice(0, 32)}.wasm`);
  return { path, guest, maximumPages, isMarked, optimise };
}

interface Transformation {
  maximumPages: number;
  isMarked: boolean;
  optimise: boolean;
  progress: (doing: string) => void;
}

/** The prepared wasm at a path of the cache, and why its instances cannot be restored; empty if they can. */
async function transformed(
  plugin: Uint8Array<ArrayBuffer>,
  guest: Outline,
  path: string,
  { progress, ...options }: Transformation,
): Promise<{ wasm: Uint8Array<ArrayBuffer>; unrestorable: string }> {
  const note = path.replace(/wasm$/, "state.txt");
  const [known, state] = [await readIfThere(path), await readIfThere(note)];
  if (known !== undefined && state !== undefined) {
    return { wasm: known, unrestorable: new TextDecoder().decode(state) };
  }
  progress("preparing");
  const wasm = new Uint8Array(await transform(plugin, guest, options));
  const unrestorable = lastingChanges(wasm);
  await writeWhole(path, wasm);
  await writeWhole(note, unrestorable);
  return { wasm, unrestorable };
}

/**
 * Says why an instance cannot be restored by its memories and numeric globals: it changes tables, drops
 * segments, or has globals of other types. Empty if it can.
 */
function lastingChanges(wasm: Uint8Array): string {
  const found = new Set<string>();
  everyInstruction(wasm, ({ opcode, sub }) => {
    const name = opcode === OP.bulk ? LASTING_BULK[sub!] : undefined;
    if (name !== undefined) found.add(name);
    if (opcode === OP.tableSet) found.add("table.set");
  });
  if (outline(wasm).globals.some(({ type, isMutable }) => isMutable && !NUMBER_TYPES.has(type)))
    found.add("globals that are no numbers");
  return found.size === 0 ? "" : `it uses ${[...found].join(", ")}`;
}

/** Instructions with the prefix 0xfc that change tables or drop segments. */
const LASTING_BULK: Readonly<Record<number, string>> = {
  9: "data.drop",
  12: "table.init",
  13: "elem.drop",
  14: "table.copy",
  15: "table.grow",
  17: "table.fill",
};

/** Digest of everything that the result depends on, other than the plugin and its memory limit. */
async function ingredients(): Promise<string> {
  const own = [
    KERNEL,
    ...[
      "prepare",
      "binary",
      "bytes",
      "fuel",
      "instructions",
      "prices",
      "paths",
      "function-body",
      "tracking",
      "marking",
      "symbols",
      "../../../server/kernel/wasm/marks",
      "start",
    ].map((name) => join(import.meta.dirname, name + OWN_EXTENSION)),
  ];
  const texts = await Promise.all(own.map((file) => readFile(file, "utf8")));
  return contentHash(
    await version(),
    ...FEATURES,
    String(limits.tableEntries),
    String(limits.tableOverhead),
    JSON.stringify([[...SERVLET_EXPORTS], NAMESPACES]),
    // Where it imports from decides nothing.
    ...texts.map((text) => text.replaceAll(/^import [^;]+;\n/gm, "")),
  );
}

function renamed(one: Import, kernel: Set<string>): Import {
  if (one.module === "extism:host/env" && kernel.has(one.name)) return one;
  return { ...one, module: NAMESPACES[one.module] ?? one.module };
}

async function transform(
  plugin: Uint8Array,
  guest: Outline,
  { maximumPages, isMarked, optimise }: Omit<Transformation, "progress">,
): Promise<Uint8Array> {
  everyInstruction(plugin);
  const kernel = await kernelFunctions();
  const starts = startFunctions(guest);
  const own = rewrite(plugin, {
    imports: (one) => renamed(one, kernel),
    exports: (old) => [
      ...old.filter(({ name, kind }) => kind === "function" && SERVLET_EXPORTS.has(name)),
      ...(guest.memories.length > 0 ? [memoryExport] : []),
      // The state of an instance that lies outside of its memories.
      ...guest.mutableGlobals.map((index, at): Export => ({
        name: `edge_global_${at}`,
        kind: "global",
        index,
      })),
      ...old.filter(({ name }) => Object.values(INTERPRETER_EXPORTS).includes(name)),
      ...old
        .filter(({ name, kind }) => kind === "function" && WIZER_EXPORTS.has(name))
        .slice(0, 1)
        .map((one) => ({ ...one, name: "edge_wizer" })),
      ...starts.map(({ index }, at): Export => ({
        name: `edge_start_${at}`,
        kind: "function",
        index,
      })),
    ],
    dropStart: true,
  });
  return inFolder(async (file) => {
    await writeFile(file("guest.wasm"), own);
    await writeFile(file("start.wat"), starter(starts));
    await tool("wasm-merge", [
      file("guest.wasm"),
      "guest",
      KERNEL,
      "extism:host/env",
      ...(starts.length > 0 ? [file("start.wat"), "edge:start"] : []),
      "-o",
      file("merged.wasm"),
      ...FEATURES,
    ]);
    const bounded = rewrite(await readFile(file("merged.wasm")), {
      exports: (old) =>
        old.filter(
          ({ name }) =>
            SERVLET_EXPORTS.has(name) ||
            name === "memory" ||
            (name.startsWith("edge_") && !name.startsWith("edge_start_")),
        ),
      maximumPages,
      maximumTableEntries: limits.tableEntries,
    });
    const paying = metered(bounded);
    const done = guest.memories.length === 0 ? paying : tracked(paying, maximumPages, isMarked);
    if (!optimise) return rewrite(done, {});
    await writeFile(file("metered.wasm"), done);
    const out = file("optimised.wasm");
    await optimised([file("metered.wasm"), "-o", out, "-O2", ...STRIP, ...FEATURES], {
      short: done.length < LONG_BYTES,
    });
    return readFile(out);
  });
}

const memoryExport: Export = { name: "memory", kind: "memory", index: 0 };
/** Modules of so many bytes keep the optimiser busy for seconds. */
const LONG_BYTES = 1 << 20;
const STRIP = ["--strip-debug", "--strip-producers", "--strip-target-features"];
