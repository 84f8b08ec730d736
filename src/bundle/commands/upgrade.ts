/** Adds to a project's wrangler.toml what a newer version needs, such as a Durable Object or a later compatibility date. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, TomlError } from "smol-toml";
import * as z from "zod";
import { OWN_FOLDER } from "../own.ts";
import { Refusal } from "../refusal.ts";

const FILE = "wrangler.toml";

const configSchema = z.looseObject({
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

/**
 * Describes what a wrangler.toml lacks for this version, and returns its text with that added. Everything else stays.
 *
 * Throws a `Refusal` for text that cannot be parsed.
 */
export function upgraded(text: string): { missing: string[]; text: string } {
  const [theirs, ours] = [read(text, FILE), ownConfig()];
  const missing: string[] = [];
  let result = text;
  /** Sets a top-level key: these stand before the first table header. */
  const set = (key: string, value: string) => {
    const line = `${key} = ${value}`;
    const end = /^\s*\[/m.exec(result)?.index ?? result.length;
    const [top, tables] = [result.slice(0, end), result.slice(end)];
    const old = new RegExp(`^${key}\\s*=\\s*(\\[[^\\]]*\\]|.*)$`, "m");
    result = (old.test(top) ? top.replace(old, () => line) : `${line}\n${top}`) + tables;
    missing.push(line);
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
    missing.push(`the Durable Object ${name}`);
    result += `\n[[durable_objects.bindings]]\nname = "${name}"\nclass_name = "${class_name}"\n`;
  }
  const made = new Set(theirs.migrations.flatMap((one) => one.new_sqlite_classes));
  const tags = new Set(theirs.migrations.map(({ tag }) => tag));
  for (const migration of ours.migrations) {
    const classes = migration.new_sqlite_classes.filter((name) => !made.has(name));
    if (classes.length === 0) continue;
    missing.push(`the migration of ${classes.join(", ")}`);
    const tag = tags.has(migration.tag) ? `edge-servlets-${migration.tag}` : migration.tag;
    result += `\n[[migrations]]\ntag = "${tag}"\nnew_sqlite_classes = ${JSON.stringify(classes)}\n`;
  }
  return { missing, text: result };
}

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
