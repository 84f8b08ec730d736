/** Finds and compiles a Python servlet's modules: its own, those of packages, and the required library modules. */
import { glob, readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { contentHash, readIfThere, writeWhole } from "../../tools/bundle/cache.ts";
import { readableText } from "../../tools/bundle/readable-files.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import { demandInside } from "../../tools/bundle/servlet-files.ts";
import { runInterpreter } from "../../tools/bundle/wasm/snapshot.ts";
import { INTERPRETER_EXPORTS } from "../../tools/bundle/wasm/prepare.ts";
import type { Compiled, ModuleImport, Python, Use } from "./engine.ts";
import {
  adviceOn,
  adviceOnPart,
  adviceOnRelative,
  isAdvised,
  isProvided,
  warningOn,
} from "./advice.ts";
import { packed, unpacked } from "./packing.ts";

/** The name of a servlet's main module. */
export const SERVLET_MODULE = "servlet";

/** The source of a module that is not in the library. */
interface Source {
  name: string;
  path: string;
  isPackage: boolean;
  /** True for the author's own files, whose lines tracebacks show. */
  isOwn: boolean;
  /** The root folder that contains it. */
  root: string;
  text: string;
}

export interface Module extends Compiled {
  /** Names that the source uses. Absent for library modules. */
  uses?: Use[];
  /** The source text. Only for the author's own files. */
  source?: string;
  /** The root folder of its package, if the module may read the package's files or metadata. */
  reads?: string;
}

/** The modules, imports and files of a servlet. */
export interface LoadedFrom {
  modules: Module[];
  /** The imports to run, in order: the servlet, then modules that functions import. */
  imports: { name: string; isOptional: boolean }[];
  /** Files of packages whose modules may read them, by path. */
  data: Map<string, Uint8Array>;
  /** Warnings about the author's code, with file and line. */
  warnings: string[];
}

/** Names that show that a module reads files or metadata of its package. */
const READS = /\b(?:get_data|resources|resource_\w+|pkg_resources|__file__|metadata)\b/;
/** Maximum source size of a folder for imports by computed names. Above it, such imports are not followed. */
const MOST_COMPUTED_BYTES = 2 * 1024 * 1024;
/**
 * Maximum number of characters that one instance compiles. The densest code uses half of the fuel, most code a tenth.
 */
const MOST_COMPILED = 200_000;
/** Maximum total size of package files. */
const MOST_DATA_BYTES = 8 * 1024 * 1024;

/** A module that the kit uses only to describe types. It is removed after loading, because calls do not need it. */
export const LOADING_MODULE = "_ast_unparse";

/** Encodings that packages may look up by name. */
const ENCODINGS = ["cp437", "idna", "mac_roman", "punycode", "raw_unicode_escape", "utf_32"].map(
  (name) => `encodings.${name}`,
);

/** Imports of library modules that their source does not show, by importing module. */
const HIDDEN: Readonly<Record<string, readonly string[]>> = {
  decimal: ["numbers"],
  "encodings.idna": ["encodings.punycode"],
  zipfile: ["encodings.cp437"],
  zoneinfo: ["zoneinfo._common", "zoneinfo._tzpath", "importlib.resources"],
  email: ["email.parser"],
  "email.message": ["email.generator"],
  sqlite3: ["sqlite3.dump"],
  "xml.dom.domreg": ["xml.dom.minidom"],
  "concurrent.futures": ["concurrent.futures.thread"],
  "importlib.metadata": ["importlib.metadata._adapters"],
  "importlib.resources": ["importlib.resources._adapters", "importlib.resources.readers"],
};

/**
 * Large modules that library functions import for rare uses, by importing module. They are included only if the servlet
 * or a package imports the importing module itself: the library imports `shutil` for `get_terminal_size`, not for
 * archives.
 */
const RARE: Readonly<Record<string, readonly string[]>> = {
  shutil: ["tarfile", "zipfile"],
  pathlib: ["urllib.request", "urllib.error"],
  "email.message": ["email.policy"],
  "urllib.request": ["http.cookiejar", "mimetypes"],
  "xml.dom.xmlbuilder": ["urllib.request"],
};

/**
 * The modules, imports and data files of a servlet. `packages` are folders of modules besides the servlet's own.
 *
 * Throws a `Refusal` with file and line for an import of a missing module, and for invalid Python.
 */
export async function modulesOf(
  entry: string,
  packages: readonly string[],
  { interpreter, base, library, present }: Python,
  cache: string,
): Promise<LoadedFrom> {
  const roots = [dirname(entry), ...packages];
  const found = new Map<string, Module>();
  const imports: LoadedFrom["imports"] = [{ name: SERVLET_MODULE, isOptional: false }];
  const compile = async (sources: readonly Source[]): Promise<Module[]> => {
    const known = await Promise.all(sources.map((one) => knownOf(one, base.bytes, cache)));
    const missing = sources.filter((_, nth) => known[nth] === undefined);
    const made = missing.length === 0 ? [] : await compiled(missing, { interpreter, base }, cache);
    return sources.map((one, nth) => known[nth] ?? made[missing.indexOf(one)]!);
  };
  const find = async (name: string) =>
    (await sourceOf(name, isProvided(name) && library.has(name) ? roots.slice(0, 1) : roots)) ??
    (library.has(name) ? undefined : await namespaceOf(name, roots));
  /** The modules of the next round. The source is undefined for a library module. */
  const next = new Map<string, Promise<Source | undefined>>();
  /** Adds a module to the next round unless it is known. False if there is no such module. */
  const want = async (name: string): Promise<boolean> => {
    if (present.has(name) || found.has(name) || next.has(name)) return true;
    const source = find(name);
    if (!library.has(name) && (await source) === undefined) return false;
    next.set(name, source);
    return true;
  };
  /** The modules that the servlet and its packages import. */
  const named = new Set<string>();
  const addNamed = async (imported: string) => {
    if (named.has(imported)) return;
    named.add(imported);
    // A found module has been scanned without `RARE`; a present module is never scanned.
    const others = found.has(imported) ? RARE : present.has(imported) ? HIDDEN : {};
    for (const one of others[imported] ?? []) await want(one);
  };
  /** The first warning about each package, by package name. */
  const failing = new Map<string, string>();
  await want(SERVLET_MODULE);
  await want(LOADING_MODULE);
  for (const name of packages.length > 0 ? ENCODINGS : []) await want(name);
  while (next.size > 0) {
    const wanted = [...next.keys()];
    const sources = (await Promise.all(next.values())).filter((one) => one !== undefined);
    next.clear();
    const own = new Map((await compile(sources)).map((one) => [one.name, one]));
    for (const name of wanted) found.set(name, own.get(name) ?? library.get(name)!);
    for (const importer of wanted) {
      const module = found.get(importer)!;
      const isLibrary = !own.has(importer);
      const isAuthors = module.source !== undefined;
      for (const one of await companionsOf(module, isLibrary, roots)) await want(one);
      for (const one of module.imports) {
        if (one.name.startsWith(".")) {
          if (!one.isOptional && isAuthors)
            throw new Refusal(`${module.path}:${one.line}: ${adviceOnRelative(one)}`);
          continue;
        }
        if (one.isLazy && isLibrary && !named.has(importer) && RARE[importer]?.includes(one.name))
          continue;
        if (!isLibrary) for (const each of [one.name, ...submodulesOf(one)]) await addNamed(each);
        if (one.isComputed) {
          for (const each of await modulesBelow(one.name, roots)) await want(each);
          continue;
        }
        const isThere = await want(one.name);
        for (const parent of parentsOf(one.name)) await want(parent);
        const inside: string[] = [];
        for (const each of submodulesOf(one)) if (await want(each)) inside.push(each);
        const advice =
          !isThere && inside.length === 0
            ? adviceOn(one.name)
            : adviceOnPart(submodulesOf(one).filter((each) => !inside.includes(each)));
        const said = `${module.path}:${one.line}: ${advice}`;
        if (advice !== undefined && !one.isOptional && isAuthors) throw new Refusal(said);
        // A failing import at module scope fails in the bundle step; in a function, it fails during a call.
        const isFailing = advice !== undefined && one.isLazy && !one.isOptional && !isLibrary;
        const [owner] = importer.split(".") as [string];
        if (isFailing && isAdvised(one.name))
          failing.getOrInsert(owner, `${said}, so what needs it fails`);
        // Library modules that only functions of packages import are loaded on demand.
        if (one.isLazy && isThere && (isAuthors || !library.has(one.name)))
          for (const each of [one.name, ...inside])
            imports.push({ name: each, isOptional: one.isOptional || !isAuthors });
      }
    }
  }
  const modules = [...found.values()];
  return {
    modules,
    imports,
    data: await dataOf(modules),
    warnings: [...warningsOf(modules), ...failing.values()],
  };
}

/** Warnings about names in the author's code that have no effect in a servlet. */
function warningsOf(modules: readonly Module[]): string[] {
  const hasZones = modules.some(({ name }) => name === "tzdata");
  return modules
    .filter(({ source }) => source !== undefined)
    .flatMap(({ path, imports, uses = [] }) => {
      const used = [...uses];
      for (const one of imports.filter(({ isOptional }) => !isOptional))
        used.push(one, ...submodulesOf(one).map((name) => ({ name, line: one.line })));
      return used.flatMap(({ name, line }) => {
        const warning =
          name === "zoneinfo" && !hasZones
            ? "zoneinfo: a servlet has no time zones of its own: name tzdata in requirements.txt"
            : warningOn(name);
        return warning === undefined ? [] : [`${path}:${line}: ${warning}`];
      });
    });
}

/** Modules that a module needs although its source does not import them. */
async function companionsOf(
  { name, reads }: Module,
  isLibrary: boolean,
  roots: readonly string[],
): Promise<string[]> {
  // Time zone data is in packages without code: https://pypi.org/project/tzdata
  const zones = name === "zoneinfo" ? "tzdata" : name.startsWith("tzdata") ? name : "";
  return [
    ...parentsOf(name),
    ...(isLibrary ? (HIDDEN[name] ?? []) : []),
    ...(await modulesBelow(zones, roots)),
    ...(reads === undefined ? [] : await entryPointsIn(reads)),
  ];
}

/** The possible modules of an import: in `from a import b`, b may be a module `a.b`. */
const submodulesOf = ({ name, names = [] }: ModuleImport) => names.map((part) => `${name}.${part}`);

const parentsOf = (name: string) =>
  name
    .split(".")
    .slice(0, -1)
    .map((_, nth, parts) => parts.slice(0, nth + 1).join("."));

/** Finds the source of a module. The first root has the author's modules, the others have packages. */
async function sourceOf(name: string, roots: readonly string[]): Promise<Source | undefined> {
  for (const root of roots) {
    const path = join(root, ...name.split("."));
    for (const [file, isPackage] of [
      [join(path, "__init__.py"), true],
      [`${path}.py`, false],
    ] as const) {
      const text = await readableText(root, file);
      if (text === undefined) continue;
      const isOwn = root === roots[0];
      const shown = isOwn ? relative(".", file) : relative(root, file);
      return { name, path: shown.replaceAll("\\", "/"), isPackage, isOwn, root, text };
    }
  }
  return undefined;
}

/** An empty source for a namespace package, a folder without `__init__.py`: https://peps.python.org/pep-0420 */
async function namespaceOf(name: string, roots: readonly string[]): Promise<Source | undefined> {
  const path = name.replaceAll(".", "/");
  for (const root of roots) {
    const state = await stat(join(root, path)).catch(() => undefined);
    if (state?.isDirectory())
      return { name, path: `${path}/`, isPackage: true, isOwn: false, root, text: "" };
  }
  return undefined;
}

/** The direct submodules of a package outside of the library; none if they exceed `MOST_COMPUTED_BYTES`. */
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

/** The modules in the entry points of a folder's packages: https://packaging.python.org/specifications/entry-points */
async function entryPointsIn(root: string): Promise<string[]> {
  const found: string[] = [];
  for await (const file of glob("*.dist-info/entry_points.txt", { cwd: root })) {
    const groups = ((await readableText(root, join(root, file), { asData: true })) ?? "").split(
      /^\[/m,
    );
    for (const group of groups.filter((one) => !/^(console|gui)_scripts\]/.test(one)))
      found.push(...[...group.matchAll(/^[^=\n]*=\s*([\w.]+)/gm)].map(([, name]) => name!));
  }
  return found;
}

/**
 * Package files and metadata that modules may read. Throws a `Refusal` for too much data or a link out of the folder.
 */
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
      if (!entry.isFile() || /\.(pyi?|pyc|typed)$|(^|\/)(tests?\/|\.)/.test(path)) continue;
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

/** The cache key of a module's bytecode. */
const keyOf = ({ name, path, isPackage, text }: Source, base: Uint8Array) =>
  contentHash(base, JSON.stringify({ name, path, isPackage }), text).slice(0, 32);

/** The cached module, if any. */
async function knownOf(
  source: Source,
  base: Uint8Array,
  cache: string,
): Promise<Module | undefined> {
  const bytes = await readIfThere(join(cache, `${keyOf(source, base)}.python.bin`));
  return bytes && moduleOf(source, bytes);
}

function moduleOf({ name, path, isPackage, isOwn, root, text }: Source, bytes: Uint8Array): Module {
  const { head, parts } = unpacked<{ imports: ModuleImport[]; uses?: Use[] }>(bytes);
  return {
    name,
    path,
    isPackage,
    imports: head.imports,
    uses: head.uses,
    code: parts[0]!,
    ...(isOwn ? { source: text } : (READS.test(text) || name === "tzdata") && { reads: root }),
  };
}

/** Compiles modules and caches the results. Throws a `Refusal` for invalid Python. */
async function compiled(
  sources: readonly Source[],
  python: Pick<Python, "interpreter" | "base">,
  cache: string,
): Promise<Module[]> {
  const made: Module[] = [];
  for (const batch of batchesOf(sources)) made.push(...(await compiledBatch(batch, python, cache)));
  return made;
}

/** Splits modules into batches for which one instance has enough fuel and memory. */
function batchesOf(sources: readonly Source[]): Source[][] {
  const batches: Source[][] = [];
  let batch: Source[] = [];
  let size = Infinity;
  for (const source of sources) {
    size += source.text.length;
    if (size > MOST_COMPILED) {
      batches.push((batch = []));
      size = source.text.length;
    }
    batch.push(source);
  }
  return batches;
}

async function compiledBatch(
  sources: readonly Source[],
  { interpreter, base }: Pick<Python, "interpreter" | "base">,
  cache: string,
): Promise<Module[]> {
  const modules = sources.map(({ name, path, isPackage }) => ({ name, path, isPackage }));
  const texts = sources.map(({ text }) => new TextEncoder().encode(text));
  const answer = await runInterpreter(
    interpreter,
    [base],
    INTERPRETER_EXPORTS.compile,
    packed({ modules }, texts),
  );
  const { head, parts } = unpacked<{
    modules: { imports: ModuleImport[]; uses?: Use[]; error?: string }[];
  }>(answer);
  const wrong = head.modules.flatMap(({ error }) => error ?? []);
  if (wrong.length > 0) throw new Refusal(wrong.join("\n"));
  return Promise.all(
    sources.map(async (source, nth) => {
      const { imports, uses } = head.modules[nth]!;
      const bytes = packed({ imports, uses }, [parts[nth]!]);
      await writeWhole(join(cache, `${keyOf(source, base.bytes)}.python.bin`), bytes);
      return moduleOf(source, bytes);
    }),
  );
}
