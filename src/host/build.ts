import { join } from "node:path";
import { build, type BuildOptions } from "esbuild";
import { MAIN } from "./modules.ts";

/** The path of a Worker's main module, the paths of several Workers by name, or the source of a main module. */
type Entry = string | Record<string, string> | { contents: string; resolveDir: string };

/**
 * Builds a Worker, minified, into `folder`: `index.js`, and the wasm and data files that it imports. Of
 * several paths, each becomes a Worker in one file, `NAME.js`.
 */
export async function buildWorker(entry: Entry, folder: string): Promise<string> {
  await build({
    ...inputOf(entry, folder),
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

function inputOf(entry: Entry, folder: string): BuildOptions {
  if (typeof entry === "string") return { entryPoints: { index: entry }, outdir: folder };
  if (!hasSource(entry)) return { entryPoints: entry, outdir: folder };
  return { stdin: { ...entry, loader: "ts" }, outfile: join(folder, MAIN) };
}

const hasSource = (entry: object): entry is { contents: string; resolveDir: string } =>
  "contents" in entry;
