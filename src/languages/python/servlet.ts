/** Loads a servlet in Python into the interpreter. */
import { dirname } from "node:path";
import { contentHash } from "../../tools/bundle/cache.ts";
import type { LoadedProgram, StartedInterpreter } from "../../tools/bundle/language.ts";
import { snapshotOf } from "../../tools/bundle/wasm/snapshot.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import { pythonWith } from "./engine.ts";
import { modulesOf, SERVLET_MODULE, LOADING_MODULE } from "./modules.ts";
import { packagesOf } from "./packages.ts";
import { packed } from "./packing.ts";

/** Loads the servlet in this file. Throws a `Refusal` with file and line. */
export async function loadPython(
  entry: string,
  started: StartedInterpreter,
  cache: string,
  progress: (doing: string) => void,
): Promise<LoadedProgram> {
  const python = await pythonWith(started, cache);
  const packages = await packagesOf(dirname(entry), cache, progress);
  const program = await modulesOf(entry, packages, python, cache);
  const modules = program.modules.map(({ name, path, isPackage, source }) => ({
    name,
    path,
    isPackage,
    source,
    // The interpreter removes it after loading.
    isTemporary: name === LOADING_MODULE || undefined,
  }));
  const input = packed(
    { main: SERVLET_MODULE, modules, imports: program.imports, files: [...program.data.keys()] },
    [...program.modules.map(({ code }) => code), ...program.data.values()],
  );
  const made = await snapshotOf(
    python.interpreter,
    { key: contentHash(input), bytecode: async () => input },
    cache,
    [python.base],
  ).catch((error: unknown) => {
    if (!(error instanceof Refusal)) throw error;
    const message = error.message.includes("RuntimeError: unreachable")
      ? "it could not be loaded: its module scope aborted Python, as os.abort() does. Raise an exception instead"
      : error.message;
    // The warnings may explain the error.
    throw new Refusal([message, ...program.warnings].join("\n"));
  });
  const text = modules.map(({ source = "" }) => source).join("\n");
  return { ...made, text, hasPackages: packages.length > 0, warnings: program.warnings };
}
