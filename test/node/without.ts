/**
 * `npm run without -- NAME …`: runs the tests in workerd with a Worker that lacks a feature and those that need it. Whatever
 * fails needs it, if only to make its calls.
 */
import { spawnSync } from "node:child_process";
import { FEATURES, featureExport, needsOf } from "../../src/tools/bundle/features.ts";

/** The features that cannot be there without this one, with it. */
export const goneWith = (name: string): string[] => [
  name,
  ...FEATURES.filter((one) => needsOf(one).includes(name)).flatMap(goneWith),
];

/** Leaves the feature, and those that need it, out of the features of the bundle. */
export function withoutFeature(name: string) {
  const gone = goneWith(name).map(featureExport);
  return {
    name: "without-feature",
    enforce: "pre" as const,
    transform(code: string, id: string) {
      if (!id.endsWith("test/bundle.gen.ts")) return undefined;
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

if (import.meta.main) {
  for (const name of process.argv.slice(2)) {
    console.log(`Without ${goneWith(name).join(", ")}:`);
    spawnSync("vitest", ["run", "--project", "workerd", "--exclude", "**/*.{long,slow}.test.ts"], {
      stdio: "inherit",
      env: { ...process.env, WITHOUT: name },
    });
  }
}
