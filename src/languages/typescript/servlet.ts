/** Loads a servlet in TypeScript into the interpreter. */
import type { Load } from "../../tools/bundle/language.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import type { Cached, Prepared } from "../../tools/bundle/wasm/prepare.ts";
import { snapshot } from "../../tools/bundle/wasm/snapshot.ts";
import { bundleScript, kitScript, OPTIONS } from "./script.ts";
import { zodPatch } from "./zod.ts";

export const baseWithKit = async (interpreter: Prepared, cache: string): Promise<Cached> =>
  (await snapshot(interpreter, await kitScript(), cache)).patch;

/** Bundles the servlet in this file. Throws a `Refusal` with file and line. */
export async function readTypeScript(entry: string): Promise<Load> {
  const { text, zod, explain, watched, warnings: own, warningsFor } = await bundleScript(entry);
  return async (started, cache) => {
    const { interpreter, base } = started;
    const packages = zod && (await zodPatch(started, zod, OPTIONS, cache));
    const load = (script: string) =>
      snapshot(interpreter, { name: "servlet.js", text: script }, cache, [
        base,
        ...(packages ? [packages] : []),
      ]);
    const loaded = await load(text).catch((error: unknown) => {
      throw error instanceof Refusal ? new Refusal(explain(error.message)) : error;
    });
    const mayAsk = /\b(?:Date|random|performance)\b/.test(text);
    const asked = mayAsk ? warningsFor((await load(watched)).output) : [];
    return { ...loaded, ...(packages && { packages }), text, warnings: [...own, ...asked] };
  };
}
