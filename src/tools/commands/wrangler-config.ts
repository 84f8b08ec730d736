/** Checks a project's wrangler.toml, and finds the lines that it lacks for this version, such as a Durable Object. */
import { readdirSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { parse, TomlError } from "smol-toml";
import * as z from "zod";
import { neededBindings, type Project } from "../bundle/features.ts";
import { OWN_FOLDER } from "../bundle/own.ts";
import { Refusal } from "../bundle/refusal.ts";

const FILE = "wrangler.toml";

const named = z.array(z.looseObject({ binding: z.string() })).default([]);
const renamed = z.array(z.looseObject({ from: z.string(), to: z.string() })).default([]);
const sectionSchema = z.looseObject({
  compatibility_date: z.string().optional(),
  compatibility_flags: z.array(z.string()).default([]),
  durable_objects: z
    .looseObject({
      bindings: z.array(z.looseObject({ name: z.string(), class_name: z.string() })).default([]),
    })
    .default({ bindings: [] }),
  kv_namespaces: named,
  r2_buckets: named,
  worker_loaders: named,
  assets: z.looseObject({ binding: z.string().optional() }).default({}),
  vars: z.record(z.string(), z.unknown()).default({}),
  migrations: z
    .array(
      z.looseObject({
        tag: z.string(),
        new_sqlite_classes: z.array(z.string()).default([]),
        deleted_classes: z.array(z.string()).default([]),
        renamed_classes: renamed,
        transferred_classes: renamed,
      }),
    )
    .default([]),
});
/** The settings of all deployments, or those of one environment. */
type Section = z.infer<typeof sectionSchema>;
/** A section without defaults: an environment inherits the keys that it does not set. */
const environmentSchema = z.looseObject({}).superRefine((section, { addIssue }) => {
  for (const { message, path } of sectionSchema.safeParse(section).error?.issues ?? [])
    addIssue({ code: "custom", message, path });
});
const configSchema = sectionSchema.extend({
  env: z.record(z.string(), environmentSchema).default({}),
});
type Config = z.infer<typeof configSchema>;

const ownText = (): string => readFileSync(join(OWN_FOLDER, FILE), "utf8");

/** The wrangler.toml that comes with this version, with what it has as comments. */
export const ownConfig = (): Config => read(withOptional(ownText()), FILE);

/** The text with the Durable Objects that it has as comments: no servlet of this repository needs them. */
const withOptional = (text: string): string =>
  text.replaceAll(/^# \[\[(?:durable_objects\.bindings|migrations)\]\]\n(?:# .*\n)+/gm, (table) =>
    table.replaceAll(/^# /gm, ""),
  );

function read(text: string, place: string): Config {
  try {
    return configSchema.parse(parse(text));
  } catch (error) {
    if (error instanceof TomlError || error instanceof z.ZodError) {
      throw new Refusal(`${place} cannot be read: ${error.message}. Correct it and try again.`);
    }
    throw error;
  }
}

/** A part of the configuration that must satisfy this version: the top level, or an environment. */
interface Part {
  /** Prefix of its table names: `env.NAME.`, or empty for the top level. */
  prefix: string;
  settings: Section;
}

/**
 * The top level, and the environments that deploy this Worker. An environment inherits the keys that it does not set,
 * except bindings.
 */
function partsOf({ env, ...top }: Config, ours: Config): Part[] {
  const { durable_objects: _, kv_namespaces: __, ...inherited } = ours;
  const mainOf = ({ main = top["main"] }: { main?: unknown }) => normalize(String(main));
  const environments = Object.entries(env)
    .filter(([, one]) => mainOf(one) === mainOf({}))
    .map(([name, one]): Part => {
      const key = /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
      const settings = sectionSchema.parse({ ...inherited, ...one });
      return { prefix: `env.${key}.`, settings };
    });
  return [{ prefix: "", settings: top }, ...environments];
}

/**
 * The lines of TOML that a wrangler.toml lacks for this version; empty if it is complete. `needed` are the names of the
 * bindings to require: of Durable Objects, by default all that this version binds itself, and OAUTH_KV.
 */
export function lackingLines(text: string, needed?: readonly string[]): string {
  const ours = needed === undefined ? read(ownText(), FILE) : ownConfig();
  const theirs = read(text, FILE);
  const atTop = theirs.durable_objects.bindings.map(({ name }) => name);
  return partsOf(theirs, ours)
    .map((part) => {
      // Environments serve the same Worker, but do not inherit the top level's bindings.
      const all = needed && part.prefix !== "" ? [...needed, ...atTop] : needed;
      const store = all?.includes(STORE) ? storeFor(part) : "";
      return linesFor(part, needing(ours, all)) + store;
    })
    .join("");
}

/** The configuration with only these Durable Object bindings. */
function needing(ours: Config, needed?: Iterable<string>): Config {
  if (needed === undefined) return ours;
  const names = new Set(needed);
  const bindings = ours.durable_objects.bindings.filter(({ name }) => names.has(name));
  const classes = new Set(bindings.map(({ class_name }) => class_name));
  const migrations = ours.migrations.map((one) => ({
    ...one,
    new_sqlite_classes: one.new_sqlite_classes.filter((name) => classes.has(name)),
  }));
  return { ...ours, durable_objects: { bindings }, migrations };
}

/** The top level and every environment of a wrangler.toml. */
function sectionsOf(text: string): Section[] {
  const { env, ...top } = read(text, FILE);
  return [top, ...Object.values(env).map((one) => sectionSchema.parse(one))];
}

/** The Durable Object classes that exist after these migrations. */
function madeBy(migrations: Section["migrations"]): Set<string> {
  const made = new Set<string>();
  for (const { new_sqlite_classes, transferred_classes, ...changes } of migrations) {
    for (const { from } of changes.renamed_classes) made.delete(from);
    for (const name of changes.deleted_classes) made.delete(name);
    for (const { to } of [...changes.renamed_classes, ...transferred_classes]) made.add(to);
    for (const name of new_sqlite_classes) made.add(name);
  }
  return made;
}

/** Names of all bindings and variables in a wrangler.toml, including its environments. */
export function boundIn(text: string): Pick<Project, "bindings" | "variables"> {
  const all = sectionsOf(text);
  const bindings = all.flatMap(({ durable_objects, assets, ...others }) => [
    ...durable_objects.bindings.map(({ name }) => name),
    ...[others.kv_namespaces, others.r2_buckets, others.worker_loaders].flatMap((some) =>
      some.map(({ binding }) => binding),
    ),
    ...(assets.binding === undefined ? [] : [assets.binding]),
  ]);
  const variables = all.flatMap(({ vars }) => Object.keys(vars));
  return { bindings: new Set(bindings), variables: new Set(variables) };
}

/** The Durable Object classes of edge-servlets that the project's wrangler.toml binds. */
export function boundClasses(): string[] {
  const { bindings } = ownConfig().durable_objects;
  demandProject();
  const bound = boundHere()!.bindings;
  return bindings.filter(({ name }) => bound.has(name)).map(({ class_name }) => class_name);
}

/** Classes of edge-servlets that the migrations of a wrangler.toml have created, but that it no longer binds. */
export function abandonedClasses(text: string): string[] {
  const all = sectionsOf(text);
  const own = new Set(ownConfig().durable_objects.bindings.map(({ class_name }) => class_name));
  const bound = new Set(
    all.flatMap(({ durable_objects }) =>
      durable_objects.bindings.map(({ class_name }) => class_name),
    ),
  );
  const made = new Set(all.flatMap(({ migrations }) => [...madeBy(migrations)]));
  return [...made].filter((name) => own.has(name) && !bound.has(name));
}

function linesFor(part: Part, ours: Section): string {
  const { prefix, settings: theirs } = part;
  const keys: string[] = [];
  const date = ours.compatibility_date!;
  if ((theirs.compatibility_date ?? "") < date) keys.push(`compatibility_date = "${date}"`);
  const flags = new Set([...theirs.compatibility_flags, ...ours.compatibility_flags]);
  if (flags.size > theirs.compatibility_flags.length)
    keys.push(`compatibility_flags = ${JSON.stringify([...flags])}`);
  const tables = tablesFor(part, ours);
  if (keys.length === 0) return tables;
  const place = prefix === "" ? "above all tables" : `in [${prefix.slice(0, -1)}]`;
  return `\n# ${place}, instead of the same keys\n${keys.join("\n")}\n${tables}`;
}

/** The tables for Durable Objects and their migrations that a part lacks. */
function tablesFor({ prefix, settings: theirs }: Part, ours: Section): string {
  let tables = "";
  const bound = new Set(theirs.durable_objects.bindings.map(({ name }) => name));
  for (const { name, class_name } of ours.durable_objects.bindings) {
    if (bound.has(name)) continue;
    tables += `\n[[${prefix}durable_objects.bindings]]\nname = "${name}"\nclass_name = "${class_name}"\n`;
  }
  const made = madeBy(theirs.migrations);
  const tags = new Set(theirs.migrations.map(({ tag }) => tag));
  for (const migration of ours.migrations) {
    const classes = migration.new_sqlite_classes.filter((name) => !made.has(name));
    if (classes.length === 0) continue;
    let { tag } = migration;
    while (tags.has(tag)) tag = `edge-servlets-${tag}`;
    tags.add(tag);
    tables += `\n[[${prefix}migrations]]\ntag = "${tag}"\nnew_sqlite_classes = ${JSON.stringify(classes)}\n`;
  }
  return tables;
}

/** The tables that a wrangler.toml lacks for the owner's sign-in, to be appended to it. */
export function signInTables(text: string): string {
  const theirs = read(text, FILE);
  const ours = needing(ownConfig(), ["ATTEMPTS", "GRANTS"]);
  return partsOf(theirs, ours)
    .map((part) => storeFor(part) + tablesFor(part, ours))
    .join("");
}

/** The binding of the sign-in's KV namespace. */
const STORE = "OAUTH_KV";

/** The table of the KV namespace, if the part lacks it. */
function storeFor({ prefix, settings }: Part): string {
  const isThere = settings.kv_namespaces.some(({ binding }) => binding === STORE);
  return isThere ? "" : `\n[[${prefix}kv_namespaces]]\nbinding = "${STORE}"\n`;
}

/** The text of the project's wrangler.toml. Throws a `Refusal` if the working directory is not a project. */
export function demandProject(): string {
  const text = wranglerToml();
  if (text !== undefined) return text;
  throw new Refusal(
    `There is no ${FILE} in this folder. Run this in the folder of a project, or make one: npx edge-servlets init NAME`,
  );
}

/** True if the text is valid TOML. Appended tables can make it invalid: `[[x]]` cannot follow `x = []`. */
export function isToml(text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Names of all bindings and variables in wrangler.toml, and in other TOML files of this folder that deploy the same
 * Worker. Undefined if there is no wrangler.toml.
 */
export function boundHere(): ReturnType<typeof boundIn> | undefined {
  const text = wranglerToml();
  if (text === undefined) return undefined;
  const mainOf = (one: string) => normalize(String((parse(one) as { main?: unknown }).main));
  const others = readdirSync(".").filter((name) => name.endsWith(".toml") && name !== FILE);
  const all = others.flatMap((name) => {
    const other = readFileSync(name, "utf8");
    return isToml(other) && mainOf(other) === mainOf(text) ? [boundIn(other)] : [];
  });
  const whole = [boundIn(text), ...all];
  return {
    bindings: new Set(whole.flatMap(({ bindings }) => [...bindings])),
    variables: new Set(whole.flatMap(({ variables }) => [...variables])),
  };
}

/** The text of the wrangler.toml in this folder; undefined if there is none. */
export function wranglerToml(): string | undefined {
  try {
    return readFileSync(FILE, "utf8");
  } catch {
    return undefined;
  }
}

/**
 * Throws a `Refusal` if the project's wrangler.toml lacks lines for this version and its servlets, or no longer binds a
 * class that its migrations have created.
 */
export function demandComplete(servlets: Project["servlets"]): void {
  const text = demandProject();
  const [abandoned] = abandonedClasses(text);
  if (abandoned !== undefined)
    throw new Refusal(
      `${FILE} no longer binds the class ${abandoned}, but a migration has made its objects. Bind it again, or delete the objects and their data by this migration:\n\n[[migrations]]\ntag = "without-${abandoned.toLowerCase()}"\ndeleted_classes = ["${abandoned}"]`,
    );
  const lack = lackIn(text, servlets);
  if (lack !== undefined) throw new Refusal(lack);
}

/** What wrangler.toml, if there is one, lacks for these servlets, with the lines to add; undefined if nothing. */
export function lackHere(servlets: Project["servlets"]): string | undefined {
  const text = wranglerToml();
  return text && lackIn(text, servlets);
}

function lackIn(text: string, servlets: Project["servlets"]): string | undefined {
  const { bindings, variables } = boundIn(text);
  const needed = neededBindings({ servlets, bindings, variables });
  const lines = lackingLines(text, [...needed.keys()]);
  if (lines === "") return undefined;
  const missing = [...needed].flatMap(([name, why]) => (bindings.has(name) ? [] : [why]));
  const reasons =
    missing.length === 0 ? "" : ` that your project needs: ${[...new Set(missing)].join("; ")}`;
  return `${FILE} lacks ${missing.length === 0 ? "what this version of edge-servlets needs" : "bindings"}${reasons}. Add these lines:\n${lines}`;
}
