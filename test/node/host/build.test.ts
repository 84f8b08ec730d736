import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildWorker } from "../../../src/tools/host/build.ts";
import { modulesIn } from "../../../src/tools/host/modules.ts";

test("a folder that is built into again has no modules that the Worker no longer imports", async () => {
  const sources = await mkdtemp(join(tmpdir(), "building-"));
  const out = join(sources, "out");
  const build = async (imported: string) => {
    const entry = join(sources, "index.ts");
    await writeFile(join(sources, imported), imported);
    await writeFile(entry, `export { default } from "./${imported}";`);
    await buildWorker(entry, out);
    return modulesIn(out);
  };
  expect(await build("python.bin")).toEqual(["index.js", expect.stringMatching(/^python-/)]);
  await writeFile(join(out, "mine.bin"), "");
  const again = await build("script.bin");
  expect(again.toSorted()).toEqual(["index.js", "mine.bin", expect.stringMatching(/^script-/)]);
});
