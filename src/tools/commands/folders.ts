/** The folders and languages that commands work with, and where they report slow steps. */
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

/** Everything that a command on servlets works with. */
export interface Workspace {
  folders: readonly [string, ...string[]];
  languages: readonly Language[];
  cache: string;
  progress(what: string): void;
}

/** Where earlier results are kept. */
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
