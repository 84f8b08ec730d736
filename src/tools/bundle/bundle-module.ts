import { dirname, relative } from "node:path";
import { keepsState } from "../../server/kernel/servlets/manifest.ts";
import type { Member } from "./bundle.ts";
import { KNOWN, featureExport, FEATURES } from "./features.ts";
import { isInstalled } from "./own.ts";
import { COMPATIBILITY_DATE, type RunnerScripts } from "./runner-scripts.ts";
import type { Profiles } from "../../server/kernel/servlets/profiles.ts";
import type { SkillArchive } from "./skills.ts";

/** The source of the module that the Worker imports; deterministic. `runner` has the paths of `runnerScripts`. */
export function bundleSource(
  members: readonly Member[],
  out: string,
  runner?: RunnerScripts,
  {
    skills,
    profiles = {},
    version,
    features = FEATURES,
    worker,
  }: {
    skills?: SkillArchive | undefined;
    profiles?: Profiles | undefined;
    version?: string | undefined;
    features?: readonly string[];
    /** Path of the Worker with all features in one file, if the entry file imports it. */
    worker?: string | undefined;
  } = {},
): string {
  const types = isInstalled
    ? "edge-servlets"
    : path(`${relative(dirname(out), "src/server")}/worker.ts`);
  const featureImports = features.map((name) => {
    const file = isInstalled
      ? `edge-servlets/features/${name}`
      : path(`${relative(dirname(out), "src/server")}/features/${name}/feature.ts`);
    const place = worker === undefined ? file : path(relative(dirname(out), worker));
    return `import { ${featureExport(name)} } from ${JSON.stringify(place)};`;
  });
  const entries = members.map((member, at) => {
    const { found, dialect, prepared, hash, startsOnce, neverWaits, mayAsk } = member;
    const { lists, definitions, archives, views, skills: own } = member;
    const { $schema: _, ...manifest } = found.manifest;
    return `{
  name: ${JSON.stringify(found.name)},
  dialect: ${JSON.stringify(dialect)},
  module: wasm${at},
  ${prepared.base === undefined ? "" : `base: base${at},`}
  ${prepared.packages === undefined ? "" : `packages: packages${at},`}
  ${prepared.patch === undefined ? "" : `patch: patch${at},`}
  startsOnce: ${startsOnce},
  restorable: ${prepared.unrestorable === undefined},
  neverWaits: ${neverWaits},
  ${mayAsk === undefined ? "" : `mayAsk: ${mayAsk},`}
  hash: ${JSON.stringify(hash)},
  exports: ${JSON.stringify(prepared.exports)},
  manifest: ${JSON.stringify(manifest)},
  ${archives.length === 0 ? "" : `files: { ${archives.map(({ host, digest }, nth) => `${JSON.stringify(host)}: { archive: files${at}_${nth}, digest: "${digest}" }`).join(", ")} },`}
  ${views.length === 0 ? "" : `views: { ${views.map((view, nth) => `${JSON.stringify(view.name)}: view${at}_${nth}`).join(", ")} },`}
  ${own === undefined ? "" : `skills: { ...${JSON.stringify(own.skills)}, archive: skills${at} },`}
  ${lists === undefined ? "" : `lists: ${JSON.stringify(lists)},`}
  ${definitions === undefined ? "" : `definitions: ${JSON.stringify(definitions)},`}
}`;
  });
  const from = (file: string) => JSON.stringify(path(relative(dirname(out), file)));
  const imports = members.flatMap(({ prepared, archives, views, skills: own }, at) => [
    ...(own === undefined ? [] : [`import skills${at} from ${from(own.path)};`]),
    ...archives.map((archive, nth) => `import files${at}_${nth} from ${from(archive.path)};`),
    ...views.map((view, nth) => `import view${at}_${nth} from ${from(view.path)};`),
    `import wasm${at} from ${from(prepared.path)};`,
    ...(prepared.base === undefined ? [] : [`import base${at} from ${from(prepared.base.path)};`]),
    ...(prepared.packages === undefined
      ? []
      : [`import packages${at} from ${from(prepared.packages.path)};`]),
    ...(prepared.patch === undefined
      ? []
      : [`import patch${at} from ${from(prepared.patch.path)};`]),
  ]);
  return `// @ts-nocheck Written by \`npm run bundle\`; change the servlets instead.
import type { Bundle } from ${JSON.stringify(types)};
${featureImports.join("\n")}
${imports.join("\n")}
${runner === undefined ? "" : `import script from ${from(runner.script)};\nimport stateScript from ${from(runner.stateScript)};`}
${skills === undefined ? "" : `import skills from ${from(skills.path)};\n`}${Object.keys(profiles).length === 0 ? "" : `const profiles = ${JSON.stringify(profiles)};\n`}export const bundle: Bundle = { ${version === undefined ? "" : `version: ${JSON.stringify(version)}, `}${Object.keys(profiles).length === 0 ? "" : "profiles, "}${skills === undefined ? "" : `skills: { ...${JSON.stringify(skills.skills)}, archive: skills }, `}${runner === undefined ? "" : `runner: { script, stateScript, compatibilityDate: "${COMPATIBILITY_DATE}" }, `}servlets: [${entries.join(", ")}], known: ${JSON.stringify(KNOWN)}, features: [${features.map(featureExport).join(", ")}] };
`;
}

/** Names of the stateful servlets whose build differs from that in an earlier module: their memory starts empty. */
export function newBuilds(members: readonly Member[], before: string): string[] {
  const builds = entriesIn(before);
  return members.flatMap(({ found: { name, manifest }, hash }) => {
    const old = builds.get(name);
    return keepsState(manifest) && old?.includes(`  hash: "${hash}",`) === false ? [name] : [];
  });
}

/** Describes how the servlets and profiles of two modules differ; undefined if they are the same. */
export function moduleChanges(after: string, before: string): string | undefined {
  const [now, then] = [entriesIn(after), entriesIn(before)];
  const changes = [
    ...[...now].flatMap(([name, entry]) => {
      if (!then.has(name)) return `${name} is new`;
      return entry === then.get(name) ? [] : `${name} has changed`;
    }),
    ...[...then.keys()].flatMap((name) => (now.has(name) ? [] : `${name} is gone`)),
    ...(profilesIn(after) === profilesIn(before) ? [] : ["profiles.json has changed"]),
  ];
  return changes.length === 0 ? undefined : changes.join(", ");
}

/** The servlets' entries in a module, by name, without the numbers of their files. */
const entriesIn = (source: string): Map<string, string> =>
  new Map(
    [...source.matchAll(/^ {2}name: "([^"]+)",$.*?^\}/gms)].map(([entry, name]) => [
      name!,
      entry.replaceAll(/\b(wasm|base|packages|patch|files|view|skills)\d+/g, "$1"),
    ]),
  );

const profilesIn = (source: string): string | undefined =>
  /^const profiles = (.*);$/m.exec(source)?.[1];

/** A relative path as an import specifier. */
const path = (relativePath: string) => {
  const slashes = relativePath.replaceAll("\\", "/");
  return slashes.startsWith(".") ? slashes : `./${slashes}`;
};
