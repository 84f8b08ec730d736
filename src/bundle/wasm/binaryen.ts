/** Binaryen's command-line tools, as the npm package ships them. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { Refusal } from "../refusal.ts";

const run = promisify(execFile);
const installed = dirname(createRequire(import.meta.url).resolve("binaryen/package.json"));

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

/**
 * Runs a tool such as `wasm-opt`, itself compiled with less care where its work is `short`: a third of the time then.
 * Throws a `Refusal` with what it wrote.
 */
export async function tool(name: string, args: string[], { short = true } = {}): Promise<void> {
  const flags = short ? ["--liftoff-only"] : [];
  const command = [...flags, join(installed, "bin", name), ...args];
  try {
    await run(process.execPath, command, { maxBuffer: 1 << 26 });
  } catch (error) {
    const output =
      error instanceof Error && "stderr" in error ? String(error.stderr).trim() : String(error);
    throw new Refusal(`${name}: ${output}`);
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
