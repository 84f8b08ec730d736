/** Packs files into one: a line of JSON with their lengths by name, then their contents, compressed together. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, constants } from "node:zlib";
import { readIfThere, writeWhole } from "./cache.ts";

/**
 * Unpacks into a folder the files that it lacks. Returns the names of all files in the pack; none if there is no pack.
 */
export async function unpack(file: string, folder: string): Promise<string[]> {
  const bytes = await readIfThere(file);
  if (bytes === undefined) return [];
  const end = bytes.indexOf(10);
  const lengths: Record<string, number> = JSON.parse(
    new TextDecoder().decode(bytes.subarray(0, end)),
  );
  const there = new Set(await readdir(folder));
  const names = Object.keys(lengths);
  if (names.every((name) => there.has(name))) return names;
  const files = await promisify(brotliDecompress)(bytes.subarray(end + 1));
  let at = 0;
  for (const [name, length] of Object.entries(lengths)) {
    if (!there.has(name)) await writeWhole(join(folder, name), files.subarray(at, at + length));
    at += length;
  }
  return names;
}

/** The ending of a file whose name begins with a digest. */
const kindOf = (name: string) => name.slice(name.indexOf("."));

/** Packs all files of a folder, sorted by kind. `quickly` saves time, and makes the pack a third larger. */
export async function pack(folder: string, { quickly = false } = {}): Promise<Uint8Array> {
  const byKind = (name: string) => `${kindOf(name)} ${name}`;
  const names = (await readdir(folder)).toSorted((a, b) => (byKind(a) < byKind(b) ? -1 : 1));
  const files = await Promise.all(names.map((name) => readFile(join(folder, name))));
  const lengths = Object.fromEntries(names.map((name, at) => [name, files[at]!.length]));
  const all = Buffer.concat(files);
  const packed = await promisify(brotliCompress)(all, {
    params: {
      ...(quickly && { [constants.BROTLI_PARAM_QUALITY]: 5 }),
      [constants.BROTLI_PARAM_LGWIN]: 24,
      [constants.BROTLI_PARAM_SIZE_HINT]: all.length,
    },
  });
  return Buffer.concat([Buffer.from(`${JSON.stringify(lengths)}\n`), packed]);
}
