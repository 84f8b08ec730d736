/** Which lines does a project's wrangler.toml lack for this version, such as a Durable Object or a later date? */
import { readFileSync } from "node:fs";
import { join, normalize } from "node:path";
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

/** Lines of TOML that a wrangler.toml lacks for what this version needs, to be pasted into it; empty where it lacks nothing. */
export function lackingLines(text: string): string {
  const [theirs, ours] = [read(text, FILE), ownConfig()];
  return partsOf(theirs, ours)
    .map((part) => linesFor(part, ours))
    .join("");
}

function linesFor({ prefix, settings: theirs }: Part, ours: Section): string {
  const keys: string[] = [];
  let tables = "";
  const date = ours.compatibility_date!;
  if ((theirs.compatibility_date ?? "") < date) keys.push(`compatibility_date = "${date}"`);
  const flags = new Set([...theirs.compatibility_flags, ...ours.compatibility_flags]);
  if (flags.size > theirs.compatibility_flags.length)
    keys.push(`compatibility_flags = ${JSON.stringify([...flags])}`);
  const bound = new Set(theirs.durable_objects.bindings.map(({ name }) => name));
  for (const { name, class_name } of ours.durable_objects.bindings) {
    if (bound.has(name)) continue;
    tables += `\n[[${prefix}durable_objects.bindings]]\nname = "${name}"\nclass_name = "${class_name}"\n`;
  }
  const made = new Set(theirs.migrations.flatMap((one) => one.new_sqlite_classes));
  const tags = new Set(theirs.migrations.map(({ tag }) => tag));
  for (const migration of ours.migrations) {
    const classes = migration.new_sqlite_classes.filter((name) => !made.has(name));
    if (classes.length === 0) continue;
    const tag = tags.has(migration.tag) ? `edge-servlets-${migration.tag}` : migration.tag;
    tables += `\n[[${prefix}migrations]]\ntag = "${tag}"\nnew_sqlite_classes = ${JSON.stringify(classes)}\n`;
  }
  if (keys.length === 0) return tables;
  const place = prefix === "" ? "above all tables" : `in [${prefix.slice(0, -1)}]`;
  return `\n# ${place}, instead of the same keys\n${keys.join("\n")}\n${tables}`;
}

/** The text of the project's wrangler.toml. Throws a `Refusal` where this is no folder of a project. */
export function demandProject(): string {
  try {
    return readFileSync(FILE, "utf8");
  } catch {
    throw new Refusal(
      `There is no ${FILE} in this folder. Run this in the folder of a project, or make one: npx edge-servlets init NAME`,
    );
  }
}

/** Throws a `Refusal` with the lines that the project's wrangler.toml lacks for this version. */
export function demandComplete(): void {
  const lines = lackingLines(demandProject());
  if (lines === "") return;
  throw new Refusal(
    `${FILE} lacks what this version of edge-servlets needs. Add these lines, in the way in which it is written:\n${lines}`,
  );
}
