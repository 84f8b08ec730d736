/**
 * `prepared.bin`: results of the slowest preparations, which are the same on every machine: the interpreter with its
 * kit, and the compiled servlets of this project. It contains cached files under their names. A name is a digest of
 * everything that the file depends on, so a file whose sources have changed is not used, and is made again.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { limits } from "../../server/kernel/core/limits.ts";
import type { InterpretedLanguage } from "./language.ts";
import { OWN_FOLDER } from "./own.ts";
import { unpack } from "./packs.ts";
import type { FoundServlet } from "./scan.ts";
import { build } from "./source.ts";
import { prepare } from "./wasm/prepare.ts";
import { preparationOf } from "./preparation.ts";

export const PREPARED = join(OWN_FOLDER, "prepared.bin");

/** Unpacks into the cache the files that it lacks. */
export async function unpackPrepared(cache: string): Promise<void> {
  await mkdir(cache, { recursive: true });
  await unpack(PREPARED, cache);
}

/** Prepares the interpreter of a language with its kit, and these compiled servlets, as for `dev`. */
export async function makePrepared(
  language: InterpretedLanguage,
  servlets: readonly FoundServlet[],
  cache: string,
  progress: (doing: string) => void,
): Promise<void> {
  const plugin = await language.build([], cache, progress);
  const { memoryBytes } = limits;
  const interpreter = await prepare(plugin, { memoryBytes }, cache, progress);
  await language.base(interpreter, cache);
  for (const found of servlets) {
    const compiled = await build(found.source, cache, progress);
    await prepare(compiled, preparationOf(found.manifest, { optimise: false }), cache, progress);
  }
}
