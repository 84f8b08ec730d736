/** What `python.bin` is made of, to tell whether it is stale. */
import { glob, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { contentHash } from "../../../src/tools/bundle/cache.ts";

const HERE = resolve(import.meta.dirname, "..");
const SOURCES = [
  "_edge_build.py",
  "engine/*",
  "lib/**/*.py",
  "edge_servlets/*.py",
  "fastmcp/**/*.py",
  "mcp/**/*.py",
  "mcp_types/*.py",
];

/** The name of the empty file of the pack that says which sources it was made of. */
export async function stamp(): Promise<string> {
  const paths = (await Array.fromAsync(glob(SOURCES, { cwd: HERE }))).toSorted();
  const parts = paths.map(async (path) => [path, await readFile(join(HERE, path), "utf8")]);
  return `${contentHash(...(await Promise.all(parts)).flat()).slice(0, 32)}.sources.txt`;
}
