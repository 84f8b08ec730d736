/** Locates the Python interpreter of servlets: CPython with the kit, from a separate npm package. */
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

/** The npm package with Python, which consists of one file: see `package/python/README.md`. */
export const PACKAGE = "@edge-servlets/python";
export const PACK = "python.bin";

/** Name endings of three files in the pack. It also has the files that `prepare` caches. */
export const PACK_PARTS = { plugin: ".python.wasm", base: ".base.bin", library: ".library.bin" };

/** An import statement or call in a module's source. */
export interface ModuleImport {
  /** Absolute, except that a relative import outside of all packages still begins with dots. */
  name: string;
  /** The names in `from … import names`. Each may be a submodule. */
  names?: string[];
  line: number;
  /** True inside a function: loading the module does not run the import. */
  isLazy: boolean;
  /** True if the importing module handles an ImportError. */
  isOptional: boolean;
  /** True if the name is computed: it may be any module of the package `name`. */
  isComputed?: boolean;
}

/** Where a module uses something that servlets lack: `os.environ`, `os.getenv` or `__file__`. */
export interface Use {
  name: string;
  line: number;
}

/** A module's bytecode. */
export interface Compiled {
  name: string;
  /** Its file, as shown in tracebacks. */
  path: string;
  isPackage: boolean;
  imports: ModuleImport[];
  code: Uint8Array;
}

export interface Python extends StartedInterpreter {
  /** The modules of the standard library and the kit, by name. */
  library: ReadonlyMap<string, Compiled>;
  /** Modules that are built into Python or loaded in the base. */
  present: ReadonlySet<string>;
}

/** Python as a plugin, before `prepare`. Also adds the result of `prepare` to the cache. */
export const pythonPlugin = async (cache: string): Promise<Uint8Array<ArrayBuffer>> =>
  (await part("plugin", cache)).bytes;

/** The patch for a started interpreter. It has Python initialized, with the kit and the most common modules loaded. */
export const pythonBase = (cache: string): Promise<Cached> => part("base", cache);

/** Python with its library, for an interpreter prepared from `pythonPlugin`. */
export async function pythonWith(started: StartedInterpreter, cache: string): Promise<Python> {
  const { bytes } = await part("library", cache);
  const { head, parts } = unpacked<{ modules: Omit<Compiled, "code">[]; present: string[] }>(bytes);
  const library = new Map(
    head.modules.map((one, nth) => [one.name, { ...one, code: parts[nth]! }]),
  );
  return { ...started, library, present: new Set(head.present) };
}

/** A file of the pack, unpacked into the cache. Throws a `Refusal` if the npm package is not installed. */
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

/** The path of this repository's pack, else of the installed package's; undefined if there is none. */
export function pathOfPython(): string | undefined {
  const own = join(OWN_FOLDER, "package/python", PACK);
  const { paths } = createRequire(join(process.cwd(), "package.json")).resolve;
  const places = [own, ...paths(PACKAGE)!.map((folder) => join(folder, PACKAGE, PACK))];
  return places.find((path) => existsSync(path));
}
