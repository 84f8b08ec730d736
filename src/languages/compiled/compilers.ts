/** Versions and availability of compilers in npm packages and on the machine. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { resolve } from "node:path";

/** The version of the package that `path` resolves into. `manifest` is the path from there to its package.json. */
export async function packageVersion(path: string, manifest = "."): Promise<string> {
  const resolved = createRequire(import.meta.url).resolve(path);
  return JSON.parse(await readFile(resolve(resolved, manifest), "utf8")).version;
}

/** Returns a check that this command succeeds. */
export function runs(program: string, ...args: string[]) {
  return async () => (await printedBy(program, ...args)) !== undefined;
}

/** The output of a command; undefined if it fails. */
export const printedBy = (program: string, ...args: string[]): Promise<string | undefined> =>
  new Promise((done) => {
    execFile(program, args, { timeout: 10_000 }, (error, stdout) =>
      done(error === null ? stdout.trim() : undefined),
    );
  });
