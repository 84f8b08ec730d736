/**
 * `npm run without -- NAME…`: tests in workerd, for each name, a Worker that lacks this feature and those that need it: all
 * tests pass but those of these features. `--all` takes every feature, then 20 random sets; `--seed N` repeats the sets.
 */
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { FEATURES, featureExport, needsOf } from "../../src/tools/bundle/features.ts";
import { Chance } from "./fuzz/chance.ts";

/** Ends the process with an error that lists all features, if there is none of this name. */
export function demandFeature(name: string): void {
  if ((FEATURES as readonly string[]).includes(name)) return;
  console.error(`There is no feature "${name}". Take some of: ${FEATURES.join(", ")}.`);
  process.exit(1);
}

/** Leaves the features out of the features of the bundle. */
export function withoutFeatures(names: readonly string[]) {
  return {
    // Vitest keeps transformed modules under the names of plugins.
    name: `without ${names.join(", ")}`,
    enforce: "pre" as const,
    transform(code: string, id: string) {
      if (names.length === 0 || !id.endsWith("test/bundle.gen.ts")) return undefined;
      return names
        .map(featureExport)
        .reduce(
          (text, one) =>
            text
              .replace(new RegExp(`^import \\{ ${one} \\}.*$`, "m"), "")
              .replaceAll(new RegExp(`\\b${one}\\b,?`, "g"), ""),
          code,
        );
    },
  };
}

/** The features that are left without this one. */
const without = (name: string): string[] =>
  FEATURES.filter((one) => one !== name && !allNeedsOf(one).includes(name));

/** The features that this one needs, and those that they need. */
export const allNeedsOf = (name: string): readonly string[] =>
  needsOf(name).flatMap((one) => [one, ...allNeedsOf(one)]);

/** Any features, with what they need. */
function someOf(chance: Chance): string[] {
  const some = FEATURES.filter(() => chance.of(0.5));
  return [...new Set(some.flatMap((name) => [name, ...allNeedsOf(name)]))];
}

/** Runs the tests of a Worker with these features alone; true if all pass. */
function test(features: readonly string[]): boolean {
  const gone = FEATURES.filter((name) => !features.includes(name));
  console.log(`\nWithout ${gone.join(", ")}:`);
  const { status } = spawnSync(
    "vitest",
    [
      "run",
      "--project",
      "workerd",
      "--exclude",
      "**/*.{long,slow}.test.ts",
      ...gone.flatMap((name) => [
        "--exclude",
        `test/features/${name}/**`,
        "--tags-filter",
        `!${name}`,
      ]),
    ],
    { stdio: "inherit", env: { ...process.env, WITHOUT: gone.join(",") } },
  );
  return status === 0;
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { all: { type: "boolean", default: false }, seed: { type: "string" } },
  });
  positionals.forEach(demandFeature);
  const seed = Number(values.seed ?? Date.now() % 1e6);
  const chance = new Chance(seed);
  const sets = (values.all ? FEATURES : positionals).map(without);
  if (values.all) {
    console.log(`The random sets are those of --seed ${seed}.`);
    sets.push(...Array.from({ length: 20 }, () => someOf(chance)));
  }
  const failed = sets.filter((features) => !test(features));
  for (const features of failed) console.log(`Tests fail with ${features.join(", ")} alone.`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}
