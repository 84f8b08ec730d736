import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import type { TestProject } from "vitest/node";
import { bundleSource } from "../../src/bundle/bundle-module.ts";
import { makeBundle } from "../../src/bundle/bundle.ts";
import { OBJECTS } from "./objects.ts";
import { buildWorker } from "./workerd.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder with a built Worker that serves the given plugins; undefined without any. */
    given: string | undefined;
  }
}

const PLUGINS = ["keeper", "files", "ledger", "python", "diary"];

/**
 * Prepares the plugins that `PLUGIN_CASES` names the folder of, once for all tests of a run: the large ones take a
 * minute. What is prepared lies in `.bundle` then, where tests that bundle them otherwise find it.
 */
export default async function setup(project: TestProject) {
  const cases = process.env["PLUGIN_CASES"];
  if (cases === undefined) return project.provide("given", undefined);
  const scratch = join(".bundle", "given");
  await rm(scratch, { recursive: true, force: true });
  for (const plugin of PLUGINS) {
    const folder = join(scratch, "plugins", plugin);
    await mkdir(join(folder, "files"), { recursive: true });
    await writeFile(join(folder, "files", "r.txt"), "readme");
    await symlink(resolve(cases, plugin, "plugin.wasm"), join(folder, "plugin.wasm"));
    const manifest = {
      prefix: plugin,
      state: "server",
      allowed_paths: ["data:/data", "ro:files:/readonly"],
    };
    await writeFile(join(folder, "servlet.json"), JSON.stringify(manifest));
  }
  const members = await makeBundle({
    folders: [join(scratch, "plugins")],
    cache: ".bundle",
    progress: () => {},
  });
  const out = join(scratch, "bundle.gen.ts");
  await writeFile(out, bundleSource(members, out));
  const source = (path: string) => JSON.stringify(relative(scratch, path));
  await writeFile(
    join(scratch, "index.ts"),
    `import { env } from "cloudflare:workers";
import { createApp } from ${source("src/app.ts")};
import { durableObjects } from ${source("src/durable/objects.ts")};
import { bundle } from "./bundle.gen.ts";
export const { ${Object.values(OBJECTS).join(", ")} } = durableObjects(bundle);
export default createApp(bundle, env);
`,
  );
  project.provide("given", await buildWorker(join(scratch, "index.ts"), join(scratch, "built")));
}
