import { existsSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { inject } from "vitest";
import type { TestProject } from "vitest/node";
import { LANGUAGES } from "../../src/languages/index.ts";
import { bundleSource } from "../../src/tools/bundle/bundle-module.ts";
import { makeBundle } from "../../src/tools/bundle/bundle.ts";
import { OBJECTS } from "./objects.ts";
import { buildWorker } from "./workerd.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the given plugins are prepared: see `givenWorker`. Undefined without any. */
    given: string | undefined;
  }
}

/** Each run has its own: a test may begin another in a folder that shares `.bundle`. */
const SCRATCH = join(".bundle", `given-${process.pid}`);
/** The file that says how it went. */
const DONE = "done.txt";
const PLUGINS = ["keeper", "files", "ledger", "python", "diary"];

/**
 * Prepares the plugins that `PLUGIN_CASES` names the folder of, once for all tests of a run, while those run that do
 * not need them: the large ones take a while, even without the optimiser, which would take minutes. What is prepared
 * lies in `.bundle`, where tests that bundle them otherwise find it.
 */
export default async function setup(project: TestProject) {
  const cases = process.env["PLUGIN_CASES"];
  if (cases === undefined) return project.provide("given", undefined);
  await mkdir(SCRATCH, { recursive: true });
  project.provide("given", SCRATCH);
  const prepared = prepare(cases).then(
    () => "",
    (error: unknown) => String(error),
  );
  const done = prepared.then((failure) => writeFile(join(SCRATCH, DONE), failure));
  return async () => {
    await done;
    await rm(SCRATCH, { recursive: true, force: true });
  };
}

/** The folder with a built Worker that serves the given plugins, once they are prepared. */
export async function givenWorker(): Promise<string> {
  const folder = inject("given")!;
  const done = join(folder, DONE);
  while (!existsSync(done)) await setTimeout(200);
  const failure = await readFile(done, "utf8");
  if (failure !== "") throw new Error(`The given plugins cannot be prepared: ${failure}`);
  return join(folder, "built");
}

async function prepare(cases: string): Promise<void> {
  for (const plugin of PLUGINS) {
    const folder = join(SCRATCH, "plugins", plugin);
    await mkdir(join(folder, "files"), { recursive: true });
    await writeFile(join(folder, "files", "r.txt"), "readme");
    await copyFile(resolve(cases, plugin, "plugin.wasm"), join(folder, "plugin.wasm"));
    const manifest = {
      prefix: plugin,
      state: "server",
      allowed_paths: ["data:/data", "ro:files:/readonly"],
    };
    await writeFile(join(folder, "servlet.json"), JSON.stringify(manifest));
  }
  const members = await makeBundle({
    folders: [join(SCRATCH, "plugins")],
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
    optimise: false,
  });
  const out = join(SCRATCH, "bundle.gen.ts");
  await writeFile(out, bundleSource(members, out));
  const source = (path: string) => JSON.stringify(relative(SCRATCH, path));
  await writeFile(
    join(SCRATCH, "index.ts"),
    `import { createWorker } from ${source("src/server/worker.ts")};
import { bundle } from "./bundle.gen.ts";
const { worker, objects } = createWorker(bundle);
export const { ${Object.values(OBJECTS).join(", ")} } = objects;
export default worker;
`,
  );
  await buildWorker(join(SCRATCH, "index.ts"), join(SCRATCH, "built"));
}
