import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { makeBundle } from "../../../src/tools/bundle/bundle.ts";

/** A new folder for each test, and the bundle step for files in it. */
export function bundling() {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "bundling-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  const makeOf = (...folders: string[]) =>
    makeBundle({
      folders,
      languages: LANGUAGES,
      cache: ".bundle",
      progress: () => {},
      optimise: false,
    });
  return {
    /** The path of something in the folder. */
    at: (name: string) => join(folder, name),
    makeOf,
    async bundle(files: Record<string, string | Uint8Array>) {
      for (const [name, content] of Object.entries(files)) {
        await mkdir(dirname(join(folder, name)), { recursive: true });
        await writeFile(join(folder, name), content);
      }
      return makeOf(folder);
    },
  };
}
