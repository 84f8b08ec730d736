import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { compiledServlets } from "../../../package/prepared.ts";
import { typescript } from "../../../src/languages/typescript/language.ts";
import { makePrepared, unpackPrepared } from "../../../src/tools/bundle/prepared.ts";

/** The file `prepared.bin`, with which each checkout begins. */

let cache: string;
beforeAll(async () => {
  cache = await mkdtemp(join(tmpdir(), "prepared-"));
  await unpackPrepared(cache);
});
afterAll(() => rm(cache, { recursive: true }));

test("holds all that its sources make; where it is stale: npm run prepared", async () => {
  const names = await readdir(cache);
  const anew: string[] = [];
  await makePrepared(typescript, await compiledServlets(), cache, (doing) => anew.push(doing));
  expect(anew).toEqual([]);
  expect(await readdir(cache)).toEqual(names);
});

test("a file that is missing in the cache is put there", async () => {
  const [name = ""] = await readdir(cache);
  const before = await readFile(join(cache, name));
  await rm(join(cache, name));
  await unpackPrepared(cache);
  expect(await readFile(join(cache, name))).toEqual(before);
});
