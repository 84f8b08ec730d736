import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stamp } from "../../../package/python/engine/sources.ts";
import { pythonPlugin } from "../../../src/languages/python/engine.ts";
import { resultOf } from "../../../src/tools/bundle/wasm/prepare.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";

test("python.bin is made of the sources as they are: else run npm run python", async () => {
  const packed = await readFile("package/python/python.bin");
  const names = Object.keys(JSON.parse(packed.subarray(0, packed.indexOf(10)).toString()));
  expect(names).toContain(await stamp());
  const cache = await mkdtemp(join(tmpdir(), "python-"));
  const plugin = await pythonPlugin(cache);
  const { path } = await resultOf(plugin, { memoryBytes: limits.memoryBytes }, cache);
  await rm(cache, { recursive: true });
  expect(names).toContain(path.slice(cache.length + 1));
});
