/** `node:module`: all modules of a servlet are known when it is built. */
import { readFileSync } from "./fs.ts";

/**
 * Returns a `require` for JSON files of the package that its modules name; modules required by a constant name are bundled into
 * the script.
 */
export const createRequire = (from: string | URL = "/servlet/index.js") => {
  const folder = String(from)
    .replace(/^file:\/\//, "")
    .replace(/[^/]*$/, "");
  const require = (name: string): unknown => {
    const path = name.startsWith(".") ? folder + name : name;
    if (name.endsWith(".json")) return JSON.parse(readFileSync(path, "utf8") as string);
    throw new Error(`A servlet cannot load "${name}" in a call: import it.`);
  };
  return Object.assign(require, { resolve: (name: string) => name });
};

export const builtinModules: string[] = [];
export const isBuiltin = (): boolean => false;
export default { createRequire, builtinModules, isBuiltin };
