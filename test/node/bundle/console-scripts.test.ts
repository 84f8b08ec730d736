import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { consoleScripts } from "../../../src/tools/bundle/console-scripts.ts";
import { style } from "../../../src/server/kernel/http/style.ts";

/** What a browser loads of the console, and when. */

const folder = await mkdtemp(join(tmpdir(), "console-scripts-"));
afterAll(() => rm(folder, { recursive: true }));
await consoleScripts(folder);
const names = await readdir(join(folder, "console"));
const textOf = (name: string) => readFile(join(folder, "console", name), "utf8");
const [attempt = "", host = ""] = ["try-", "view-host-"].map((start) =>
  names.find((one) => one.startsWith(start)),
);

/** A script and those that it imports before it runs. */
async function withImports(name: string, all = new Set<string>()): Promise<Set<string>> {
  if (all.has(name)) return all;
  all.add(name);
  const text = await textOf(name);
  for (const [, imported] of text.matchAll(/(?:from|import)\s*"\.\/([\w-]+\.js)"/g))
    await withImports(imported!, all);
  return all;
}

async function kilobytes(all: Set<string>): Promise<number> {
  const texts = await Promise.all([...all].map(textOf));
  return texts.reduce((sum, text) => sum + gzipSync(text).length, 0) / 1000;
}

test("a page loads little, an entry that is tried the client, and a view its host side alone", async () => {
  const [first, tried, viewed] = await Promise.all(
    ["main.js", attempt, host].map((one) => withImports(one)),
  );
  expect((await kilobytes(first!)) + gzipSync(style).length / 1000).toBeLessThan(15);
  expect(await kilobytes(tried!)).toBeLessThan(98);
  expect(tried).not.toContain(host);
  const all = await kilobytes(new Set(names));
  expect(all).toBeLessThan(130);
  expect(await kilobytes(viewed!.difference(tried!))).toBeLessThan(15);
});
