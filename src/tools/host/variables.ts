import { readFile } from "node:fs/promises";
import { settingNames } from "../bundle/features.ts";
import { Refusal } from "../bundle/refusal.ts";
import { variablesIn } from "../bundle/variable-files.ts";
import { otelSettingNames } from "../../server/kernel/observe/otel-settings.ts";
import type { Configuration } from "./configuration.ts";

/** Maximum length of a variable that Linux passes to a process, in bytes, including its name. */
const LONGEST = 131_072 - 2;

/** The sources of variables and secrets. */
interface VariableSources {
  /** Files like `.dev.vars`, with lines `NAME=value`. Earlier files override later ones. */
  files?: readonly string[];
  /** Further names to read from the environment, besides settings, `vars` and required secrets. */
  names?: readonly string[];
  environment: Readonly<Record<string, string | undefined>>;
}

/**
 * The Worker's variables and secrets. The environment, of which only known names are read, overrides the files, and
 * these override `vars` of wrangler.toml. Throws a `Refusal`.
 */
export async function readVariables(
  { vars, secrets }: Configuration,
  { files = [], names = [], environment }: VariableSources,
): Promise<Record<string, string>> {
  const written = await Promise.all(files.toReversed().map(readFileOf));
  const texts = Object.entries(vars).map(([name, value]) => {
    if (typeof value === "string") return [name, value];
    throw new Refusal(`vars.${name} in wrangler.toml is not a string. Write it in quotes.`);
  });
  const own = [...settingNames(), ...otelSettingNames()];
  const known = [...own, ...Object.keys(vars), ...secrets, ...names];
  const variables: Record<string, string> = Object.assign(Object.fromEntries(texts), ...written);
  for (const name of known) {
    const value = environment[name];
    if (value !== undefined) variables[name] = value;
  }
  const missing = [...secrets, ...names].filter((name) => variables[name] === undefined);
  if (missing.length > 0)
    throw new Refusal(
      `There is no ${missing.join(", ")} in the environment or in the secrets file, and the server needs it. Set it, or name the file that has it: --secrets FILE`,
    );
  for (const [name, value] of Object.entries(variables)) {
    if (value.includes("\0")) throw new Refusal(`${name} has a zero character: remove it.`);
    const { length } = Buffer.from(`${name}=${value}`);
    if (length > LONGEST)
      throw new Refusal(`${name} has ${length} bytes (limit ${LONGEST}): make it shorter.`);
  }
  return variables;
}

async function readFileOf(file: string): Promise<Record<string, string>> {
  const text = await readFile(file, "utf8").catch((error: Error) => {
    throw new Refusal(`${file} cannot be read: ${error.message}`);
  });
  return variablesIn(text, file);
}
