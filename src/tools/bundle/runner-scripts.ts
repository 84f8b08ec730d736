import { join } from "node:path";
import { build } from "esbuild";
import { contentHash, writeIfNew } from "./cache.ts";
import { OWN_EXTENSION } from "./own.ts";

/** The platform that the scripts are written for: that of wrangler.toml. */
export const COMPATIBILITY_DATE = "2026-09-01";

/** The scripts that run a servlet in an isolate of its own: their paths in the cache. */
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
    // As wrangler.toml has it: names of functions would be kept by a helper call for each closure.
    keepNames: false,
    target: "es2024",
    external: ["cloudflare:workers"],
  });
  const { contents } = outputFiles[0]!;
  const path = join(cache, `${contentHash(contents).slice(0, 32)}.txt`);
  await writeIfNew(path, contents);
  return path;
}
