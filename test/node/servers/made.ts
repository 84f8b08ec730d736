/** Servers for other SDKs, written for a test. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { loadServlet, type ServletUnderTest } from "../../../src/tools/testing/index.ts";

/** Writes these files to a folder of a test, and loads the servlet in it. */
export async function serverOf(files: Readonly<Record<string, string>>): Promise<ServletUnderTest> {
  return loadServlet(await folderOf(files));
}

/** A folder with these files, which is gone after the test. */
export async function folderOf(files: Readonly<Record<string, string>>): Promise<string> {
  await mkdir(".bundle", { recursive: true });
  const folder = await mkdtemp(join(".bundle", "server-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const all = { "package.json": '{ "type": "module" }', ...files };
  for (const [name, text] of Object.entries(all)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}
