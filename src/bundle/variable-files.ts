/** Which files have a project's variables? */
import { statSync } from "node:fs";
import { join } from "node:path";

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
