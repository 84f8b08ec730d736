import { delimiter } from "node:path";

/** The folders of servlets: those that SERVLETS names (a path list), or `plugins`. */
export function servletFolders(): [string, ...string[]] {
  const [first = "plugins", ...others] = (process.env["SERVLETS"] ?? "")
    .split(delimiter)
    .filter((folder) => folder !== "");
  return [first, ...others];
}
