/** Finds and compiles the modules of a servlet in Python: its own, those of its packages, and what they need of the library. */
import { glob, readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { contentHash, readIfThere, writeWhole } from "../cache.ts";
import { Refusal } from "../refusal.ts";
import { demandInside } from "../servlet-files.ts";
import { runInterpreter } from "../wasm/snapshot.ts";
import { INTERPRETER_EXPORTS } from "../wasm/prepare.ts";
import type { Compiled, Import, Python } from "./engine.ts";
import { adviceOn } from "./advice.ts";
import { packed, unpacked } from "./packing.ts";

/** The module that a servlet's code begins in. */
export const SERVLET_MODULE = "servlet";

/** A module that is known by its source. */
interface Source {
  name: string;
  path: string;
  isPackage: boolean;
  /** True for the author's own files, whose lines traces show. */
  isOwn: boolean;
  /** The folder that has its package. */
  root: string;
  text: string;
}

export interface Module extends Compiled {
  /** Of the author's own files. */
  source?: string;
  /** It is gone when the servlet is loaded. */
  isBrief?: boolean;
  /** The folder that has its package, for a module of one that reads files. */
  reads?: string;
}

/** Everything that a servlet is loaded from. */
export interface LoadedFrom {
  modules: Module[];
  /** What is to be imported, in order: the servlet, and then what its functions import. */
  imports: { name: string; isTried: boolean }[];
  /** Files of packages that read some, by their paths. */
  data: Map<string, Uint8Array>;
}

/** What a module mentions that reads files of its package, or asks for its version. */
const READS = /\b(?:get_data|resources|resource_\w+|pkg_resources|__file__|metadata)\b/;
/** The most source code of a folder whose modules are imported by computed names, and the most that files of packages have. */
const MOST_COMPUTED_BYTES = 2 * 1024 * 1024;
const MOST_DATA_BYTES = 8 * 1024 * 1024;

/** What the kit may import while a servlet is loaded, to write types down; calls do without. */
const WHILE_LOADING = "_ast_unparse";

/** Encodings that packages may look up by their names. */
const ENCODINGS = ["cp437", "idna", "mac_roman", "punycode", "raw_unicode_escape", "utf_32"].map(
  (name) => `encodings.${name}`,
);

/** Modules of the library that other modules import where it does not show. */
const HIDDEN: Readonly<Record<string, readonly string[]>> = {
  decimal: ["numbers"],
  zipfile: ["encodings.cp437"],
  zoneinfo: ["zoneinfo._common", "zoneinfo._tzpath", "importlib.resources"],
  email: ["email.parser"],
  "email.message": ["email.generator"],
  "importlib.metadata": ["importlib.metadata._adapters"],
  "importlib.resources": ["importlib.resources._adapters", "importlib.resources.readers"],
};

/**
 * The program of the servlet in this file. `packages` are folders of modules beside its own.
 *
 * Throws a `Refusal` with file and line: of a module that is missing, or that is not Python.
 */
export async function modulesOf(
  entry: string,
  packages: readonly string[],
  { interpreter, base, library, present }: Python,
  cache: string,
): Promise<LoadedFrom> {
  const roots = [dirname(entry), ...packages];
  const found = new Map<string, Module>();
  const imports: LoadedFrom["imports"] = [{ name: SERVLET_MODULE, isTried: false }];
  const compile = async (sources: readonly Source[]): Promise<Module[]> => {
    const known = await Promise.all(sources.map((one) => knownOf(one, base.bytes, cache)));
    const missing = sources.filter((_, nth) => known[nth] === undefined);
    const made = missing.length === 0 ? [] : await compiled(missing, { interpreter, base }, cache);
    return sources.map((one, nth) => known[nth] ?? made[missing.indexOf(one)]!);
  };
  let wanted = [SERVLET_MODULE, WHILE_LOADING, ...(packages.length > 0 ? ENCODINGS : [])];
  const next = new Set<string>();
  /** The modules that the servlet and its packages import. */
  const named = new Set<string>();
  /** The folders whose entry points are looked up. */
  const offering = new Set<string>();
  /** Takes what a module needs; gives nothing for an import of what there is not. */
  const want = async (name: string): Promise<boolean> => {
    if (present.has(name)) return true;
    if (found.has(name) || next.has(name) || wanted.includes(name)) return true;
    if (library.has(name) || (await find(name)) !== undefined) {
      next.add(name);
      return true;
    }
    return false;
  };
  const find = async (name: string) =>
    (await sourceOf(name, roots)) ??
    (library.has(name) ? undefined : await namespaceOf(name, roots));
  while (wanted.length > 0) {
    const sources = (await Promise.all(wanted.map(find))).filter((one) => one !== undefined);
    const own = new Map((await compile(sources)).map((one) => [one.name, one]));
    for (const name of wanted) found.set(name, own.get(name) ?? library.get(name)!);
    const brief = found.get(WHILE_LOADING)!;
    found.set(WHILE_LOADING, { ...brief, isBrief: true });
    for (const name of wanted) {
      const module = found.get(name)!;
      const isLibrary = !own.has(name);
      for (const parent of parentsOf(name)) await want(parent);
      for (const hidden of isLibrary ? (HIDDEN[name] ?? []) : []) await want(hidden);
      // The data of time zones are packages without code: https://pypi.org/project/tzdata
      if (name === "zoneinfo" || name.startsWith("tzdata")) {
        const zones = name === "zoneinfo" ? "tzdata" : name;
        for (const one of await modulesBelow(zones, roots)) await want(one);
      }
      if (module.reads !== undefined && !offering.has(module.reads)) {
        offering.add(module.reads);
        for (const one of await entryPointsIn(module.reads)) await want(one);
      }
      for (const one of module.imports) {
        // Of the library, the functions of those modules are looked into that the servlet and its packages name.
        if (one.isLazy && isLibrary && !named.has(name)) continue;
        if (!isLibrary) for (const each of [one.name, ...insideOf(one)]) named.add(each);
        if (one.isAny) {
          for (const each of await modulesBelow(one.name, roots)) await want(each);
          continue;
        }
        const isThere = await want(one.name);
        for (const parent of parentsOf(one.name)) await want(parent);
        const inside = [];
        for (const each of insideOf(one)) if (await want(each)) inside.push(each);
        if (!isThere && !one.isTried && inside.length === 0 && module.source !== undefined)
          throw new Refusal(`${module.path}:${one.line}: ${adviceOn(one.name)}`);
        // What functions of packages import of the library is not loaded until they do.
        if (one.isLazy && isThere && !(module.source === undefined && library.has(one.name)))
          for (const each of [one.name, ...inside])
            imports.push({ name: each, isTried: one.isTried || module.source === undefined });
      }
    }
    wanted = [...next];
    next.clear();
  }
  const modules = [...found.values()].filter((one) => one !== undefined);
  return {
    modules,
    imports,
    data: await dataOf(modules),
  };
}

/** The modules that an import may have meant by what it takes out of one. */
const insideOf = ({ name, names = [] }: Import) => names.map((part) => `${name}.${part}`);

const parentsOf = (name: string) =>
  name
    .split(".")
    .slice(0, -1)
    .map((_, nth, parts) => parts.slice(0, nth + 1).join("."));

/** Where the module of this name is, if it is the author's, which are in the first of the folders, or of a package. */
async function sourceOf(name: string, roots: readonly string[]): Promise<Source | undefined> {
  for (const root of roots) {
    const path = join(root, ...name.split("."));
    for (const [file, isPackage] of [
      [join(path, "__init__.py"), true],
      [`${path}.py`, false],
    ] as const) {
      const text = await readFile(file, "utf8").catch(() => undefined);
      if (text === undefined) continue;
      const isOwn = root === roots[0];
      const shown = isOwn ? relative(".", file) : relative(root, file);
      return { name, path: shown.replaceAll("\\", "/"), isPackage, isOwn, root, text };
    }
  }
  return undefined;
}

/** A folder without `__init__.py`, which is a package as well: https://peps.python.org/pep-0420 */
async function namespaceOf(name: string, roots: readonly string[]): Promise<Source | undefined> {
  const path = name.replaceAll(".", "/");
  for (const root of roots) {
    const state = await stat(join(root, path)).catch(() => undefined);
    if (state?.isDirectory())
      return { name, path: `${path}/`, isPackage: true, isOwn: false, root, text: "" };
  }
  return undefined;
}

/** The modules that are right in a package of the author's or of others, unless they are too many. */
async function modulesBelow(name: string, roots: readonly string[]): Promise<string[]> {
  if (name === "") return [];
  const found: string[] = [];
  let bytes = 0;
  for (const root of roots) {
    const folder = join(root, ...name.split("."));
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      const path = join(folder, entry.name, entry.isDirectory() ? "__init__.py" : "");
      const state = await stat(path).catch(() => undefined);
      if (state === undefined || !path.endsWith(".py") || entry.name === "__init__.py") continue;
      bytes += state.size;
      found.push(`${name}.${entry.name.replace(/\.py$/, "")}`);
    }
  }
  return bytes > MOST_COMPUTED_BYTES ? [] : found;
}

/** The modules that a package names for those who look for its kind: https://packaging.python.org/specifications/entry-points */
async function entryPointsIn(root: string): Promise<string[]> {
  const found: string[] = [];
  for await (const file of glob("*.dist-info/entry_points.txt", { cwd: root })) {
    const groups = (await readFile(join(root, file), "utf8")).split(/^\[/m);
    for (const group of groups.filter((one) => !/^(console|gui)_scripts\]/.test(one)))
      found.push(...[...group.matchAll(/^[^=\n]*=\s*([\w.]+)/gm)].map(([, name]) => name!));
  }
  return found;
}

/** The files that packages have beside their modules, with what is said of them. Throws a `Refusal` where they are too large, or elsewhere. */
async function dataOf(modules: readonly Module[]): Promise<Map<string, Uint8Array>> {
  const folders = new Set(
    modules.flatMap(({ name, reads }) =>
      reads === undefined ? [] : join(reads, name.split(".")[0]!),
    ),
  );
  const found = new Map<string, Uint8Array>();
  let bytes = 0;
  for (const folder of folders) {
    const root = dirname(folder);
    await demandInside(root, basename(folder));
    const inside = ["*.dist-info/{METADATA,entry_points.txt}", `${basename(folder)}/**/*`];
    for await (const entry of glob(inside, { cwd: root, withFileTypes: true })) {
      const file = join(entry.parentPath, entry.name);
      const path = relative(root, file).replaceAll("\\", "/");
      if (!entry.isFile() || /\.(pyi?|pyc|typed)$|(^|\/)tests?\//.test(path)) continue;
      const data = new Uint8Array(await readFile(file));
      bytes += data.length;
      if (bytes > MOST_DATA_BYTES)
        throw new Refusal(
          `the files of its packages, such as ${path}, have more than ${MOST_DATA_BYTES} bytes: use a package with fewer`,
        );
      found.set(path, data);
    }
  }
  return found;
}

const keyOf = ({ name, path, isPackage, text }: Source, base: Uint8Array) =>
  contentHash(base, JSON.stringify({ name, path, isPackage }), text).slice(0, 32);

async function knownOf(
  source: Source,
  base: Uint8Array,
  cache: string,
): Promise<Module | undefined> {
  const bytes = await readIfThere(join(cache, `${keyOf(source, base)}.python.bin`));
  return bytes && moduleOf(source, bytes);
}

function moduleOf({ name, path, isPackage, isOwn, root, text }: Source, bytes: Uint8Array): Module {
  const { head, parts } = unpacked<{ imports: Import[] }>(bytes);
  return {
    name,
    path,
    isPackage,
    imports: head.imports,
    code: parts[0]!,
    ...(isOwn ? { source: text } : (READS.test(text) || name === "tzdata") && { reads: root }),
  };
}

/** Compiles modules in one instance, and notes the results. Throws a `Refusal` for those that are not Python. */
async function compiled(
  sources: readonly Source[],
  { interpreter, base }: Pick<Python, "interpreter" | "base">,
  cache: string,
): Promise<Module[]> {
  const modules = sources.map(({ name, path, isPackage }) => ({ name, path, isPackage }));
  const texts = sources.map(({ text }) => new TextEncoder().encode(text));
  const answer = await runInterpreter(
    interpreter,
    base,
    INTERPRETER_EXPORTS.compile,
    packed({ modules }, texts),
  );
  const { head, parts } = unpacked<{ modules: { imports: Import[]; error?: string }[] }>(answer);
  const wrong = head.modules.flatMap(({ error }) => error ?? []);
  if (wrong.length > 0) throw new Refusal(wrong.join("\n"));
  return Promise.all(
    sources.map(async (source, nth) => {
      const bytes = packed({ imports: head.modules[nth]!.imports }, [parts[nth]!]);
      await writeWhole(join(cache, `${keyOf(source, base.bytes)}.python.bin`), bytes);
      return moduleOf(source, bytes);
    }),
  );
}
