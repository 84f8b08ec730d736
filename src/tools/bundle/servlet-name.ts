/** Checks the names of new servlets. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { RESERVED_NAMES } from "../../server/kernel/servlets/scopes.ts";
import { Refusal } from "./refusal.ts";

/** Maximum length of a name: the names of tools begin with it. */
const LONGEST_NAME = 32;

/** Throws a `Refusal` for a reserved name, or one that does not match the pattern. `allowed` describes the pattern. */
export function refuseName(name: string, pattern: RegExp, allowed: string): void {
  if (!pattern.test(name)) {
    throw new Refusal(
      `"${name}" cannot be a servlet's name: take ${allowed}, with a letter first, as in my-notes`,
    );
  }
  if (name.length > LONGEST_NAME) {
    throw new Refusal(`"${name}" is too long: take a name of at most ${LONGEST_NAME} characters`);
  }
  if (RESERVED_NAMES.has(name)) {
    throw new Refusal(`"${name}" is the server's own name for tools or scopes: take another name`);
  }
  if (name === "assembly") {
    throw new Refusal(
      'a servlet cannot be named "assembly", which is a folder of AssemblyScript: take another name',
    );
  }
}

/** Throws a `Refusal` if one of these folders has a servlet of this name. */
export function refuseTaken(name: string, folders: readonly string[]): void {
  for (const folder of folders) {
    for (const taken of [name, `${name}.wasm`, `${name}.wat`].map((one) => join(folder, one))) {
      if (existsSync(taken)) {
        throw new Refusal(`${taken}: it is there already, so take another name or move it away`);
      }
    }
  }
}
