import { readdir, rm } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { build, type BuildOptions } from "esbuild";
import { OWN_EXTENSION } from "../bundle/own.ts";
import { Refusal } from "../bundle/refusal.ts";
import type { Configuration } from "./configuration.ts";
import { MAIN } from "./modules.ts";
import { PLATFORM } from "./stores.ts";

/** The path of a main module, the paths of several Workers' main modules by name, or the source of a main module. */
type Entry = string | Record<string, string> | { contents: string; resolveDir: string };

/** Name of a module that esbuild has copied: it ends with a hash of the content. */
const COPIED = /-[A-Z0-9]{8}\.(wasm|bin|txt)$/;

/**
 * Builds a minified Worker into `folder`: `index.js`, and the wasm and data files that it imports. With several paths,
 * each becomes a Worker in one file, `NAME.js`. Removes unused modules of an earlier build, which workerd would load.
 */
export async function buildWorker(entry: Entry, folder: string): Promise<string> {
  const { metafile } = await build({
    ...inputOf(entry, folder),
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*", "plugin.wasm"],
    loader: { ".wasm": "copy", ".bin": "copy", ".txt": "copy" },
    logLevel: "silent",
    metafile: true,
  });
  const made = new Set(Object.keys(metafile.outputs).map((path) => basename(path)));
  const before = made.has(MAIN) ? await readdir(folder) : [];
  for (const name of before) if (COPIED.test(name) && !made.has(name)) await rm(join(folder, name));
  return folder;
}

function inputOf(entry: Entry, folder: string): BuildOptions {
  if (typeof entry === "string") return { entryPoints: { index: entry }, outdir: folder };
  if (!hasSource(entry)) return { entryPoints: entry, outdir: folder };
  return { stdin: { ...entry, loader: "ts" }, outfile: join(folder, MAIN) };
}

const hasSource = (entry: object): entry is { contents: string; resolveDir: string } =>
  "contents" in entry;

const SOURCES = resolve(import.meta.dirname, "./platform");

/** Builds a server's Worker and the platform Workers into a folder. Throws a `Refusal`. */
export async function buildHosted({ main }: Configuration, folder: string): Promise<void> {
  const contents = `import worker from ${JSON.stringify(main)};
import { asOnCloudflare, Disk } from ${JSON.stringify(join(SOURCES, `front${OWN_EXTENSION}`))};
export * from ${JSON.stringify(main)};
export { Disk };
export default asOnCloudflare(worker);
`;
  try {
    await buildWorker({ contents, resolveDir: SOURCES }, folder);
    await buildPlatform(folder);
  } catch (error) {
    throw new Refusal(
      `The Worker cannot be built. If its bundle is missing, make it: npm run bundle\n${(error as Error).message}`,
    );
  }
}

/** Builds the platform Workers (the stores of KV and R2) into their folder below the Worker's. */
export const buildPlatform = (folder: string): Promise<string> =>
  buildWorker(
    {
      kv: join(SOURCES, `kv${OWN_EXTENSION}`),
      r2: join(SOURCES, `r2${OWN_EXTENSION}`),
      exporter: join(SOURCES, `../../../server/kernel/observe/exporter${OWN_EXTENSION}`),
    },
    join(folder, PLATFORM),
  );
