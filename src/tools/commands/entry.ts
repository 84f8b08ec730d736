/** Writes the files that wrangler.toml names. */
import { mkdir } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { build, type BuildOptions } from "esbuild";
import { writeIfNew } from "../bundle/cache.ts";
import { featureExport, FEATURES } from "../bundle/features.ts";
import { isInstalled, OWN_EXTENSION } from "../bundle/own.ts";
import { boundClasses } from "./wrangler-config.ts";

/** The folder of assets, the module of the bundle, and a project's entry file. */
export const ASSETS = ".bundle/assets";
export const MODULE = isInstalled ? ".bundle/bundle.gen.ts" : "src/bundle.gen.ts";
const ENTRY = ".bundle/worker.ts";
/** The package's Worker and its features in one file, as `dev` serves them. */
export const IN_ONE_FILE = ".bundle/dev/worker.js";

/** esbuild's options for a Worker in one file. */
export const FOR_WORKERD = {
  bundle: true,
  format: "esm",
  target: "es2024",
  conditions: ["workerd", "worker", "browser"],
  external: ["cloudflare:*", "node:*"],
  logLevel: "silent",
} satisfies BuildOptions;

/** Creates the files that wrangler requires before it runs its build command. */
export async function prepareForWrangler(): Promise<void> {
  await mkdir(ASSETS, { recursive: true });
  if (isInstalled) await writeEntry(MODULE);
}

/** Writes the entry file for the bundle in `out`; with `inOneFile`, it imports the Worker from `writeInOneFile`. */
export const writeEntry = (out: string, { inOneFile = false } = {}) =>
  writeIfNew(
    ENTRY,
    entrySource(specifier(out), inOneFile ? specifier(IN_ONE_FILE) : "edge-servlets"),
  );

/** Writes the package's Worker as one file, because wrangler rereads all files of a Worker after each change. */
export async function writeInOneFile(): Promise<void> {
  await build({
    stdin: {
      contents: sourceInOneFile(),
      resolveDir: join(import.meta.dirname, "../../server"),
    },
    outfile: IN_ONE_FILE,
    ...FOR_WORKERD,
  });
}

/** A module that exports what the entry file and the bundle import. */
const sourceInOneFile = (): string =>
  [
    ["createWorker", "worker"],
    ...FEATURES.map((name) => [featureExport(name), `features/${name}/feature`]),
  ]
    .map(([name, file]) => `export { ${name} } from "./${file}${OWN_EXTENSION}";`)
    .join("\n");

/** The specifier by which the entry file imports another file. */
const specifier = (file: string): string =>
  `./${relative(dirname(ENTRY), file).replaceAll("\\", "/")}`;

/** The entry file of a project: the Worker of its bundle. */
function entrySource(bundle: string, worker: string): string {
  return `// Written by \`edge-servlets bundle\`.
import { createWorker } from "${worker}";
import { bundle } from "${bundle}";

const { worker, objects } = createWorker(bundle);
export const { ${boundClasses().toSorted().join(", ")} } = objects;
export default worker;
`;
}
