import { join } from "node:path";
import { build } from "esbuild";
import { contentHash, writeIfNew } from "./cache.ts";
import { OWN_EXTENSION } from "./own.ts";

/** The compatibility date of the scripts: the one in wrangler.toml. */
export const COMPATIBILITY_DATE = "2026-09-01";

/** Cache paths of the scripts that run a servlet in its own isolate. */
export interface RunnerScripts {
  script: string;
  /** For servlets that keep state. */
  stateScript: string;
}

/** Writes the scripts to the cache. */
export async function runnerScripts(cache: string): Promise<RunnerScripts> {
  const [script, stateScript] = await Promise.all([
    scriptOf("runner", cache),
    scriptOf("state-runner", cache),
  ]);
  return { script, stateScript };
}

async function scriptOf(name: string, cache: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [
      join(import.meta.dirname, "../../server/features/installs", name + OWN_EXTENSION),
    ],
    bundle: true,
    write: false,
    format: "esm",
    minify: true,
    // As in wrangler.toml: keeping function names would cost a helper call for each closure.
    keepNames: false,
    target: "es2024",
    external: ["cloudflare:workers"],
  });
  const { contents } = outputFiles[0]!;
  const path = join(cache, `${contentHash(contents).slice(0, 32)}.txt`);
  await writeIfNew(path, contents);
  return path;
}
