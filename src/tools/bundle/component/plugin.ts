/**
 * Makes a plugin of a component: its core modules and the glue, merged into one core module that imports what plugins
 * import. So its calls are metered, bounded, restored and recorded as those of any other plugin.
 */
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { contentHash, readIfThere, writeWhole } from "../cache.ts";
import { OWN_EXTENSION } from "../own.ts";
import { Refusal } from "../refusal.ts";
import type { Manifest } from "../../../server/kernel/servlets/manifest.ts";
import { compileAssemblyScript } from "../wasm/assemblyscript.ts";
import { outline, rewrite } from "../wasm/binary.ts";
import { FEATURES, inFolder, optimise, tool, version } from "../wasm/binaryen.ts";
import {
  isComponent,
  readComponent,
  withComponent,
  type ComponentOutline,
  type CoreInstance,
  type CoreItem,
} from "./component.ts";
import { glueOf } from "./glue.ts";
import { LIBRARY } from "./library.ts";
import { policyWarnings } from "./policy.ts";
import { leftOut } from "./tools.ts";

type ModuleInstance = ComponentOutline["instances"][number];
interface Place {
  module: string;
  name: string;
}

const GLUE = "glue";
/** Modules here that a plugin depends on. */
const SOURCES = [
  "component",
  "glue",
  "imports",
  "layout",
  "library",
  "plugin",
  "results",
  "texts",
  "tools",
  "values",
];

/** The plugin in a servlet's Wasm: itself, or made of a component. Throws a `Refusal`. */
export async function asPlugin(
  wasm: Uint8Array<ArrayBuffer>,
  { env_vars = {} }: Manifest,
  cache: string,
  progress: (doing: string) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  if (!isComponent(wasm)) return wasm;
  const variables = Object.keys(env_vars);
  const recipe = contentHash(await ingredients(), JSON.stringify(variables), wasm);
  const path = join(cache, `${recipe.slice(0, 32)}.plugin.wasm`);
  const known = await readIfThere(path);
  if (known !== undefined) return known;
  progress("linking the component");
  const plugin = await withComponent(() => pluginOf(wasm, variables));
  await writeWhole(path, plugin);
  return plugin;
}

/** Warnings about a component and the policy in its folder. */
export async function componentWarnings(component: Uint8Array, folder: string): Promise<string[]> {
  const names = leftOut(readComponent(component)).join(", ");
  const why = "which take or return resources, streams or futures: export functions of values";
  return [
    ...(names === "" ? [] : [`no tools are made of ${names}, ${why}`]),
    ...(await policyWarnings(folder)),
  ];
}

/** Digest of everything that a plugin depends on, other than its component and its variables. */
async function ingredients(): Promise<string> {
  const wasm = ["assemblyscript", "binary", "binaryen", "bytes"].map((name) =>
    join("../wasm", name),
  );
  const own = [...SOURCES, ...wasm].map((name) => name + OWN_EXTENSION);
  const texts = [...own, ...LIBRARY].map((name) =>
    readFile(join(import.meta.dirname, name), "utf8"),
  );
  const compiler = createRequire(import.meta.url)("assemblyscript/package.json") as {
    version: string;
  };
  return contentHash(await version(), compiler.version, ...FEATURES, ...(await Promise.all(texts)));
}

/** The plugin of a component, whose environment has these variables. Throws a `Refusal`. */
async function pluginOf(
  component: Uint8Array,
  variables: readonly string[],
): Promise<Uint8Array<ArrayBuffer>> {
  const parts = readComponent(component);
  const names = new Map(parts.instances.map((one, index) => [one, `core_${index}`]));
  const glue = glueOf(parts, variables);
  const memories = new Set<string>();
  const placeOf = (item: CoreItem): Place => {
    if ("call" in item) return { module: GLUE, name: glue.exportOf(item) };
    return placeIn(item.instance, item.name);
  };
  const placeIn = (instance: CoreInstance, name: string): Place => {
    if ("module" in instance) return { module: names.get(instance)!, name };
    const item = instance.items.get(name);
    if (item === undefined)
      throw new Refusal(`the component is not whole: nothing is given as ${name}`);
    return placeOf(item);
  };
  const starts: Place[] = [];
  const linked = parts.instances.map((one) => {
    if (!WebAssembly.validate(one.module as Uint8Array<ArrayBuffer>))
      throw new Refusal(
        "the component has a core module that is not valid: build or copy it again",
      );
    const { imports, memories: defined, start } = outline(one.module);
    if (defined.length > 0) memories.add(names.get(one)!);
    const place = (item: Place) => placeIn(argument(one, item.module), item.name);
    if (start !== undefined) {
      // wasm-merge does not link a start function that is itself imported.
      const functions = imports.filter(({ kind }) => kind === "function");
      const taken = functions[start];
      starts.push(taken === undefined ? { module: names.get(one)!, name: START } : place(taken));
    }
    return rewrite(one.module, {
      imports: (item) => ({ ...item, ...place(item) }),
      exports: (old) =>
        start === undefined ? old : [...old, { name: START, kind: "function", index: start }],
      dropStart: true,
    });
  });
  if (memories.size > 1)
    throw new Refusal("it is composed of several components: add each as a servlet of its own");
  const [memory] = memories;
  const compiled = await compile(glue.source(starts.length), memory !== undefined);
  const own = rewrite(compiled, {
    imports: (item) => {
      if (item.kind === "memory") return { ...item, module: memory!, name: MEMORY };
      if (item.module === "start") return { ...item, ...starts[Number(item.name)]! };
      const given = glue.imports.get(`${item.module}.${item.name}`);
      return given === undefined ? item : { ...item, ...placeOf(given) };
    },
  });
  return inFolder(async (file) => {
    // The exports of the first keep their names.
    const all = [
      { wasm: own, name: GLUE },
      ...linked.map((wasm, index) => ({ wasm, name: `core_${index}` })),
    ];
    for (const { wasm, name } of all) {
      const exported = name === memory ? withMemory(wasm) : wasm;
      await writeFile(file(`${name}.wasm`), exported);
    }
    const merged = file("merged.wasm");
    await tool("wasm-merge", [
      ...all.flatMap(({ name }) => [file(`${name}.wasm`), name]),
      "--rename-export-conflicts",
      "-o",
      merged,
      ...LINKED_FEATURES,
    ]);
    const out = file("plugin.wasm");
    await optimise([merged, "-o", out, "--simplify-globals", ...LINKED_FEATURES], { short: false });
    return new Uint8Array(
      rewrite(await readFile(out), {
        exports: (old) => old.filter(({ name }) => EXPORTS.has(name)),
      }),
    );
  });
}

/** Modules may begin with values of other modules' globals, which are no constants without `gc` once they are one module. */
const LINKED_FEATURES = [...FEATURES, "--enable-gc"];
const EXPORTS = new Set(["list_tools", "call_tool", "_initialize"]);
const MEMORY = "edge_component_memory";
const START = "edge_component_start";

const withMemory = (wasm: Uint8Array): Uint8Array =>
  rewrite(wasm, { exports: (old) => [...old, { name: MEMORY, kind: "memory", index: 0 }] });

function argument({ args }: ModuleInstance, name: string): CoreInstance {
  const found = args.get(name);
  if (found === undefined)
    throw new Refusal(`the component is not whole: nothing is given as ${name}`);
  return found;
}

/** Compiles the glue; with its own memory if the component has none. */
async function compile(source: string, importsMemory: boolean): Promise<Uint8Array> {
  const flags = ["-O2", "--runtime", "stub", ...(importsMemory ? ["--importMemory"] : [])];
  const { wasm, diagnostics } = await compileAssemblyScript(
    ["glue.ts", ...flags, "--outFile", "glue.wasm"],
    (name) => (name === "glue.ts" ? source : null),
  );
  if (wasm === undefined) throw new Error(`the glue of a component: ${diagnostics}`);
  return wasm;
}
