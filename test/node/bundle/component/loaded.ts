/** Components as servlets under test. */
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll } from "vitest";
import type { CallToolResult } from "../../../../src/server/kernel/core/model.ts";
import { loadServlet, type ServletUnderTest } from "../../../../src/tools/testing/index.ts";

const folders: string[] = [];
afterAll(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

/** A new folder, which is removed after the tests. */
export async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "component-"));
  folders.push(folder);
  return folder;
}

/** A component, `low/low` in test/node/components, say, with this manifest. */
export async function loaded(component: string, manifest: object): Promise<ServletUnderTest> {
  const folder = await newFolder();
  const path = `test/node/components/${component}.wasm`;
  await copyFile(path, join(folder, basename(path)));
  await writeFile(join(folder, "servlet.json"), JSON.stringify(manifest));
  return loadServlet(folder);
}

/** The value in the result of a call. */
export const inResult = ({ structuredContent }: CallToolResult): unknown =>
  (structuredContent as Record<string, unknown> | undefined)?.["result"];
