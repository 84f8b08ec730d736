import { join } from "node:path";
import { build, type BuildOptions } from "esbuild";
import { MAIN } from "./modules.ts";

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
