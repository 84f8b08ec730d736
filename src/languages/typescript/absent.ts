/** Imports of a server or its packages that servlets do not have: each becomes a value that throws when it is used. */
import { resolve } from "node:path";
import type { Message } from "esbuild";
import { SERVERS, standIn } from "./stand-in.ts";

/** The source of a CommonJS module that stands for what `what` names. */
export const absentModule = (what: string, advice: string) => ({
  contents: `module.exports = require(${JSON.stringify(standIn("absent"))}).absent(${JSON.stringify(what)}, ${JSON.stringify(advice)});`,
  resolveDir: SERVERS,
});

/** Exports that stand-ins lack, by the module's path or name as esbuild reports it. */
export class AbsentExports {
  readonly #names = new Map<string, Set<string>>();

  /** Notes the missing exports of stand-ins among these errors; false if none is new. */
  note(errors: readonly Message[]): boolean {
    let isNew = false;
    for (const { text } of errors) {
      const [, module, name] = /^No matching export in "(.+)" for import "(.+)"$/.exec(text) ?? [];
      const place = module === undefined ? undefined : placeOf(module);
      if (place === undefined || name === "default") continue;
      const names = this.#names.getOrInsertComputed(place, () => new Set());
      isNew ||= !names.has(name!);
      names.add(name!);
    }
    return isNew;
  }

  has(module: string): boolean {
    return this.#names.has(placeOf(module) ?? "");
  }

  /** The statements that export what the module lacks. */
  exportsOf(module: string, what: string): string {
    const names = this.#names.get(placeOf(module) ?? "") ?? [];
    const lines = [...names].map(
      (name) =>
        `export const ${name} = absent(${JSON.stringify(`${name} of ${what}`)}, "Leave out what needs it.");`,
    );
    if (lines.length === 0) return "";
    return `import { absent } from ${JSON.stringify(standIn("absent"))};\n${lines.join("\n")}`;
  }
}

const STAND_IN = "stand-in:";

/** A stand-in for an SDK by its name, one for a module of Node by its path; undefined for other modules. */
function placeOf(module: string): string | undefined {
  if (module.startsWith(STAND_IN)) return module;
  const path = resolve(module);
  return path.startsWith(SERVERS) || /[\\/]unenv[\\/]/.test(path) ? path : undefined;
}
