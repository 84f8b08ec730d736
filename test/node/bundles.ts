/**
 * Makes the bundle of the plugins, as `npm run bundle` does, and those of the tests. The guests of the tests are prepared
 * without the optimiser, which takes most of the time and changes nothing that a test looks at; `--optimise` is for the
 * bench.
 */
import { dirname } from "node:path";
import { LANGUAGES } from "../../src/languages/index.ts";
import { bundleAll, catalogOf, type Member } from "../../src/tools/bundle/bundle.ts";
import { bundleSource } from "../../src/tools/bundle/bundle-module.ts";
import { writeIfNew } from "../../src/tools/bundle/cache.ts";
import { refuseNameClashes } from "../../src/tools/bundle/clashes.ts";
import { runNodeScript } from "../../src/tools/commands/wrangler.ts";
import { Refusals } from "../../src/tools/bundle/refusal.ts";
import { runnerScripts } from "../../src/tools/bundle/runner-scripts.ts";
import { scan } from "../../src/tools/bundle/scan.ts";
import { compileQuickly } from "../../src/tools/bundle/work.ts";

/** The project's own servlets; what else is in their folder is its user's, and no test's. */
const PLUGINS = [
  "approval",
  "chart",
  "clock",
  "factor",
  "hello",
  "http-status",
  "journal",
  "mail",
  "notes",
  "reminders",
  "report",
  "code",
  "tasks",
  "translate",
  "web",
].map((name) => `plugins/${name}`);
const GUESTS = "test/guests";
const CONFORMANCE = "test/guests/conformance";

/** What each bundle serves: its servlets, or the folders that they are in, by the file of the bundle. */
const BUNDLES = {
  "test/bundle.gen.ts": [...PLUGINS, GUESTS],
  "test/conformance/bundle.gen.ts": [CONFORMANCE, "plugins/hello"],
  "test/clients/bundle.gen.ts": [...PLUGINS, CONFORMANCE],
};

compileQuickly();

const optimise = process.argv.includes("--optimise");
const options = {
  languages: LANGUAGES,
  cache: ".bundle",
  progress: (what: string) => console.error(`  ${what} …`),
};

const refusals = new Refusals();
const found = await scan({ folders: [GUESTS], languages: LANGUAGES }, refusals);
const plugins = (await scan({ folders: ["plugins"], languages: LANGUAGES }, refusals)).filter(
  ({ place }) => PLUGINS.includes(place),
);
refusals.throwAll();
const isScript = ({ source }: Member["found"]) => source.kind === "typescript";
const bundled = (some: typeof found) => bundleAll(some, { ...options, optimise });
// Beside the bundle of the plugins, which prepares the interpreter of servlets in TypeScript, those that need no interpreter.
const [code, others] = await Promise.all([
  runNodeScript(["src/tools/commands/bundle.ts"]),
  bundled(found.filter((one) => !isScript(one))),
]);
if (code !== 0) process.exit(code);
const members = [
  ...others,
  ...(await bundled(found.filter(isScript))),
  ...(await bundleAll(plugins, options)),
].toSorted((a, b) => (a.found.name < b.found.name ? -1 : 1));
refuseNameClashes(members, catalogOf(members));

const runner = await runnerScripts(options.cache);
for (const [out, places] of Object.entries(BUNDLES)) {
  const served = members.filter(
    ({ found: { place } }) => places.includes(place) || places.includes(dirname(place)),
  );
  await writeIfNew(out, bundleSource(served, out, runner));
}
