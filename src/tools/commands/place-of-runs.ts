/** Finds a project's own setting of the variable RUNS, which only `dev` may set: it says who can reach the server. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "smol-toml";
import { RUNS } from "../../server/kernel/settings/own-names.ts";

/** The name of the file that sets RUNS, or "The environment"; undefined if neither does. */
export async function placeOfRuns(
  folder: string,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  const assignment = new RegExp(String.raw`^(?!\s*#).*\b${RUNS}\s*[=:]`, "m");
  for (const file of await readdir(folder, { withFileTypes: true })) {
    const { name } = file;
    if (file.isFIFO() || !/^\.(dev\.vars|env)(\.|$)|\.(toml|jsonc?)$/.test(name)) continue;
    // A folder, or a broken link, counts as empty.
    const text = await readFile(join(folder, name), "utf8").catch(() => "");
    const isSet = /^\.(dev\.vars|env)(\.|$)/.test(name)
      ? assignment.test(text)
      : names(RUNS, valueOf(name, text));
    if (isSet) return name;
  }
  // Wrangler passes the variables of an --env-file on in the environment of its build command.
  return environment[RUNS] === undefined ? undefined : "The environment";
}

/** The parsed value of a TOML or JSONC file; undefined if it is invalid, which wrangler reports. */
function valueOf(name: string, content: string): unknown {
  const text = content.replace(/^\uFEFF/, "");
  try {
    if (name.endsWith(".toml")) return parse(text);
    return JSON.parse(
      text
        .replaceAll(/("(?:\\.|[^"\\])*")|\/\/[^\r\n]*|\/\*[^]*?\*\//g, "$1")
        .replaceAll(/("(?:\\.|[^"\\])*")|,(?=\s*[\]}])/g, "$1"),
    );
  } catch {
    return undefined;
  }
}

/** True if the name is a key or a string anywhere in the value: bindings have their names as strings. */
function names(name: string, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === name;
  return Object.hasOwn(value, name) || Object.values(value).some((one) => names(name, one));
}
