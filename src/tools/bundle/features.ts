/** Selects the features of the Worker's script: those that the servlets, profiles and bindings need. */
import type { AboutFeature, Project } from "../../server/kernel/about.ts";
import { knowFeatures, type KnownFeatures } from "../../server/kernel/settings/known-features.ts";

export type { Project } from "../../server/kernel/about.ts";
// Re-exported so that importers also run this file, which registers the features' names (`knowFeatures`).
export { isServersOwn, settingNames } from "../../server/kernel/settings/own-names.ts";

/** All features by their names (their folders in `src/server/features`), in the order in which they start. */
const MODULES: Readonly<Record<string, { default: AboutFeature }>> = {
  views: await import("../../server/features/views/about.ts"),
  skills: await import("../../server/features/skills/about.ts"),
  usage: await import("../../server/features/usage/about.ts"),
  state: await import("../../server/features/state/about.ts"),
  tasks: await import("../../server/features/tasks/about.ts"),
  carried: await import("../../server/features/carried/about.ts"),
  sessions: await import("../../server/features/sessions/about.ts"),
  "tool-calls": await import("../../server/features/tool-calls/about.ts"),
  people: await import("../../server/features/people/about.ts"),
  "sign-in": await import("../../server/features/sign-in/about.ts"),
  team: await import("../../server/features/team/about.ts"),
  issuers: await import("../../server/features/issuers/about.ts"),
  console: await import("../../server/features/console/about.ts"),
  installs: await import("../../server/features/installs/about.ts"),
  operator: await import("../../server/features/operator/about.ts"),
  "as-tools": await import("../../server/features/as-tools/about.ts"),
  search: await import("../../server/features/search/about.ts"),
  snippets: await import("../../server/features/snippets/about.ts"),
  otc: await import("../../server/features/otc/about.ts"),
  schedules: await import("../../server/features/schedules/about.ts"),
  events: await import("../../server/features/events/about.ts"),
  transfers: await import("../../server/features/transfers/about.ts"),
  webhooks: await import("../../server/features/webhooks/about.ts"),
};
export const FEATURES: readonly string[] = Object.keys(MODULES);
const ABOUT = Object.entries(MODULES).map(([name, module]) => ({ name, ...module.default }));

/** Facts about all features that every Worker knows, even of features that it lacks. */
export const KNOWN: KnownFeatures = {
  bindings: ABOUT.flatMap(({ bindings = [] }) => bindings),
  off: ABOUT.flatMap(({ bindings = [], off }) => (off === undefined ? [] : [{ bindings, off }])),
  settings: ABOUT.flatMap(({ settings = [] }) => settings),
  optional: Object.fromEntries(
    ABOUT.flatMap(({ name, optional }) => (optional ? [[name, optional]] : [])),
  ),
};
knowFeatures(KNOWN);

/** True for code with a name by which servlets call host functions of features. */
export const callsFeatures = (text: string): boolean =>
  ABOUT.some(({ calledAs = [] }) => calledAs.some((name) => text.includes(name)));

/** The features that a feature depends on. */
export const needsOf = (name: string): readonly string[] => MODULES[name]!.default.needs ?? [];

/** The name of the feature's export in its `feature.ts`. */
export const featureExport = (name: string): string =>
  `${name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())}Feature`;

/** The features that a project needs, each with the reason as a phrase, in the order of `FEATURES`. */
export function featuresFor(project: Project): ReadonlyMap<string, string> {
  const boundOf = ({ bindings = [], broughtInBy = bindings }: AboutFeature) => {
    const bound = broughtInBy.find((one) => project.bindings.has(one));
    return bound && `the binding ${bound}`;
  };
  const installed =
    boundOf(MODULES["installs"]!.default) && "servlets that are installed may need it";
  const reasons = new Map<string, string>();
  for (const about of ABOUT) {
    const reason =
      about.reasonIn?.(project) ?? boundOf(about) ?? (about.isForInstalled ? installed : undefined);
    if (reason !== undefined) reasons.set(about.name, reason);
  }
  // The loop also visits the entries that it adds.
  for (const [name] of reasons)
    for (const one of needsOf(name)) if (!reasons.has(one)) reasons.set(one, `the feature ${name}`);
  return new Map(
    FEATURES.flatMap((name) => {
      const reason = reasons.get(name);
      return reason === undefined ? [] : [[name, reason] as const];
    }),
  );
}

/** The names of required bindings, each with the servlet, variable or binding that requires it. */
export function neededBindings({
  servlets,
  bindings: bound,
  variables,
}: Pick<Project, "servlets" | "bindings" | "variables">): ReadonlyMap<string, string> {
  const needed = new Map<string, string>();
  for (const { variableNeeds } of ABOUT) {
    if (variableNeeds === undefined || !variables.has(variableNeeds.variable)) continue;
    for (const one of variableNeeds.bindings) needed.set(one, `${variableNeeds.variable} is set`);
  }
  for (const { servletsNeed } of ABOUT) {
    const found = servlets.find(({ manifest }) => servletsNeed?.of(manifest));
    for (const one of (found && servletsNeed?.bindings) ?? [])
      if (!needed.has(one)) needed.set(one, `${found!.name} ${servletsNeed!.because}`);
  }
  for (const { bindings = [], storageCountedBy: counter } of ABOUT) {
    const storing = bindings.find((one) => bound.has(one) || needed.has(one));
    if (storing !== undefined && counter !== undefined && !needed.has(counter))
      needed.set(counter, `${counter} limits what callers store in ${storing}`);
  }
  return needed;
}
