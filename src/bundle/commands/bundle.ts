/**
 * Makes the bundle that the Worker serves: `node src/bundle/commands/bundle.ts [--out FILE] [--quiet] [FOLDER…]`.
 * Folders come from SERVLETS (a path list) where none are given, and are `plugins` where that is not set.
 */
import { dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import * as z from "zod";
import { RUNS } from "../../settings/own-names.ts";
import { manifestSchema } from "../../servlets/manifest.ts";
import { missingIn } from "../../servlets/variables.ts";
import { makeBundle, type Member } from "../bundle.ts";
import { bundleSource, moduleChanges, newBuilds } from "../bundle-module.ts";
import { readIfThere, writeIfNew } from "../cache.ts";
import { placeOfRuns } from "./dev.ts";
import { servletFolders } from "./folders.ts";
import { consoleScripts } from "../console-scripts.ts";
import { isInstalled } from "../own.ts";
import { Refusal } from "../refusal.ts";
import { runnerScripts } from "../runner-scripts.ts";
import { compileQuickly } from "../work.ts";
import { table } from "./table.ts";
import { demandComplete, ownConfig } from "./wrangler-config.ts";

/** The folder of assets, and the project's entry file, which wrangler.toml names. */
const ASSETS = ".bundle/assets";
const ENTRY = ".bundle/worker.ts";

const { values, positionals } = parseArgs({
  options: {
    /** Says only what is wrong. */
    quiet: { type: "boolean", default: false },
    out: { type: "string", default: isInstalled ? ".bundle/bundle.gen.ts" : "src/bundle.gen.ts" },
  },
  allowPositionals: true,
});
const folders = positionals.length > 0 ? positionals : servletFolders();

compileQuickly();

const place = await placeOfRuns(".");
if (place !== undefined) {
  console.error(
    `\nThe bundle was not made.\n${place} sets ${RUNS}, which would make everybody an operator where others reach the server. Only \`dev\` may set it: remove it there, and start the server by \`npm run dev\``,
  );
  process.exit(1);
}

/** A reload of `dev`. */
const isDev = process.env["WRANGLER_COMMAND"] === "dev";

const began = performance.now();
try {
  if (isInstalled) demandComplete();
  const members = await makeBundle({
    folders,
    cache: ".bundle",
    progress: (what) => console.error(`  ${what} …`),
  });
  const before = new TextDecoder().decode(await readIfThere(values.out));
  const source = bundleSource(members, values.out, await runnerScripts(".bundle"));
  await writeIfNew(values.out, source);
  if (isInstalled) await writeIfNew(ENTRY, entrySource(relative(dirname(ENTRY), values.out)));
  else {
    await writeIfNew(
      join(import.meta.dirname, "../servlet.schema.json"),
      `${JSON.stringify(z.toJSONSchema(manifestSchema), null, 2)}\n`,
    );
  }
  await consoleScripts(ASSETS);
  const say = values.quiet ? () => {} : console.log;
  say(table(members));
  for (const name of newBuilds(members, before)) {
    say(`note: ${name} has a new build: its memory starts anew, its files stay`);
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  say(`\n${values.out} written from ${folders.join(", ")} in ${seconds} s`);
  const changes = isDev && before !== "" ? moduleChanges(source, before) : undefined;
  if (changes !== undefined) say(`Reloading: ${changes}.${await lacking(members)}`);
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.error(`\nThe bundle was not made.\n${error.message}`);
  // While somebody works on a servlet, the others are served on; a deployment never goes on.
  if (isDev)
    console.error("The server goes on with the last one. Save a file of the servlet to try again.");
  else process.exitCode = 1;
}

/** Which settings are missing, in a sentence. */
async function lacking(members: readonly Member[]): Promise<string> {
  const servlets = members.map(({ found }) => found);
  // Most need none, and wrangler, which reads them, takes a second to load.
  if (missingIn(servlets, () => false).length === 0) return "";
  const { localVariables } = await import("./local-variables.ts");
  const has = localVariables();
  const missing = missingIn(servlets, (name) => has.has(name));
  return missing.length === 0 ? "" : ` Missing: ${missing.join("; ")}: set it in .dev.vars.`;
}

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
