/** Binaryen's command-line tools, as the npm package ships them. */
import { execFile } from "node:child_process";
import fs from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { compileFunction } from "node:vm";
import { Refusal } from "../refusal.ts";

const run = promisify(execFile);
const require = createRequire(import.meta.url);
const installed = dirname(require.resolve("binaryen/package.json"));

/** Wasm features that binaryen accepts and emits: the standard ones that V8 runs without a flag. */
export const FEATURES = [
  "multimemory",
  "bulk-memory",
  "bulk-memory-opt",
  "sign-ext",
  "nontrapping-float-to-int",
  "mutable-globals",
  "multivalue",
  "reference-types",
  "call-indirect-overlong",
  "simd",
  "tail-call",
  "extended-const",
  "exception-handling",
].map((name) => `--enable-${name}`);

/** Code of a tool, which Emscripten has compiled to a script with WebAssembly in it. */
interface Tool {
  /** Makes a run of it. Members of `module`: https://emscripten.org/docs/api_reference/module.html */
  begin(
    module: object,
    process: object,
    require: (name: string) => unknown,
    folder: string,
  ): { binary(): BufferSource; run(): Promise<void> };
  wasm: WebAssembly.Module;
}

/** The last statement of such a script, which starts it. */
const START = "createWasm().then(()=>run());";

/** Of a module that is not valid, binaryen writes the whole text after the faults. */
const MESSAGE_CHARACTERS = 4000;

const tools = new Map<string, Promise<Tool>>();

/** Reads and compiles a tool, which takes longer than most of its runs. */
async function load(name: string): Promise<Tool> {
  const source = (await readFile(join(installed, "bin", name), "utf8")).trimEnd();
  if (!source.endsWith(START)) throw new Error(`${name} does not end with ${START}`);
  const body = `${source.slice(source.indexOf("\n"), -START.length)}
return { binary: findWasmBinary, run: () => createWasm().then(() => run()) };`;
  const begin = compileFunction(body, ["Module", "process", "require", "__dirname"], {
    filename: name,
  }) as Tool["begin"];
  const wasm = await WebAssembly.compile(begin({}, process, require, installed).binary());
  return { begin, wasm };
}

/**
 * Runs a tool such as `wasm-as` in this process, in a new instance of it.
 *
 * Throws a `Refusal` with what it wrote.
 */
export async function tool(name: string, args: string[]): Promise<void> {
  const loaded = tools.get(name) ?? load(name);
  tools.set(name, loaded);
  const { begin, wasm } = await loaded;
  const written: Uint8Array[] = [];
  const files = {
    ...fs,
    writeSync(fd: number, bytes: Int8Array<ArrayBuffer>, at: number, length: number) {
      if (fd > 2) return fs.writeSync(fd, bytes, at, length);
      written.push(
        new Uint8Array(bytes.buffer.slice(bytes.byteOffset + at, bytes.byteOffset + at + length)),
      );
      return length;
    },
  };
  const own = Object.create(process, {
    argv: { value: [process.execPath, name, ...args] },
    exitCode: { value: 0, writable: true },
  });
  const module = {
    instantiateWasm: (
      imports: WebAssembly.Imports,
      receive: (instance: WebAssembly.Instance) => void,
    ) => receive(new WebAssembly.Instance(wasm, imports)),
  };
  const given = (what: string) => (what === "node:fs" ? files : require(what));
  const crash = await begin(module, own, given, installed)
    .run()
    .then(
      () => "",
      (error: unknown) => String(error),
    );
  if (own.exitCode === 0 && crash === "") return;
  const output = Buffer.concat(written).toString().trim().slice(0, MESSAGE_CHARACTERS);
  throw new Refusal(`${name}: ${output || crash}`);
}

/**
 * Runs the optimiser in a process of its own, beside other work; itself compiled with less care where its work is
 * `short`: a third of the time then.
 *
 * Throws a `Refusal` with what it wrote.
 */
export async function optimise(args: string[], { short }: { short: boolean }): Promise<void> {
  const flags = short ? ["--liftoff-only"] : [];
  const command = [...flags, join(installed, "bin/wasm-opt"), ...args];
  try {
    await run(process.execPath, command, { maxBuffer: 1 << 26 });
  } catch (error) {
    const output =
      error instanceof Error && "stderr" in error ? String(error.stderr).trim() : String(error);
    throw new Refusal(`wasm-opt: ${output}`);
  }
}

export async function version(): Promise<string> {
  return JSON.parse(await readFile(join(installed, "package.json"), "utf8")).version;
}

/** Runs `work` in a folder that is gone afterwards. */
export async function inFolder<T>(
  work: (file: (name: string) => string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "edge-servlets-"));
  try {
    return await work((name) => join(folder, name));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The wasm of a file in text format. */
export function assemble(path: string): Promise<Uint8Array<ArrayBuffer>> {
  return inFolder(async (file) => {
    await tool("wasm-as", [path, "-o", file("out.wasm"), ...FEATURES]);
    return new Uint8Array(await readFile(file("out.wasm")));
  });
}
