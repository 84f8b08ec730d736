/**
 * The slowest preparations, whose results are the same on every machine, in one file that comes with the software: the
 * interpreter with its kit, and the compiled servlets of this project. It contains files of the cache under their names. These
 * are digests of everything that they depend on, so a file whose sources have changed is not used; it is made again.
 */
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, constants } from "node:zlib";
import { limits } from "../core/limits.ts";
import { readIfThere, writeWhole } from "./cache.ts";
import { OWN_FOLDER } from "./own.ts";
import type { FoundServlet } from "./scan.ts";
import { build } from "./source.ts";
import { interpreterPlugin } from "./typescript/engine.ts";
import { kitScript } from "./typescript/script.ts";
import { prepare } from "./wasm/prepare.ts";
import { preparationOf } from "./preparation.ts";
import { snapshot } from "./wasm/snapshot.ts";

/** A line of JSON, which has the length of each file by its name, and then the files, compressed together. */
export const PREPARED = join(OWN_FOLDER, "prepared.bin");

/** Puts those files into the cache that it does not have. */
export async function unpackPrepared(cache: string): Promise<void> {
  await mkdir(cache, { recursive: true });
  await unpack(PREPARED, cache);
}

/** Puts the files of a pack into a folder that lacks them; gives their names. */
export async function unpack(pack: string, folder: string): Promise<string[]> {
  const packed = await readIfThere(pack);
  if (packed === undefined) return [];
  const end = packed.indexOf(10);
  const lengths: Record<string, number> = JSON.parse(
    new TextDecoder().decode(packed.subarray(0, end)),
  );
  const there = new Set(await readdir(folder));
  const names = Object.keys(lengths);
  if (names.every((name) => there.has(name))) return names;
  const files = await promisify(brotliDecompress)(packed.subarray(end + 1));
  let at = 0;
  for (const [name, length] of Object.entries(lengths)) {
    if (!there.has(name)) await writeWhole(join(folder, name), files.subarray(at, at + length));
    at += length;
  }
  return names;
}

/** Prepares the interpreter and its kit, and these compiled servlets as `dev` serves them. */
export async function makePrepared(
  servlets: readonly FoundServlet[],
  cache: string,
  progress: (doing: string) => void,
): Promise<void> {
  const plugin = await interpreterPlugin(cache, progress);
  const { memoryBytes } = limits;
  const interpreter = await prepare(plugin, { memoryBytes }, cache, progress);
  await snapshot(interpreter, await kitScript(), cache);
  for (const found of servlets) {
    const compiled = await build(found.source, cache, progress);
    await prepare(compiled, preparationOf(found.manifest, { optimise: false }), cache, progress);
  }
}

/** Packs all files of a folder. */
export async function pack(folder: string): Promise<Uint8Array> {
  const names = (await readdir(folder)).toSorted();
  const files = await Promise.all(names.map((name) => readFile(join(folder, name))));
  const lengths = Object.fromEntries(names.map((name, at) => [name, files[at]!.length]));
  const all = Buffer.concat(files);
  const packed = await promisify(brotliCompress)(all, {
    params: { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: all.length },
  });
  return Buffer.concat([Buffer.from(`${JSON.stringify(lengths)}\n`), packed]);
}
