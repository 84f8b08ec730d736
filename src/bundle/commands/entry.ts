/** The files that wrangler.toml names. */
import { mkdir } from "node:fs/promises";
import { dirname, relative } from "node:path";
import { writeIfNew } from "../cache.ts";
import { isInstalled } from "../own.ts";
import { ownConfig } from "./wrangler-config.ts";

/** The folder of assets, the module of the bundle, and a project's entry file. */
export const ASSETS = ".bundle/assets";
export const MODULE = isInstalled ? ".bundle/bundle.gen.ts" : "src/bundle.gen.ts";
const ENTRY = ".bundle/worker.ts";

/** Makes what wrangler looks for before it runs its build command. */
export async function prepareForWrangler(): Promise<void> {
  await mkdir(ASSETS, { recursive: true });
  if (isInstalled) await writeEntry(MODULE);
}

/** Writes the entry file for a bundle in this module. */
export const writeEntry = (out: string) =>
  writeIfNew(ENTRY, entrySource(relative(dirname(ENTRY), out)));

/** The entry file of a project: the Worker of its bundle. */
function entrySource(bundle: string): string {
  const classes = ownConfig().durable_objects.bindings.map(({ class_name }) => class_name);
  return `// Written by \`edge-servlets bundle\`.
import { createWorker } from "edge-servlets";
import { bundle } from "./${bundle.replaceAll("\\", "/")}";

const { worker, objects } = createWorker(bundle);
export const { ${classes.toSorted().join(", ")} } = objects;
export default worker;
`;
}
