/**
 * Makes the bundles of the tests. Their guests are prepared without the optimiser, which takes most of the time and
 * changes nothing that a test looks at.
 */
import { makeBundle } from "../../src/bundle/bundle.ts";
import { bundleSource } from "../../src/bundle/bundle-module.ts";
import { writeIfNew } from "../../src/bundle/cache.ts";
import { runnerScripts } from "../../src/bundle/runner-scripts.ts";

const CACHE = ".bundle";

/** The folders with the servlets of each bundle, by its file. */
const BUNDLES = {
  "test/bundle.gen.ts": ["plugins", "test/guests"],
  "test/conformance/bundle.gen.ts": ["test/guests/conformance", "plugins/hello"],
  "test/clients/bundle.gen.ts": ["plugins", "test/guests/conformance"],
};

const runner = await runnerScripts(CACHE);
const progress = (what: string) => console.error(`  ${what} …`);
for (const [out, folders] of Object.entries(BUNDLES)) {
  const members = await makeBundle({ folders, cache: CACHE, progress, optimise: false });
  await writeIfNew(out, bundleSource(members, out, runner));
}
