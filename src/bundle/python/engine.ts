/** Python as an interpreter of servlets: CPython with the kit, from a package of its own. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { OWN_FOLDER } from "../own.ts";
import { unpack } from "../packs.ts";
import { Refusal } from "../refusal.ts";
import { shared } from "../work.ts";
import type { Cached, Prepared } from "../wasm/prepare.ts";
import { unpacked } from "./packing.ts";

/** The package that has Python, and its file with all of it: see `package/python/README.md`. */
export const PACKAGE = "@edge-servlets/python";
export const PACK = "python.bin";

/** How the names of its files end, beside those of a preparation. */
export const PARTS = { plugin: ".python.wasm", base: ".base.bin", library: ".library.bin" };

/** An import of a module, as its source has it. */
export interface Import {
  name: string;
  /** What is imported from it, some of which may be modules. */
  names?: string[];
  line: number;
  /** It stands in a function, so it is not done when the module is loaded. */
  isLazy: boolean;
  /** The module goes on where there is no such module. */
  isTried: boolean;
  /** It may be any module of the package of this name: which one is computed. */
  isAny?: boolean;
}

/** A module as bytecode. */
export interface Compiled {
  name: string;
  /** Its file, as traces name it. */
  path: string;
  isPackage: boolean;
  imports: Import[];
  code: Uint8Array;
}

export interface Python {
  interpreter: Prepared;
  /** Makes an interpreter that has started one in which Python runs, with the kit and what most servlets import. */
  base: Cached;
  /** The standard library, by the names of its modules. */
  library: ReadonlyMap<string, Compiled>;
  /** The modules that are part of Python, or that its base has loaded. */
  present: ReadonlySet<string>;
}

/** Python as a plugin, before it is prepared; the cache then has what `prepare` gives for it, too. */
export const pythonPlugin = async (cache: string): Promise<Uint8Array<ArrayBuffer>> =>
  (await part("plugin", cache)).bytes;

/** An interpreter that `pythonPlugin` was prepared to, with what belongs to it. */
export async function pythonWith(interpreter: Prepared, cache: string): Promise<Python> {
  const { bytes } = await part("library", cache);
  const { head, parts } = unpacked<{ modules: Omit<Compiled, "code">[]; present: string[] }>(bytes);
  const library = new Map(
    head.modules.map((one, nth) => [one.name, { ...one, code: parts[nth]! }]),
  );
  const base = await part("base", cache);
  return { interpreter, base, library, present: new Set(head.present) };
}

async function part(which: keyof typeof PARTS, cache: string): Promise<Cached> {
  const pack = pathOfPython();
  if (pack === undefined)
    throw new Refusal(
      `it is written in Python, which is in a package of its own: npm install -D ${PACKAGE}`,
    );
  const names = await shared(join(cache, PACK), () => unpack(pack, cache));
  const path = join(
    cache,
    names.find((name) => name.endsWith(PARTS[which]))!,
  );
  return { path, bytes: new Uint8Array(await readFile(path)) };
}

/** The pack of this project itself, or of the package that is installed beside it; undefined where there is none. */
export function pathOfPython(): string | undefined {
  const own = join(OWN_FOLDER, "package/python", PACK);
  const { paths } = createRequire(join(process.cwd(), "package.json")).resolve;
  const places = [own, ...paths(PACKAGE)!.map((folder) => join(folder, PACKAGE, PACK))];
  return places.find((path) => existsSync(path));
}
