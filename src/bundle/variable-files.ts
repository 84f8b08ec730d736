/** Which files have a project's variables? */
import { statSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { Refusal } from "./refusal.ts";

/** The files of a folder that `npm run dev` and `npm start` read variables from; what an earlier one has overrides. */
export function variableFilesIn(folder: string): string[] {
  // A folder .env may be a virtual environment of Python; a pipe is how some keep secrets off the disk.
  const isThere = (name: string) =>
    statSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory() === false;
  // Where there is a .dev.vars, wrangler looks at no other.
  return isThere(".dev.vars") ? [".dev.vars"] : [".env.local", ".env"].filter(isThere);
}

/** The file of a folder in which a new variable is read: a new .dev.vars would hide an .env. */
export const variablesFileIn = (folder: string): string =>
  variableFilesIn(folder)[0] ?? ".dev.vars";

const NAME = /^[A-Za-z_][\w.-]*$/;

/**
 * The variables in the text of a file. A line that is misread would leave out a variable such as `API_KEYS`, and open the
 * server to anybody: throws a `Refusal` for one that is not blank, a comment or `NAME=value`. Quoted values may span lines.
 */
export function variablesIn(text: string, file: string): Record<string, string> {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n?|\n/);
  for (let at = 0; at < lines.length; at++) {
    const refuse = (what: string) => {
      throw new Refusal(
        `${file}:${at + 1}: ${what}. Expected NAME=value, a comment that begins with #, or nothing.`,
      );
    };
    const line = lines[at]!.trim();
    if (line === "" || line.startsWith("#")) continue;
    const equals = line.indexOf("=");
    const name = line.slice(0, Math.max(equals, 0)).replace(/^export\s+/, "");
    // Without the line itself, which may be a secret.
    if (!NAME.test(name.trim())) refuse("this line has no name of a variable before =");
    let rest = line.slice(equals + 1).trim();
    const [quote = ""] = rest;
    if (!`"'\``.includes(quote)) continue;
    const first = at;
    rest = rest.slice(1);
    while (!rest.includes(quote) && at + 1 < lines.length) rest = lines[++at]!;
    const end = rest.indexOf(quote);
    if (end < 0) {
      at = first;
      refuse(`the value of ${name} begins with ${quote}, which is not closed`);
    }
    if (!/^\s*(#.*)?$/.test(rest.slice(end + 1)))
      refuse(`the value of ${name} ends with ${quote}, and more follows in the same line`);
  }
  return parseEnv(lines.join("\n")) as Record<string, string>;
}
