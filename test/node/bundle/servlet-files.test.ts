import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { makeBundle } from "../../../src/tools/bundle/bundle.ts";
import { archivesOf } from "../../../src/tools/bundle/servlet-files.ts";
import type { FoundServlet } from "../../../src/tools/bundle/scan.ts";
import { filesIn } from "../../../src/server/kernel/files/archive.ts";

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
    {
      manifest: { state: "caller", allowed_paths },
      place: join(folder, "servlet"),
    } as FoundServlet,
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

test.each(["data", "data/", "./data//"])("%s: files keep their names", async (host) => {
  await mkdir(join(folder, "servlet/data/deep"), { recursive: true });
  await writeFile(join(folder, "servlet/data/deep/alpha.txt"), "one");
  const [archive] = await archives(`${host}:/data`);
  const paths = [...filesIn(archive!.bytes.buffer)].map(({ path }) => path);
  expect(paths).toEqual(["deep/alpha.txt"]);
});

test("a servlet that is asked for its lists finds the files that its folders begin with, each time anew", async () => {
  const shelf = join(folder, "plugins/shelf");
  await mkdir(join(shelf, "books"), { recursive: true });
  await writeFile(join(shelf, "books/emma.md"), "# Emma");
  const manifest = { state: "caller", allowed_paths: ["ro:books:/books", "data:/data"] };
  await writeFile(join(shelf, "servlet.json"), JSON.stringify(manifest));
  await writeFile(
    join(shelf, "servlet.ts"),
    `import { exists, readdir, readFile, writeFile } from "edge-servlets/files";
import { defineServlet } from "edge-servlets/servlet";

const listed = () => {
  const isAnew = !exists("/data/mark") && readdir("/data").length === 0;
  writeFile("/data/mark", "");
  return readdir("/books").map((name) => ({
    uri: "book://" + name,
    name: readFile("/books/" + name, "utf8") + (isAnew ? "" : " again"),
  }));
};

export default defineServlet({
  resourceTemplates: {
    "book://{name}": { name: "book", list: listed, read: () => "" },
    "page://{name}": { name: "page", list: () => [], read: () => "" },
  },
});
`,
  );
  const made = {
    folders: [join(folder, "plugins")],
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
  };
  const [member] = await makeBundle(made);
  expect(member!.lists!.resources).toEqual([{ uri: "book://emma.md", name: "# Emma" }]);
});
