import { readdir } from "node:fs/promises";
import { extname } from "node:path";

/** How workerd loads each kind of file that `buildWorker` writes. */
const MODULE_KINDS = { ".js": "esModule", ".wasm": "wasm", ".bin": "data", ".txt": "text" };

const isModule = (extension: string): extension is keyof typeof MODULE_KINDS =>
  Object.hasOwn(MODULE_KINDS, extension);

/** The field of workerd's configuration that embeds a module of this kind. Throws for other files. */
export function moduleKindOf(file: string): string {
  const extension = extname(file);
  if (isModule(extension)) return MODULE_KINDS[extension];
  throw new Error(`${file} is not a module: expected ${Object.keys(MODULE_KINDS).join(", ")}`);
}

/** The modules in a folder that `buildWorker` has written, the main one first. */
export async function modulesIn(folder: string): Promise<string[]> {
  const files = (await readdir(folder)).filter((name) => isModule(extname(name)));
  return files.toSorted((a, b) => Number(b === MAIN) - Number(a === MAIN));
}

export const MAIN = "index.js";
