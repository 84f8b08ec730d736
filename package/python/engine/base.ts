/** Makes what a bundle with servlets in Python begins with: the standard library as bytecode, and Python with the kit in memory. */
import { cp, glob, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { memoryOf } from "../../../src/wasm/image.ts";
import { encodePatch } from "../../../src/wasm/patch.ts";
import { packed, unpacked } from "../../../src/bundle/python/packing.ts";
import { boot } from "./boot.ts";

const KIT = resolve(import.meta.dirname, "..");

/** Parts of the standard library that are of no use in a servlet: no screens, processes, sockets or installers there. */
const LEFT_OUT =
  /^(asyncio\/(base_subprocess|proactor|selector|streams|subprocess|tools|unix|windows|__main__)|antigravity|this|turtle|idlelib|turtledemo|tkinter|ensurepip|venv|curses|multiprocessing|_pyrepl|pydoc_data|config-|site-packages|lib2to3|test|_?(aix|apple|android|ios|osx)_support|_sysconfig|sysconfig|dbm|ctypes|ssl\.|smtplib|ftplib|imaplib|poplib|xmlrpc|webbrowser|wsgiref|socketserver|http\/server|pty|tty|msilib|__phello|__hello|pdb|profile|cProfile|pstats|tracemalloc|trace\.|bdb|cmd\.|code\.|pydoc|doctest|rlcompleter|compileall|py_compile|zipapp|modulefinder|pyclbr|tabnanny|site\.|concurrent\/(interpreters|futures\/(process|interpreter))|logging\/(config|handlers)|encodings\/(mac_|cp[47-9]|cp10|cp11|big5|euc_|iso2022|johab|hz|gb|shift_|cp93|cp94|cp95|hp_|kz|ptcp|koi8_t|oem|mbcs|_win|bz2))/;

const KIT_MODULES = ["_edge_build", "edge_servlets._run"];
/** Modules that many servlets import, and that are of no weight for the others; the rest comes with who imports it. */
const OFTEN =
  "asyncio base64 collections contextlib copy dataclasses datetime decimal enum functools hashlib itertools json logging math operator os random re string textwrap time typing uuid".split(
    " ",
  );

interface Module {
  name: string;
  path: string;
  isPackage: boolean;
  source: string;
}

export interface StandardModule {
  name: string;
  path: string;
  isPackage: boolean;
  imports: { name: string; names?: string[]; isLazy: boolean; isTried: boolean }[];
}

/** Modules in a folder, by the names that they are imported by. */
async function modulesIn(folder: string, keep: (path: string) => boolean): Promise<Module[]> {
  const found: Module[] = [];
  for (const path of (await Array.fromAsync(glob("**/*.py", { cwd: folder }))).toSorted()) {
    if (!keep(path)) continue;
    const isPackage = path.endsWith("__init__.py");
    const name = (isPackage ? dirname(path) : path.slice(0, -".py".length)).replaceAll("/", ".");
    found.push({ name, path, isPackage, source: await readFile(join(folder, path), "utf8") });
  }
  return found;
}

/** The standard library and the kit, compiled: a pack as `packing.ts` has it. */
export async function base(engine: WebAssembly.Module, library: string, work: string) {
  const ours = await modulesIn(join(KIT, "lib"), () => true);
  const replaced = new Set(ours.map(({ path }) => path));
  const all = [
    ...(await modulesIn(library, (path) => !LEFT_OUT.test(path) && !replaced.has(path))),
    ...ours,
    ...(await modulesIn(KIT, (path) => /^(_edge_build\.py|edge_servlets\/|fastmcp\/)/.test(path))),
  ];
  const sources = join(work, "sources");
  await cp(library, sources, { recursive: true });
  await cp(join(KIT, "_edge_build.py"), join(sources, "_edge_build.py"));
  const compiler = boot(engine, sources);
  const head = {
    isLibrary: true,
    modules: all.map(({ name, path, isPackage }) => ({ name, path, isPackage })),
  };
  const input = packed(
    head,
    all.map(({ source }) => new TextEncoder().encode(source)),
  );
  const { head: made, parts } = unpacked<{
    modules: { imports: StandardModule["imports"]; error?: string }[];
  }>(compiler.run("edge_compile", input));
  const codes = join(work, "codes");
  if (!process.env["REUSE"])
    for (const [nth, { path }] of all.entries()) {
      const file = join(codes, path.replace(/py$/, "pyc"));
      const { error } = made.modules[nth]!;
      if (error !== undefined) throw new Error(`${path}: ${error}`);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, Buffer.concat([await header(engine), parts[nth]!]));
    }
  const { instance, run } = boot(engine, codes);
  const before = memoryOf(instance.exports).slice();
  const imports = KIT_MODULES.map((name) => ({ name, isTried: false }));
  const shelved = process.env["OFTEN"]?.split(" ") ?? OFTEN;
  const loaded = run("edge_load", packed({ modules: [], imports, shelved }, []));
  const { present } = JSON.parse(new TextDecoder().decode(loaded)) as { present: string[] };
  const patch = encodePatch(instance.exports, before);
  const library_ = packed(
    {
      present,
      modules: all.map(({ name, path, isPackage }, nth) => ({
        name,
        path,
        isPackage,
        imports: made.modules[nth]!.imports,
      })),
    },
    parts,
  );
  if (process.env["SHOW"]) console.log(present.length, present.join(" "));
  return { patch, library: library_ };
}

/** What stands before the code in a file that is used without its source: https://peps.python.org/pep-0552 */
async function header(_engine: WebAssembly.Module): Promise<Uint8Array> {
  // The magic number of 3.14 (3627), carriage return, newline; a checked hash that nobody checks.
  const bytes = new Uint8Array(16);
  new DataView(bytes.buffer).setUint16(0, 3627, true);
  bytes.set([13, 10], 2);
  bytes[4] = 1;
  return bytes;
}
void relative;
