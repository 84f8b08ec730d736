import { readdir } from "node:fs/promises";
import { extname, join } from "node:path";
import { build, type BuildOptions } from "esbuild";

/** How workerd loads each kind of file that `buildWorker` writes. */
const MODULE_KINDS = { ".js": "esModule", ".wasm": "wasm", ".bin": "data", ".txt": "text" };

const isModule = (extension: string): extension is keyof typeof MODULE_KINDS =>
  Object.hasOwn(MODULE_KINDS, extension);

/** The field of workerd's configuration that a module is in. Throws for files that are not modules. */
export function moduleKindOf(file: string): string {
  const extension = extname(file);
  if (isModule(extension)) return MODULE_KINDS[extension];
  throw new Error(`${file} is not a module: expected ${Object.keys(MODULE_KINDS).join(", ")}`);
}

/** The modules in a folder that `buildWorker` has written, the main one first. */
export async function modulesIn(folder: string): Promise<string[]> {
  const files = (await readdir(folder)).filter((name) => isModule(extname(name)));
  return files.toSorted((a, b) => Number(b === MAIN) - Number(a === MAIN));
}

export const MAIN = "index.js";

/** Where a Worker begins: the path of its main module, the paths of several, or the source of one. */
type Entry = string | Record<string, string> | { contents: string; resolveDir: string };

/**
 * Builds a Worker, minified, into `folder`: `index.js`, and the files with code and data that it imports. Of several
 * paths, each becomes a Worker of one file by the name that it has.
 */
export async function buildWorker(entry: Entry, folder: string): Promise<string> {
  await build({
    ...begin(entry, folder),
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*", "plugin.wasm"],
    loader: { ".wasm": "copy", ".bin": "copy", ".txt": "copy" },
    logLevel: "silent",
  });
  return folder;
}

function begin(entry: Entry, folder: string): BuildOptions {
  if (typeof entry === "string") return { entryPoints: { index: entry }, outdir: folder };
  if (!hasSource(entry)) return { entryPoints: entry, outdir: folder };
  return { stdin: { ...entry, loader: "ts" }, outfile: join(folder, MAIN) };
}

const hasSource = (entry: object): entry is { contents: string; resolveDir: string } =>
  "contents" in entry;
