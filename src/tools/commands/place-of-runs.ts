/** Does a project itself claim who can reach its server, which only `dev` may say? */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "smol-toml";
import { RUNS } from "../../server/kernel/settings/own-names.ts";

/** A file, or the environment, that sets the variable by which `dev` tells the Worker who can reach it; else undefined. */
export async function placeOfRuns(
  folder: string,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  const assignment = new RegExp(String.raw`^(?!\s*#).*\b${RUNS}\s*[=:]`, "m");
  for (const file of await readdir(folder, { withFileTypes: true })) {
    const { name } = file;
    if (file.isFIFO() || !/^\.(dev\.vars|env)(\.|$)|\.(toml|jsonc?)$/.test(name)) continue;
    // A folder, or a link to nothing, has no variables.
    const text = await readFile(join(folder, name), "utf8").catch(() => "");
    const isSet = /^\.(dev\.vars|env)(\.|$)/.test(name)
      ? assignment.test(text)
      : names(RUNS, valueOf(name, text));
    if (isSet) return name;
  }
  // Wrangler has read files of other names and folders (--env-file) into the environment of its build command.
  return environment[RUNS] === undefined ? undefined : "The environment";
}

/** The value of a file of TOML, or of JSON with comments; undefined for any other, which wrangler refuses. */
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

/** True if a name is a key anywhere in a value, or a text: bindings have their names as texts. */
function names(name: string, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === name;
  return Object.hasOwn(value, name) || Object.values(value).some((one) => names(name, one));
}
