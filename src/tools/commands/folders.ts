/** The folders, languages and progress output of the commands. */
import { delimiter } from "node:path";
import { LANGUAGES } from "../../languages/index.ts";
import type { Language } from "../bundle/language.ts";

/** The folders of servlets: those that SERVLETS names (a path list), or `plugins`. */
export function servletFolders(): [string, ...string[]] {
  const [first = "plugins", ...others] = (process.env["SERVLETS"] ?? "")
    .split(delimiter)
    .filter((folder) => folder !== "");
  return [first, ...others];
}

/** The context of a command on servlets. */
export interface Workspace {
  folders: readonly [string, ...string[]];
  languages: readonly Language[];
  cache: string;
  progress(what: string): void;
}

/** The folder of cached results. */
export const CACHE = ".bundle";

/** Reports a slow step. */
export const progress = (what: string): void => console.error(`  ${what} …`);

/** The workspace of the project in this folder. */
export const currentWorkspace = (): Workspace => ({
  folders: servletFolders(),
  languages: LANGUAGES,
  cache: CACHE,
  progress,
});
