/**
 * `npm run without -- NAME …`: runs the tests in workerd with a Worker that lacks a feature and those that need it, but for the
 * tests that are about what it lacks. `npm run without` does so for each feature in turn.
 */
import { spawnSync } from "node:child_process";
import { FEATURES, featureExport, NEEDS } from "../../src/bundle/features.ts";

/** The features that cannot be there without this one, with it. */
export const goneWith = (name: string): string[] => [
  name,
  ...FEATURES.filter((one) => NEEDS[one]?.includes(name)).flatMap(goneWith),
];

/** Leaves the feature, and those that need it, out of the features of the bundle and out of the list of all. */
export function withoutFeature(name: string) {
  const gone = goneWith(name).map(featureExport);
  return {
    name: "without-feature",
    enforce: "pre" as const,
    transform(code: string, id: string) {
      if (!/(features\/all|test\/bundle\.gen)\.ts$/.test(id)) return undefined;
      return gone.reduce(
        (text, one) =>
          text
            .replace(new RegExp(`^import \\{ ${one} \\}.*$`, "m"), "")
            .replaceAll(new RegExp(`\\b${one}\\b,?`, "g"), ""),
        code,
      );
    },
  };
}

/** Tests that need a feature, besides those of its own folder. */
const ABOUT: Readonly<Record<string, readonly string[]>> = {};

if (import.meta.main) {
  const [, , ...given] = process.argv;
  const failed: string[] = [];
  for (const name of given.length > 0 ? given : FEATURES) {
    const about = goneWith(name).flatMap((one) => ABOUT[one] ?? []);
    const excluded = ["**/*.{long,slow}.test.ts", ...about].flatMap((one) => ["--exclude", one]);
    console.log(`Without ${goneWith(name).join(", ")}:`);
    const { status } = spawnSync("vitest", ["run", "--project", "workerd", ...excluded], {
      stdio: "inherit",
      env: { ...process.env, WITHOUT: name },
    });
    if (status !== 0) failed.push(name);
  }
  if (failed.length > 0) console.error(`Tests need these features: ${failed.join(", ")}`);
  process.exitCode = failed.length > 0 ? 1 : 0;
}
