/** Adds to a project's wrangler.toml what a newer version needs, such as a Durable Object or a later compatibility date. */
import { readFileSync, writeFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parse, TomlError } from "smol-toml";
import * as z from "zod";
import { OWN_FOLDER } from "../own.ts";
import { Refusal } from "../refusal.ts";

const FILE = "wrangler.toml";

const sectionSchema = z.looseObject({
  compatibility_date: z.string().optional(),
  compatibility_flags: z.array(z.string()).default([]),
  durable_objects: z
    .looseObject({
      bindings: z.array(z.looseObject({ name: z.string(), class_name: z.string() })).default([]),
    })
    .default({ bindings: [] }),
  migrations: z
    .array(z.looseObject({ tag: z.string(), new_sqlite_classes: z.array(z.string()).default([]) }))
    .default([]),
});
/** The settings of all deployments, or those of one environment. */
type Section = z.infer<typeof sectionSchema>;
/** Has the shape of a section, without its defaults: what an environment does not set is inherited. */
const environmentSchema = z.looseObject({}).superRefine((section, { addIssue }) => {
  for (const { message, path } of sectionSchema.safeParse(section).error?.issues ?? [])
    addIssue({ code: "custom", message, path });
});
const configSchema = sectionSchema.extend({
  env: z.record(z.string(), environmentSchema).default({}),
});
type Config = z.infer<typeof configSchema>;

/** The wrangler.toml that comes with this version. */
export const ownConfig = (): Config => read(readFileSync(join(OWN_FOLDER, FILE), "utf8"), FILE);

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

/** A part of the configuration in which this version needs something. */
interface Part {
  /** The prefix of its tables: `env.NAME.`, or empty for the top level. */
  prefix: string;
  settings: Section;
}

/**
 * The top level, and the environments that deploy this Worker. What an environment does not set, it inherits: not its
 * bindings, but all else that this version needs.
 */
function partsOf({ env, ...top }: Config, ours: Config): Part[] {
  const { durable_objects: _, ...inherited } = ours;
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

/** The parts that this version needs and a configuration does not have. */
interface Lack {
  /** A description of each. */
  missing: string[];
  /** Values of keys, and the prefix of the part that they are missing in. */
  values: { prefix: string; key: string; value: string }[];
  /** Tables of TOML, to be added at the end. */
  tables: string;
}

function lackOf(theirs: Config, ours: Config): Lack {
  const lacks = partsOf(theirs, ours).map((part) => lackIn(part, ours));
  return {
    missing: lacks.flatMap(({ missing }) => missing),
    values: lacks.flatMap(({ values }) => values),
    tables: lacks.map(({ tables }) => tables).join(""),
  };
}

function lackIn({ prefix, settings: theirs }: Part, ours: Config): Lack {
  const missing: string[] = [];
  const values: Lack["values"] = [];
  let tables = "";
  const place = placeOf(prefix);
  const set = (key: string, value: string) => {
    values.push({ prefix, key, value });
    missing.push(`${key} = ${value}${place}`);
  };
  const date = ours.compatibility_date!;
  if ((theirs.compatibility_date ?? "") < date) set("compatibility_date", JSON.stringify(date));
  const flags = new Set([...theirs.compatibility_flags, ...ours.compatibility_flags]);
  if (flags.size > theirs.compatibility_flags.length) {
    set("compatibility_flags", `[${[...flags].map((flag) => JSON.stringify(flag)).join(", ")}]`);
  }
  const bound = new Set(theirs.durable_objects.bindings.map(({ name }) => name));
  for (const { name, class_name } of ours.durable_objects.bindings) {
    if (bound.has(name)) continue;
    missing.push(`the Durable Object ${name}${place}`);
    tables += `\n[[${prefix}durable_objects.bindings]]\nname = "${name}"\nclass_name = "${class_name}"\n`;
  }
  const made = new Set(theirs.migrations.flatMap((one) => one.new_sqlite_classes));
  const tags = new Set(theirs.migrations.map(({ tag }) => tag));
  for (const migration of ours.migrations) {
    const classes = migration.new_sqlite_classes.filter((name) => !made.has(name));
    if (classes.length === 0) continue;
    missing.push(`the migration of ${classes.join(", ")}${place}`);
    const tag = tags.has(migration.tag) ? `edge-servlets-${migration.tag}` : migration.tag;
    tables += `\n[[${prefix}migrations]]\ntag = "${tag}"\nnew_sqlite_classes = ${JSON.stringify(classes)}\n`;
  }
  return { missing, values, tables };
}

const placeOf = (prefix: string) => prefix && ` in [${prefix.slice(0, -1)}]`;

/** The text with a key of the whole configuration set: those of its tables come after the first header. */
function withKey(text: string, key: string, value: string): string {
  const end = /^\s*\[/m.exec(text)?.index ?? text.length;
  const [top, tables] = [text.slice(0, end), text.slice(end)];
  const old = new RegExp(
    `^([ \\t]*${key}[ \\t]*=[ \\t]*)(\\[[^\\]]*\\]|"[^"\\n]*"|'[^'\\n]*')`,
    "m",
  );
  const changed = top.replace(old, (_all, before: string) => before + value);
  return (old.test(top) ? changed : `${key} = ${value}\n${top}`) + tables;
}

/**
 * Describes what a wrangler.toml lacks for this version, and returns its text with that added. Everything else stays.
 *
 * Throws a `Refusal` for text that cannot be parsed, or that is written in a way to which nothing can be added safely.
 */
export function upgraded(text: string): { missing: string[]; text: string } {
  const [theirs, ours] = [read(text, FILE), ownConfig()];
  const { missing, values, tables } = lackOf(theirs, ours);
  const keys = values
    .filter(({ prefix }) => prefix === "")
    .reduce((before, { key, value }) => withKey(before, key, value), text);
  const result = keys + tables;
  if (missing.length === 0 || isComplete(result, theirs, ours)) return { missing, text: result };
  const lines = values.map(({ prefix, key, value }) => `${key} = ${value}${placeOf(prefix)}\n`);
  throw new Refusal(
    `${FILE} lacks what this version of edge-servlets needs, and cannot be changed by a program as it is written. Add this by hand, in the way that it is written in:\n${lines.join("")}${tables}`,
  );
}

/** True for a text that lacks nothing more, and has kept all that it had. */
function isComplete(text: string, theirs: Config, ours: Config): boolean {
  try {
    const config = read(text, FILE);
    return (
      lackOf(config, ours).missing.length === 0 && isDeepStrictEqual(others(config), others(theirs))
    );
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

const CHANGED = new Set(Object.keys(sectionSchema.shape));

const others = ({ env, ...whole }: Config) =>
  [whole, ...Object.values(env)].map((section) =>
    Object.entries(section).filter(([key]) => !CHANGED.has(key)),
  );

const textOf = () => {
  try {
    return readFileSync(FILE, "utf8");
  } catch {
    throw new Refusal(
      `There is no ${FILE} in this folder. Run this in the folder of a project, or make one: npx edge-servlets init NAME`,
    );
  }
};

/** Throws a `Refusal` if wrangler.toml lacks something that this version needs. */
export function demandComplete(): void {
  const { missing } = upgraded(textOf());
  if (missing.length === 0) return;
  throw new Refusal(
    `${FILE} lacks what this version of edge-servlets needs: ${missing.join("; ")}.\nAdd it: npx edge-servlets upgrade`,
  );
}

/** Adds to wrangler.toml what it lacks; returns the text to print. */
export function upgrade(): string {
  const { missing, text } = upgraded(textOf());
  if (missing.length === 0) return `${FILE} has all that this version needs.`;
  writeFileSync(FILE, text);
  return `${FILE} now has:\n${missing.map((one) => `  ${one}\n`).join("")}The next deploy applies it.`;
}
