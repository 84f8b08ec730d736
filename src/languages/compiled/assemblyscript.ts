/** AssemblyScript: compiled from `assembly/index.ts`. */
import { readdir, realpath } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { buildRecipe, cachedBuild, type Built } from "../../tools/bundle/cache.ts";
import type { BuiltLanguage } from "../../tools/bundle/language.ts";
import { readableText } from "../../tools/bundle/readable-files.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import { compileAssemblyScript } from "../../tools/bundle/wasm/assemblyscript.ts";
import { packageVersion } from "./compilers.ts";

export const assemblyScript: BuiltLanguage = {
  name: "AssemblyScript",
  kind: "assemblyscript",
  files: ["assembly"],
  template: {
    word: "as",
    folders: [
      ["templates/any", "."],
      ["templates/as", "."],
      ["plugins/lib/assembly", "assembly/lib"],
    ],
    main: "assembly/index.ts",
  },
  async detect(folder, names) {
    if (!names.includes("assembly")) return [];
    const inside = await readdir(join(folder, "assembly"));
    return inside.includes("index.ts") ? [join(folder, "assembly", "index.ts")] : [];
  },
  async build([entry], cache, progress) {
    // Build a folder once even if several links lead to it.
    const real = relative(".", await realpath(entry!));
    const compiler = await packageVersion("assemblyscript/package.json");
    return cachedBuild(cache, buildRecipe("assemblyscript", compiler, FLAGS, [real]), () => {
      progress("compiling AssemblyScript");
      return compile(entry!);
    });
  },
};

const FLAGS = ["-O3", "--runtime", "stub", "--outFile", "servlet.wasm"];

async function compile(entry: string): Promise<Built> {
  const folder = dirname(dirname(entry));
  const inputs = new Set<string>();
  let refused: unknown;
  const { wasm, diagnostics } = await compileAssemblyScript(
    [relative(".", entry), ...FLAGS],
    async (name, baseDir) => {
      const path = join(baseDir, name);
      const text = await readableText(folder, path).catch((reason: unknown) => {
        refused ??= reason;
      });
      if (text !== undefined) inputs.add(path);
      return text ?? null;
    },
  );
  if (refused !== undefined) throw refused;
  if (wasm === undefined)
    throw new Refusal(`${entry}: AssemblyScript did not compile it:\n${diagnostics}`);
  // The files are read concurrently. Sort them, so that the same sources give the same record.
  return { output: new Uint8Array(wasm), inputs: [...inputs].toSorted() };
}
