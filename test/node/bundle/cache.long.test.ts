import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { cachedBuild } from "../../../src/tools/bundle/cache.ts";
import { build, sourceIn } from "../../../src/tools/bundle/source.ts";

/** Results of builds, which are kept for as long as their inputs stay the same. */

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "cache-"));
});
afterEach(() => rm(folder, { recursive: true }));

const at = (name: string) => join(folder, name);

/** Builds a copy of a file; `during` happens after the file was read. */
const copy = (during = async () => {}, recipe = "copy") =>
  cachedBuild(at("cache"), recipe, async () => {
    const output = new Uint8Array(await readFile(at("input")));
    await during();
    return { output, inputs: [at("input")] };
  }).then((bytes) => new TextDecoder().decode(bytes));

test("a file that is saved while it is compiled is compiled again", async () => {
  await writeFile(at("input"), "old");
  const save = async () => {
    await pause(20);
    await writeFile(at("input"), "new");
  };
  expect(await copy(save)).toBe("old");
  expect(await copy()).toBe("new");
});

test("a file that stays as it is is compiled once, with each recipe", async () => {
  await writeFile(at("input"), "old");
  const compiled: string[] = [];
  const note = (recipe: string) => async () => void compiled.push(recipe);
  for (const recipe of ["one", "one", "other", "one"]) await copy(note(recipe), recipe);
  expect(compiled).toEqual(["one", "other"]);
});

test("a further .c file is compiled with the others", async () => {
  await mkdir(at("c"));
  const source = `__attribute__((weak)) int more(void) { return 1; }
__attribute__((export_name("f"))) int f(void) { return more(); }
`;
  await writeFile(at("c/servlet.c"), source);
  const result = async () => {
    const wasm = await build((await sourceIn(at("c"), LANGUAGES))!, at("cache"), () => {});
    const { instance } = await WebAssembly.instantiate(wasm);
    return (instance.exports["f"] as () => number)();
  };
  expect(await result()).toBe(1);
  await writeFile(at("c/shared.c"), "int more(void) { return 2; }\n");
  expect(await result()).toBe(2);
});
