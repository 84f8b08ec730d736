/** Makes what a bundle with servlets in Python begins with: the library as bytecode, and Python in memory with the kit. */
import { cp, glob, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { memoryOf } from "../../../src/server/kernel/wasm/image.ts";
import { encodePatch } from "../../../src/server/kernel/wasm/patch.ts";
import { INTERPRETER_EXPORTS } from "../../../src/tools/bundle/wasm/prepare.ts";
import type { Compiled, ModuleImport } from "../../../src/languages/python/engine.ts";
import { packed, unpacked } from "../../../src/languages/python/packing.ts";
import { boot } from "./boot.ts";

const HERE = resolve(import.meta.dirname, "..");

/**
 * Parts of the standard library that are of no use in a servlet: it has no screen, no processes, no sockets, nothing to
 * install, and the host decodes rare encodings.
 */
const LEFT_OUT = new RegExp(
  `^(${[
    "_?(aix|android|apple|ios|osx)_support|_pyrepl|_?sysconfig|__(hello|phello)|antigravity|bdb|cmd\\.|code\\.|compileall",
    "asyncio/(__main__|base_subprocess|proactor|selector|streams|subprocess|tools|unix|windows)|cProfile|config-",
    "compression/(lzma|zstd)|concurrent/(interpreters|futures/(interpreter|process))|ctypes|curses|dbm|doctest|ensurepip|ftplib|http/server",
    "encodings/(big5|bz2|cp9[345]|euc_|gb|hz|iso2022|johab|mbcs|oem|shift_|_win)",
    "idlelib|imaplib|lib2to3|logging/(config|handlers)|lzma\\.|modulefinder|msilib|multiprocessing|pdb|poplib|profile|pstats|pty",
    "py_compile|pyclbr|pydoc|rlcompleter|site\\.|site-packages|shelve|smtplib|socketserver|ssl\\.|tabnanny|test|this|tkinter",
    "trace\\.|tracemalloc|tty|turtle|venv|webbrowser|wsgiref|xmlrpc|zipapp",
  ].join("|")})`,
);

const KIT = /^(_edge_build\.py|(edge_servlets|fastmcp|mcp|mcp_types)\/)/;
const KIT_MODULES = ["_edge_build", "edge_servlets._run"];
/**
 * Modules that the base has loaded, for each servlet that imports them: `_pylong` is imported by what computes with large
 * integers, `codeop` and `difflib` by what writes the trace of a syntax error. Others come with the servlet that imports them.
 */
const PRELOADED =
  "_pylong asyncio edge_servlets._chance edge_servlets._logs edge_servlets._loop base64 codeop collections contextlib copy dataclasses datetime difflib enum functools hashlib itertools json logging math operator os random re string textwrap time typing uuid".split(
    " ",
  );

/** Encodings, which are looked up by their names when they are used. */
const ENCODINGS =
  "ascii cp1252 iso8859_15 latin_1 unicode_escape utf_16 utf_16_be utf_16_le utf_8_sig"
    .split(" ")
    .map((name) => `encodings.${name}`);

/** What stands before the code in a file that is imported without its source: https://peps.python.org/pep-0552 */
const HEADER = (() => {
  const bytes = new Uint8Array(16);
  const MAGIC_OF_3_14 = 3627;
  new DataView(bytes.buffer).setUint16(0, MAGIC_OF_3_14, true);
  bytes.set([13, 10], 2);
  bytes[4] = 1; // Its source is not compared.
  return bytes;
})();

interface Source {
  name: string;
  path: string;
  isPackage: boolean;
  text: string;
}

/** The modules in a folder that are wanted, by the names that they are imported by. */
async function modulesIn(folder: string, isWanted: (path: string) => boolean): Promise<Source[]> {
  const paths = (await Array.fromAsync(glob("**/*.py", { cwd: folder }))).filter(isWanted);
  return Promise.all(
    paths.toSorted().map(async (path) => {
      const isPackage = path.endsWith("__init__.py");
      const name = (isPackage ? dirname(path) : path.replace(/\.py$/, "")).replaceAll("/", ".");
      return { name, path, isPackage, text: await readFile(join(folder, path), "utf8") };
    }),
  );
}

/**
 * The patch of an instance in which Python runs with the kit, and the library with the kit as `python/engine.ts` reads it.
 * `library` is the folder of the standard library, `work` one that may be written.
 */
export async function base(
  engine: WebAssembly.Module,
  library: string,
  work: string,
): Promise<{ patch: Uint8Array; library: Uint8Array }> {
  const own = await modulesIn(join(HERE, "lib"), () => true);
  const replaced = new Set(own.map(({ path }) => path));
  const all = [
    ...(await modulesIn(library, (path) => !LEFT_OUT.test(path) && !replaced.has(path))),
    ...own,
    ...(await modulesIn(HERE, (path) => KIT.test(path))),
  ];
  const modules = all.map(({ name, path, isPackage }) => ({ name, path, isPackage }));
  await cp(join(HERE, "_edge_build.py"), join(library, "_edge_build.py"));
  const compiled = boot(engine, library).run(
    INTERPRETER_EXPORTS.compile,
    packed(
      { modules, isLibrary: true },
      all.map(({ text }) => new TextEncoder().encode(text)),
    ),
  );
  const { head, parts } = unpacked<{ modules: { imports: ModuleImport[]; error?: string }[] }>(
    compiled,
  );
  const codes = join(work, "codes");
  for (const [nth, { path }] of modules.entries()) {
    const { error } = head.modules[nth]!;
    if (error !== undefined) throw new Error(`${path}: ${error}`);
    const file = join(codes, `${path}c`);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, Buffer.concat([HEADER, parts[nth]!]));
  }
  // Another instance loads than compiles, so that nothing of the compiling is left.
  const { instance, run } = boot(engine, codes);
  const before = memoryOf(instance.exports).slice();
  const imports = KIT_MODULES.map((name) => ({ name, isOptional: false }));
  const loaded = run(
    INTERPRETER_EXPORTS.load,
    packed({ modules: [], imports, preloaded: [...PRELOADED, ...ENCODINGS] }, []),
  );
  const { present } = JSON.parse(new TextDecoder().decode(loaded)) as { present: string[] };
  const described = modules.map((one, nth): Omit<Compiled, "code"> => ({
    ...one,
    imports: head.modules[nth]!.imports,
  }));
  return {
    patch: encodePatch(instance.exports, before),
    library: packed({ present, modules: described }, parts),
  };
}
