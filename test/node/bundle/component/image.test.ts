/** A component in a registry, as `add` takes it. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { loadServlet } from "../../../../src/tools/testing/index.ts";
import { pinnedWasm } from "../../../../src/tools/bundle/sources/pinned.ts";
import { adding, WASM } from "../sources/adding.ts";

const { registry, source, add, cache } = adding();

test("a component of an image is added, pinned and called", async () => {
  const bytes = new Uint8Array(await readFile("test/node/components/shapes/shapes.wasm"));
  registry().image("tools/shapes", "latest", [{ mediaType: WASM, bytes }]);
  const from = source("tools/shapes");
  const { folder } = await add(from, { allowUnsigned: true, manifest: { env_vars: { A: "b" } } });
  expect(await pinnedWasm(folder, from, cache(), () => {})).toEqual(bytes);
  const servlet = await loadServlet(folder);
  const { result } = await servlet.callTool("variable", { name: "A" });
  expect(result.structuredContent).toEqual({ result: "b" });
});

test("one that is cut off is not added", async () => {
  const bytes = new Uint8Array(await readFile("test/node/components/shapes/shapes.wasm"));
  registry().image("tools/shapes", "latest", [{ mediaType: WASM, bytes: bytes.subarray(0, 5000) }]);
  await expect(add(source("tools/shapes"), { allowUnsigned: true })).rejects.toThrow(
    /tools\/shapes:latest: it is not a whole component/,
  );
});
