/** Finds the Python interpreter of servlets: CPython with the kit, from a package of its own. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { OWN_FOLDER } from "../../tools/bundle/own.ts";
import { unpack } from "../../tools/bundle/packs.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import { shared } from "../../tools/bundle/work.ts";
import type { StartedInterpreter } from "../../tools/bundle/language.ts";
import type { Cached } from "../../tools/bundle/wasm/prepare.ts";
import { unpacked } from "./packing.ts";

/** The npm package with Python, and the one file in it that has everything: see `package/python/README.md`. */
export const PACKAGE = "@edge-servlets/python";
export const PACK = "python.bin";

/** Endings of the names of the files in the pack, which also has those that `prepare` caches. */
export const PACK_PARTS = { plugin: ".python.wasm", base: ".base.bin", library: ".library.bin" };

/** An import statement or call in a module's source. */
export interface ModuleImport {
  /** Absolute; it begins with dots only where a relative import leads out of all packages. */
  name: string;
  /** The names in `from … import names`; any of them may be a submodule. */
  names?: string[];
  line: number;
  /** True inside a function: it does not run when the module is loaded. */
  isLazy: boolean;
  /** True if the importing module handles its absence. */
  isOptional: boolean;
  /** True if the name is computed: it may be any module of the package `name`. */
  isComputed?: boolean;
}

/** Where a module's source uses something that a servlet has not: `os.environ`, `os.getenv` or `__file__`. */
export interface Use {
  name: string;
  line: number;
}

/** A module as bytecode. */
export interface Compiled {
  name: string;
  /** Its file, as tracebacks show it. */
  path: string;
  isPackage: boolean;
  imports: ModuleImport[];
  code: Uint8Array;
}

export interface Python extends StartedInterpreter {
  /** The modules of the standard library and the kit, by name. */
  library: ReadonlyMap<string, Compiled>;
  /** Names of modules that are built into Python or that the base has loaded. */
  present: ReadonlySet<string>;
}

/** Python as a plugin, before it is prepared. Also puts the result of `prepare` for it into the cache. */
export const pythonPlugin = async (cache: string): Promise<Uint8Array<ArrayBuffer>> =>
  (await part("plugin", cache)).bytes;

/** Patch for a started interpreter: with it, Python runs and has loaded the kit and the modules that most servlets import. */
export const pythonBase = (cache: string): Promise<Cached> => part("base", cache);

/** Python with its library; the interpreter is the prepared `pythonPlugin`. */
export async function pythonWith(started: StartedInterpreter, cache: string): Promise<Python> {
  const { bytes } = await part("library", cache);
  const { head, parts } = unpacked<{ modules: Omit<Compiled, "code">[]; present: string[] }>(bytes);
  const library = new Map(
    head.modules.map((one, nth) => [one.name, { ...one, code: parts[nth]! }]),
  );
  return { ...started, library, present: new Set(head.present) };
}

/** A file of the pack, unpacked into the cache. Throws a `Refusal` if the package is not installed. */
async function part(which: keyof typeof PACK_PARTS, cache: string): Promise<Cached> {
  const pack = pathOfPython();
  if (pack === undefined)
    throw new Refusal(
      `it is written in Python, which is in a package of its own: npm install -D ${PACKAGE}`,
    );
  const names = await shared(join(cache, PACK), () => unpack(pack, cache));
  const path = join(
    cache,
    names.find((name) => name.endsWith(PACK_PARTS[which]))!,
  );
  return { path, bytes: new Uint8Array(await readFile(path)) };
}

/** The path of this project's own pack, or of the installed package's; undefined if there is none. */
export function pathOfPython(): string | undefined {
  const own = join(OWN_FOLDER, "package/python", PACK);
  const { paths } = createRequire(join(process.cwd(), "package.json")).resolve;
  const places = [own, ...paths(PACKAGE)!.map((folder) => join(folder, PACKAGE, PACK))];
  return places.find((path) => existsSync(path));
}
