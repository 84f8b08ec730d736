/** Writes the bundle's module and the files that the Worker serves beside it. */
import { join } from "node:path";
import { parseArgs } from "node:util";
import * as z from "zod";
import { jsonIn } from "../../server/kernel/core/text.ts";
import { RUNS } from "../../server/kernel/settings/own-names.ts";
import { manifestSchema } from "../../server/kernel/servlets/manifest.ts";
import type { Profiles } from "../../server/kernel/servlets/profiles.ts";
import { missingIn } from "../../server/kernel/servlets/variables.ts";
import { makeBundle, type Member } from "../bundle/bundle.ts";
import { bundleSource, moduleChanges, newBuilds } from "../bundle/bundle-module.ts";
import { readIfThere, writeIfNew } from "../bundle/cache.ts";
import { ASSETS, IN_ONE_FILE, MODULE, writeEntry, writeInOneFile } from "./entry.ts";
import { placeOfRuns } from "./place-of-runs.ts";
import { CACHE, currentWorkspace, servletFolders } from "./folders.ts";
import { consoleScripts } from "../bundle/console-scripts.ts";
import { FEATURES, featuresFor, type Project } from "../bundle/features.ts";
import { isInstalled } from "../bundle/own.ts";
import { localVariables } from "./local-variables.ts";
import { Refusal } from "../bundle/refusal.ts";
import { checkProfiles, profilesJsonSchema, readProfiles } from "../bundle/profiles.ts";
import { runnerScripts, type RunnerScripts } from "../bundle/runner-scripts.ts";
import { demandOwnFolders, skillsIn, type SkillArchive } from "../bundle/skills.ts";
import { printableLines } from "../../server/kernel/core/text.ts";
import { variablesFileIn } from "../bundle/variable-files.ts";
import { compileQuickly } from "../bundle/work.ts";
import { table } from "./table.ts";
import { boundHere, demandComplete, lackHere } from "./wrangler-config.ts";

const OPTIONS = {
  /** Prints errors only. */
  quiet: { type: "boolean", default: false },
  out: { type: "string", default: MODULE },
} as const;

/** The outcome of a bundle step. */
export interface Made {
  /** Exit code. */
  code: number;
  /** Text for stdout; may be empty. */
  said: string;
  /** Text for stderr; empty if the bundle was made. */
  failure: string;
}

interface Making {
  /** True for a rebuild under `dev`: if it fails, the server keeps the last bundle. */
  isReload: boolean;
  /** Skips the optimiser, which takes most of the time. */
  isDev?: boolean;
  /** This process also makes the later bundles. */
  isWarm?: boolean;
  /** Text of the module to compare with the new one; by default that of the file to be replaced. */
  before?: string;
}

/** Makes the bundle with the arguments of the command `bundle`. */
export async function makeModule(
  args: string[],
  { isReload, isDev = isReload, isWarm = false, before: told }: Making,
): Promise<Made> {
  const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
  const folders = positionals.length > 0 ? positionals : servletFolders();
  const failed = (message: string) => `\nThe bundle was not made.\n${message}`;
  compileQuickly();
  const place = await placeOfRuns(".");
  if (place !== undefined) {
    const failure = failed(
      `${place} sets ${RUNS}, which would make everybody an operator where others reach the server. Only \`dev\` may set it: remove it there, and start the server by \`npm run dev\``,
    );
    return { code: 1, said: "", failure };
  }
  const began = performance.now();
  try {
    const [members, runner, { archive: skills, warnings: ofSkills }, profiled] = await Promise.all([
      makeBundle({ ...currentWorkspace(), folders, optimise: !isDev }),
      ownScripts(),
      skillsIn(".", CACHE),
      readProfiles("."),
      isInstalled && isWarm ? workerInOneFile() : undefined,
    ]);
    demandOwnFolders(
      skills,
      members.map(({ found }) => found.name),
    );
    const ofProfiles = profiled === undefined ? [] : checkProfiles(profiled, members, skills);
    const warnings = [...ofSkills, ...ofProfiles];
    const before = told ?? (await readModule(values.out));
    const { profiles } = profiled ?? {};
    const servlets = members.map(({ found }) => found);
    if (isInstalled) demandComplete(servlets);
    // Tests of this repository bundle servlets that its own server does not have.
    const lack = isInstalled || values.quiet ? undefined : lackHere(servlets);
    // In this repository, the default is right: the version of edge-servlets.
    const version = isInstalled ? await versionOfProject() : undefined;
    const worker = isInstalled && isWarm ? IN_ONE_FILE : undefined;
    const features = featuresOf(projectOf(members, { skills, profiles }));
    const own = { skills, profiles, version, worker, features };
    const source = bundleSource(members, values.out, runner, own);
    await writeIfNew(values.out, source);
    if (isInstalled) await writeEntry(values.out, { inOneFile: isWarm });
    else {
      const schemas = { servlet: z.toJSONSchema(manifestSchema()), profiles: profilesJsonSchema() };
      for (const [name, schema] of Object.entries(schemas))
        await writeIfNew(
          join(import.meta.dirname, `../bundle/${name}.schema.json`),
          `${JSON.stringify(schema, null, 2)}\n`,
        );
    }
    if (values.quiet) return { code: 0, said: "", failure: "" };
    const said = [table(members), ...warnings.map((one) => printableLines(`warning: ${one}`))];
    for (const name of newBuilds(members, before)) {
      said.push(`note: ${name} has a new build: its memory starts anew, its files stay`);
    }
    if (lack !== undefined) said.push(`warning: ${lack.trimEnd()}`);
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    said.push(`\n${values.out} written from ${folders.join(", ")} in ${seconds} s`);
    const changes = isReload && before !== "" ? moduleChanges(source, before) : undefined;
    if (changes !== undefined) said.push(`Reloading: ${changes}.${await lacking(members)}`);
    return { code: 0, said: said.join("\n"), failure: "" };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // `dev` keeps serving the last bundle while a servlet is broken; a deployment must stop.
    const after = isReload
      ? "\nThe server goes on with the last one. Save a file of the servlet to try again."
      : "";
    return { code: isReload ? 0 : 1, said: "", failure: failed(error.message) + after };
  }
}

/** The parts of the project that decide which features it needs. */
export const projectOf = (
  members: readonly Member[],
  { skills, profiles = {} }: { skills?: SkillArchive | undefined; profiles?: Profiles | undefined },
): Pick<Project, "servlets" | "profiles" | "hasSkills"> => ({
  servlets: members.map(({ found: { name, manifest }, lists, skills: own }) => {
    return { name, manifest, lists, hasSkills: own !== undefined };
  }),
  hasSkills: skills !== undefined,
  profiles,
});

/** The features that the project in this folder needs; all features if it has no wrangler.toml. */
export function featuresOf(project: ReturnType<typeof projectOf>) {
  const bound = boundHere();
  if (bound === undefined) return FEATURES;
  return [...featuresFor({ ...project, ...bound }).keys()];
}

/** The text of the module in a file; empty if there is none. */
export const readModule = async (file = MODULE): Promise<string> =>
  new TextDecoder().decode(await readIfThere(file));

let scripts: Promise<RunnerScripts> | undefined;

let inOneFile: Promise<void> | undefined;

/** Writes the package's Worker as one file, once in a process. */
const workerInOneFile = (): Promise<void> => (inOneFile ??= writeInOneFile());

/** Writes the server's own scripts, those of the runner and the console, once in a process. */
const ownScripts = (): Promise<RunnerScripts> =>
  (scripts ??= Promise.all([runnerScripts(CACHE), consoleScripts(ASSETS)]).then(
    ([runner]) => runner,
  ));

/** A sentence that names the missing settings; empty if there are none. */
async function lacking(members: readonly Member[]): Promise<string> {
  const servlets = members.map(({ found }) => found);
  // Most servlets need no settings, and wrangler, which reads them, takes a second to load.
  if (missingIn(servlets, () => false).length === 0) return "";
  const has = await localVariables();
  const missing = missingIn(servlets, (name) => has.has(name));
  return missing.length === 0
    ? ""
    : ` Missing: ${missing.join("; ")}: set it in ${variablesFileIn(".")}.`;
}

/** The version in the folder's package.json; undefined if it has none. */
export async function versionOfProject(folder = "."): Promise<string | undefined> {
  const bytes = await readIfThere(join(folder, "package.json"));
  const { version } = (jsonIn(new TextDecoder().decode(bytes)) ?? {}) as { version?: unknown };
  return typeof version === "string" && version !== "" ? version : undefined;
}
