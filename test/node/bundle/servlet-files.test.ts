import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { archivesOf } from "../../../src/bundle/servlet-files.ts";
import type { Found } from "../../../src/bundle/scan.ts";
import { filesIn } from "../../../src/files/archive.ts";

/** Which files of a servlet's folder come into the bundle. */

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "servlet-files-"));
  await mkdir(join(folder, "servlet"));
  await mkdir(join(folder, "secret"));
  await writeFile(join(folder, "secret/key"), "private");
});
afterEach(() => rm(folder, { recursive: true }));

const archives = (...allowed_paths: string[]) =>
  archivesOf(
    { manifest: { state: "caller", allowed_paths }, place: join(folder, "servlet") } as Found,
    join(folder, "cache"),
  );

test("a folder that is a link to a place outside of the servlet's folder is refused", async () => {
  await symlink(join(folder, "secret"), join(folder, "servlet/data"));
  await expect(archives("data")).rejects.toThrow(/data.*outside/);
  await expect(archives("./data")).rejects.toThrow(/data.*outside/);
});

test("links in a folder are left out, and a name keeps its backslash", async () => {
  const data = join(folder, "servlet/data");
  await mkdir(data);
  await symlink(join(folder, "secret"), join(data, "folder"));
  await symlink(join(folder, "secret/key"), join(data, "file"));
  await writeFile(join(data, "a"), "one");
  await writeFile(join(data, String.raw`a\b`), "two");
  const [archive] = await archives("data");
  const paths = [...filesIn(archive!.bytes.buffer)].map(({ path }) => path);
  expect(paths).toEqual(["a", String.raw`a\b`]);
});
