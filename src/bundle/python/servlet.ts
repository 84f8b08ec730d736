/** Loads a servlet in Python into the interpreter. */
import { dirname } from "node:path";
import { contentHash } from "../cache.ts";
import type { Manifest } from "../../servlets/manifest.ts";
import { keepsState } from "../../servlets/manifest.ts";
import { snapshotOf, type Snapshot } from "../wasm/snapshot.ts";
import type { Python } from "./engine.ts";
import { modulesOf, SERVLET_MODULE } from "./modules.ts";
import { packagesOf } from "./packages.ts";
import { packed } from "./packing.ts";

export interface PythonServlet extends Snapshot {
  /** The author's own code. */
  text: string;
  /** True if it has packages beside that. */
  hasPackages: boolean;
}

/** The servlet of this file, loaded. Throws a `Refusal` that names file and line. */
export async function loadPython(
  entry: string,
  python: Python,
  cache: string,
  progress: (doing: string) => void,
): Promise<PythonServlet> {
  const packages = await packagesOf(dirname(entry), cache, progress);
  const program = await modulesOf(entry, packages, python, cache);
  const modules = program.modules.map(({ code: _, imports: __, reads: ___, ...one }) => one);
  const input = packed(
    { main: SERVLET_MODULE, modules, imports: program.imports, files: [...program.data.keys()] },
    [...program.modules.map(({ code }) => code), ...program.data.values()],
  );
  const load = () => Promise.resolve(input);
  const made = await snapshotOf(
    python.interpreter,
    { key: contentHash(input), load },
    cache,
    python.base,
  );
  const text = modules.map(({ source = "" }) => source).join("\n");
  return { ...made, text, hasPackages: packages.length > 0 };
}

/** Warnings for what a servlet asked for while it was loaded, and that would be the same in each call. */
export const chanceWarnings = (
  asked: readonly { what: string; path: string; line: number }[],
): string[] =>
  asked.map(
    ({ what, path, line }) =>
      `${path}:${line}: ${what}() at module scope runs once, when the servlet is built: each call has the same value. Call it in a handler`,
  );

/** The names by which code in Python waits, or reaches what may. */
const WAITING =
  /\b(?:elicit\w*|ask_\w+|sample|list_roots|fetch|secret|sleep|timeout|timeout_at|wait_for|call_tool|tools|input_required|exec|eval|getattr|import_module|__import__)\b/;

/** True for a servlet without packages that mentions nothing that waits, and may call no tool that does. */
export const pythonNeverWaits = (
  { text, hasPackages }: PythonServlet,
  manifest: Manifest,
): boolean =>
  !keepsState(manifest) && manifest.may_call === undefined && !hasPackages && !WAITING.test(text);
