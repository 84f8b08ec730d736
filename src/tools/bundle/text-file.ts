/** Reads optional text files. An existing file that cannot be read does not count as missing. */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { Refusal } from "./refusal.ts";

/** The text of a file; undefined if there is none. Throws a `Refusal` if it cannot be read. */
export const textIfThere = (path: string): Promise<string | undefined> =>
  readFile(path, "utf8").catch((error: unknown) => demandAbsent(path, error));

/** Like `textIfThere`, but synchronous, for changes that must not be interrupted. */
export function textIfThereSync(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    return demandAbsent(path, error);
  }
}

function demandAbsent(path: string, error: unknown): undefined {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" || code === "ENOTDIR") return undefined;
  throw new Refusal(`${path}: it cannot be read: ${message}: correct its permissions, or move it`);
}
