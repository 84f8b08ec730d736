/** `edge-servlets features`: which features of the server are in the Worker's script, why, and what each adds to it. */
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { makeBundle } from "../bundle/bundle.ts";
import { KNOWN, FEATURES, featureExport, featuresFor } from "../bundle/features.ts";
import { OWN_EXTENSION } from "../bundle/own.ts";
import { readProfiles } from "../bundle/profiles.ts";
import { skillsIn } from "../bundle/skills.ts";
import { FOR_WORKERD } from "./entry.ts";
import { CACHE, currentWorkspace } from "./folders.ts";
import { projectOf } from "./make-module.ts";
import { aligned } from "./table.ts";
import { boundHere, demandProject } from "./wrangler-config.ts";

/** The lines of the command's output. The size of a feature excludes the kernel and the features listed above it. */
export async function featureLines(): Promise<string[]> {
  const members = await makeBundle(currentWorkspace());
  const { profiles } = (await readProfiles(".")) ?? {};
  const { archive: skills } = await skillsIn(".", CACHE);
  demandProject();
  const bound = boundHere()!;
  const reasons = featuresFor({ ...projectOf(members, { skills, profiles }), ...bound });
  const present = [...reasons.keys()];
  // Sizes of the kernel alone, and with the first one, two, … features.
  const [kernel, ...sizes] = await Promise.all(
    [[], ...present.map((_, nth) => present.slice(0, nth + 1))].map(scriptBytes),
  );
  const before = [kernel!, ...sizes];
  const rows = present.map((name, nth) => [
    name,
    reasons.get(name)!,
    shown(sizes[nth]! - before[nth]!),
  ]);
  const first = ["kernel", "serves servlets by itself", shown(kernel!)];
  const absent = FEATURES.filter((name) => !reasons.has(name));
  return [
    ...aligned(
      [["feature", "included for", "adds"], first, ...rows, ["together", "", shown(before.at(-1))]],
      2,
    ),
    ...(absent.length === 0 ? [] : [`Not in the script: ${absent.join(", ")}`]),
  ];
}

/** Bytes of the script of a Worker with these features and those that they need, minified and compressed. */
async function scriptBytes(features: readonly string[]): Promise<number> {
  const folder = join(import.meta.dirname, "../../server");
  const imports = features.map(
    (name) =>
      `import { ${featureExport(name)} } from "./features/${name}/feature${OWN_EXTENSION}";`,
  );
  const all = features.map(featureExport).join(", ");
  const contents = `import { createWorker } from "./worker${OWN_EXTENSION}";
${imports.join("\n")}
export default createWorker({ servlets: [], known: ${JSON.stringify(KNOWN)}, features: [${all}] });`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: folder },
    ...FOR_WORKERD,
    minify: true,
    write: false,
  });
  return gzipSync(outputFiles[0]!.contents, { level: 9 }).length;
}

const shown = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KB`;
