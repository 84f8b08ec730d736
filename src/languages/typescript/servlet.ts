/** Loads a servlet in TypeScript into the interpreter. */
import type { Load } from "../../tools/bundle/language.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import type { Cached, Prepared } from "../../tools/bundle/wasm/prepare.ts";
import { snapshot } from "../../tools/bundle/wasm/snapshot.ts";
import { bundleScript, kitScript } from "./script.ts";

export const baseWithKit = async (interpreter: Prepared, cache: string): Promise<Cached> =>
  (await snapshot(interpreter, await kitScript(), cache)).patch;

/** Bundles the servlet in this file. Throws a `Refusal` with file and line. */
export async function readTypeScript(entry: string): Promise<Load> {
  const { text, explain, watched, warningsFor } = await bundleScript(entry);
  return async ({ interpreter, base }, cache) => {
    const load = (script: string) =>
      snapshot(interpreter, { name: "servlet.js", text: script }, cache, base);
    const loaded = await load(text).catch((error: unknown) => {
      throw error instanceof Refusal ? new Refusal(explain(error.message)) : error;
    });
    const mayAsk = /\b(?:Date|random|performance)\b/.test(text);
    const warnings = mayAsk ? warningsFor((await load(watched)).output) : [];
    return { ...loaded, text, warnings };
  };
}
