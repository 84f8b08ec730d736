/** Which features of the server a bundle brings into the Worker's script: those that its servlets, profiles and bindings need. */
import type { Lists } from "../../server/kernel/core/model.ts";
import { VIEW_TYPE } from "../../server/kernel/core/views.ts";
import type { Manifest } from "../../server/kernel/servlets/manifest.ts";
import type { Profiles } from "../../server/kernel/servlets/profiles.ts";

/** The names of all features, which are their folders in `src/server/features`. */
export const FEATURES = [
  ...["usage", "state", "tasks", "carried", "sessions", "tool-calls", "people", "sign-in"],
  ...["issuers", "console", "installs", "operator", "search", "views", "skills", "otc"],
] as const;

/** The name under which `feature.ts` in its folder exports it. */
export const featureExport = (name: string): string =>
  `${name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())}Feature`;

/** A servlet of a project. */
interface ProjectServlet {
  name: string;
  manifest: Manifest;
  /** Absent if they are dynamic. */
  lists?: Lists | undefined;
  hasSkills?: boolean;
}

/** A project: its servlets, skills and profiles, and the names of the bindings and variables in its wrangler.toml. */
export interface Project {
  servlets: readonly ProjectServlet[];
  hasSkills?: boolean;
  profiles: Profiles;
  bindings: ReadonlySet<string>;
  variables: ReadonlySet<string>;
}

/** Bindings that bring a feature in: of a class that is bound, objects may be stored that have alarms. */
const BY_BINDING: Readonly<Record<string, readonly string[]>> = {
  usage: ["USAGE"],
  state: ["SERVLET_STATES"],
  tasks: ["TASKS"],
  carried: ["STATES"],
  sessions: ["SESSIONS", "HUBS"],
  people: ["PROFILES", "TASKS"],
  "sign-in": ["GRANTS", "OAUTH_KV"],
  // Tokens of issuers are verified by what the own sign-in needs anyway.
  issuers: ["GRANTS", "OAUTH_KV"],
  console: ["ASSETS"],
  installs: ["INSTALLS", "BUILDS", "LOADER"],
  operator: ["INSTALLS", "SERVLET_STATES", "PROFILES", "USAGE"],
  otc: ["CALL_RECORDS"],
};

/** The features that others need, as their records say; each before those that it needs. */
export const NEEDS: Readonly<Record<string, readonly string[]>> = {
  console: ["people"],
  sessions: ["tasks"],
  people: ["tasks"],
  installs: ["state"],
};

/** True for a servlet that has views, or may list some. */
function mayHaveViews({ manifest, lists }: ProjectServlet): boolean {
  if (manifest.views !== undefined || lists === undefined) return true;
  const isForViews = ({ name }: { name: string }) =>
    manifest.tools?.[name]?.visibility !== undefined;
  return (
    lists.resources.some(({ mimeType }) => mimeType === VIEW_TYPE) ||
    lists.tools.some(
      (tool) =>
        isForViews(tool) || Object.keys(tool._meta ?? {}).some((key) => /^ui(\/|$)/.test(key)),
    )
  );
}

/** The features that a project needs, each with what brings it in, in words; in the order of `FEATURES`. */
export function featuresFor({
  servlets,
  hasSkills,
  profiles,
  bindings,
  variables,
}: Project): ReadonlyMap<string, string> {
  const reasons = new Map<string, string | undefined>();
  const nameOf = (has: (servlet: ProjectServlet) => boolean | undefined) =>
    servlets.find(has)?.name;
  for (const [name, any] of Object.entries(BY_BINDING)) {
    const bound = any.find((one) => bindings.has(one));
    reasons.set(name, bound && `the binding ${bound}`);
  }
  if (variables.has("OAUTH_ISSUERS")) reasons.set("issuers", "the variable OAUTH_ISSUERS");
  const calling = nameOf(({ manifest: { may_call = [] } }) => may_call.length > 0);
  const installed = reasons.get("installs") && "servlets that are installed may need it";
  reasons.set("tool-calls", calling ? `the servlet ${calling}, which calls others` : installed);
  const isSearched = Object.values(profiles).some(({ tools }) => tools === "search");
  const [viewing, skilled] = [nameOf(mayHaveViews), nameOf((one) => one.hasSkills)];
  reasons.set("views", viewing ? `the servlet ${viewing}, which may have views` : installed);
  const ofProject = hasSkills ? "the skills of the project" : installed;
  reasons.set("skills", skilled ? `the servlet ${skilled}, which has skills` : ofProject);
  if (isSearched) reasons.set("search", "profiles.json, which has tools searched");
  for (const [name, needed] of Object.entries(NEEDS))
    if (reasons.get(name) !== undefined)
      for (const one of needed) reasons.set(one, reasons.get(one) ?? `the feature ${name}`);
  return new Map(
    FEATURES.flatMap((name) => {
      const reason = reasons.get(name);
      return reason === undefined ? [] : [[name, reason] as const];
    }),
  );
}

/** The Durable Objects that the servlets need, by the names of their bindings, each with who needs it. */
export function neededBindings(servlets: Project["servlets"]): ReadonlyMap<string, string> {
  const needed = new Map<string, string>();
  const need = (
    bindings: readonly string[],
    does: string,
    has: (manifest: Manifest) => boolean,
  ): void => {
    const found = servlets.find(({ manifest }) => has(manifest));
    if (found === undefined) return;
    for (const one of bindings) if (!needed.has(one)) needed.set(one, `${found.name} ${does}`);
  };
  need(
    ["KEY_RING", "SERVLET_STATES", "QUOTAS"],
    "keeps state",
    ({ state = "call" }) => state !== "call",
  );
  need(
    ["KEY_RING", "PROFILES", "TASKS"],
    "uses accounts of its callers",
    ({ accounts = {} }) => Object.keys(accounts).length > 0,
  );
  return needed;
}
