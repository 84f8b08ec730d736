/** Finds and parses the files with a project's variables and secrets. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { Refusal } from "./refusal.ts";

/** The files from which `npm run dev` and `npm start` read variables. An earlier file overrides a later one. */
export function variableFilesIn(folder: string): string[] {
  // A folder .env may be a Python virtual environment. A named pipe is fine: it keeps secrets off the disk.
  const isThere = (name: string) =>
    statSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory() === false;
  // With a .dev.vars, wrangler ignores the other files.
  return isThere(".dev.vars") ? [".dev.vars"] : [".env.local", ".env"].filter(isThere);
}

/** The file to add a new variable to: the first that exists, because a new .dev.vars would hide an existing .env. */
export const variablesFileIn = (folder: string): string =>
  variableFilesIn(folder)[0] ?? ".dev.vars";

const NAME = /^[A-Za-z_][\w.-]*$/;

/**
 * Parses a file of variables. Quoted values may span lines. Throws a `Refusal` for any line that is not blank, a
 * comment or `NAME=value`: to skip it could lose a variable such as `API_KEYS`, and open the server to anybody.
 * Parses each value by itself, because `parseEnv` takes the line below an empty value as that value.
 */
export function variablesIn(text: string, file: string): Record<string, string> {
  const variables: [name: string, value: string][] = [];
  const lines = text.split(/\r\n?|\n/);
  for (let at = 0; at < lines.length; at++) {
    const refuse = (what: string) => {
      throw new Refusal(
        `${file}:${at + 1}: ${what}. Expected NAME=value, a comment that begins with #, or a blank line.`,
      );
    };
    const line = lines[at]!.trim();
    if (line === "" || line.startsWith("#")) continue;
    const equals = line.indexOf("=");
    const before = line.slice(0, Math.max(equals, 0));
    const name = before.replace(/^export\s+/, "").trim();
    // The message omits the line, which may contain a secret.
    if (!NAME.test(name)) refuse("this line has no variable name before =");
    const [, written = ""] = /=\s*(.*)$/su.exec(lines[at]!) ?? [];
    const first = at;
    const add = () => {
      const value = [written, ...lines.slice(first + 1, at + 1)].join("\n").trim();
      variables.push([name, parseEnv(`value=${value}`)["value"] ?? ""]);
    };
    const [quote = ""] = written;
    if (!["'", '"', "`"].includes(quote)) {
      add();
      continue;
    }
    let rest = written.slice(1);
    while (!rest.includes(quote) && at + 1 < lines.length) rest = lines[++at]!;
    const end = rest.indexOf(quote);
    if (end < 0) {
      at = first;
      refuse(`the value of ${name} has an opening ${quote} without a closing one`);
    }
    if (!/^\s*(#.*)?$/.test(rest.slice(end + 1)))
      refuse(`the value of ${name} has more text after its closing ${quote}`);
    add();
  }
  return Object.fromEntries(variables);
}
