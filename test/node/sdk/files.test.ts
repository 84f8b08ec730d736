import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { configureLimits } from "../../../src/server/kernel/core/limits.ts";
import { limits } from "../../../src/server/kernel/wasm/limits.ts";
import { loadServlet, type ServletUnderTest } from "../../../src/tools/testing/index.ts";

/** The kit's functions on files. */
let servlet: ServletUnderTest;
const { fileReadBytes } = limits;
beforeEach(async () => {
  servlet = await loadServlet("test/node/sdk/servlets/files");
  configureLimits({ fileReadBytes });
});
afterAll(() => configureLimits({ fileReadBytes }));

async function steps(...asked: unknown[][]): Promise<unknown[]> {
  const script = { now: Date.UTC(2026, 0, 2) };
  const { result } = await servlet.callTool("steps", { steps: asked }, script);
  return (result.structuredContent as { results: unknown[] }).results;
}

test("files are written, added to, read, listed, renamed and removed", async () => {
  const results = await steps(
    ["writeFile", "/data/a.txt", "one"],
    ["appendFile", "/data/a.txt", ", zwölf 🎈"],
    ["readFile", "/data/a.txt", "utf8"],
    ["readFile", "/data/a.txt", { position: 1, length: 2 }],
    ["stat", "/data/a.txt"],
    ["rename", "/data/a.txt", "/data/b.txt"],
    ["readdir", "/data"],
    ["rm", "/data/b.txt"],
    ["exists", "/data/b.txt"],
    ["appendFile", "/data/new", "made"],
    ["exists", "/data/new/deeper"],
  );
  expect(results).toEqual([
    "done",
    "done",
    "one, zwölf 🎈",
    { bytes: [110, 101] },
    { size: 16, mtime: "2026-01-02T00:00:00.000Z", isFile: true, isDirectory: false },
    "done",
    ["b.txt"],
    "done",
    false,
    "done",
    false,
  ]);
});

test("a folder whose names are too long together is not listed", async () => {
  await steps(["writeFile", "/data/a long name", ""], ["writeFile", "/data/another name", ""]);
  configureLimits({ fileReadBytes: 20 });
  const [error] = await steps(["readdir", "/data"]);
  expect(JSON.stringify(error)).toContain("EFBIG");
  configureLimits({ fileReadBytes: 40 });
  const names = await steps(["readdir", "/data"]);
  expect(new Set(names.flat())).toEqual(new Set(["a long name", "another name"]));
});

test("folders are made and removed, also with what is in them", async () => {
  const results = await steps(
    ["mkdir", "/data/x/y/z"],
    ["mkdir", "/data/x/y/z", { recursive: true }],
    ["mkdir", "/data/x/y/z", { recursive: true }],
    ["writeFile", "/data/x/y/file", "text"],
    ["mkdir", "/data/x/y/file", { recursive: true }],
    ["rm", "/data/x"],
    ["rm", "/data/x", { recursive: true }],
    ["rm", "/data/x", { recursive: true }],
    ["rm", "/data/x", { recursive: true, force: true }],
    ["readdir", "data/."],
    ["stat", "/data/"],
  );
  expect(results.slice(0, -1)).toEqual([
    "ENOENT: no such file or folder, /data/x/y/z",
    "done",
    "done",
    "done",
    "EEXIST: file exists, /data/x/y/file",
    "EISDIR: it is a folder, /data/x",
    "done",
    "ENOENT: no such file or folder, /data/x",
    "done",
    [],
  ]);
  expect(results.at(-1)).toMatchObject({ size: 0, isDirectory: true, isFile: false });
});

const REFUSED: [code: string, asked: unknown[]][] = [
  ["ENOENT", ["readFile", "/data/missing"]],
  ["ENOENT", ["readFile", "/etc/passwd"]],
  ["ENOENT", ["readFile", ""]],
  ["EPERM", ["readFile", "/data/../words/list.txt"]],
  ["EPERM", ["writeFile", "/words/list.txt", "no"]],
  ["EPERM", ["rm", "/words/list.txt"]],
  ["EPERM", ["rename", "/words/list.txt", "/data/list.txt"]],
  ["EISDIR", ["readFile", "/data"]],
  ["EISDIR", ["writeFile", "/data/", "no"]],
  ["ENOTDIR", ["readdir", "/words/list.txt"]],
  ["ENOTDIR", ["readFile", "/words/list.txt/"]],
  ["EINVAL", ["readFile", "/data/a\0b"]],
  ["EINVAL", ["readFile", "/words/list.txt", { position: -1 }]],
  ["ENAMETOOLONG", ["writeFile", `/data/${"n".repeat(10_000)}`, "x"]],
  ["EXDEV", ["rename", "/data/here", "/data/other/there"]],
];
const named = REFUSED.map(([code, asked]) => ({
  what: `${code}: ${JSON.stringify(asked).slice(0, 60)}`,
  code,
  asked,
}));

test.each(named)("$what", async ({ code, asked }) => {
  const [, result] = await steps(["writeFile", "/data/here", "x"], asked);
  expect(result).toMatch(new RegExp(`^${code}: `));
});

test("bytes are as they were, and large files are read in parts", async () => {
  configureLimits({ fileReadBytes: 90_000 });
  const { result } = await servlet.callTool("bytes");
  expect(result.structuredContent).toEqual({
    bytes: [255, 254, 1],
    size: 100_000,
    code: "EFBIG",
    part: "éé",
  });
});

test("the folders of the manifest are there, and files last with the memory", async () => {
  expect(await steps(["readFile", "/words/list.txt", "utf8"])).toEqual(["alpha\nbeta\n"]);
  await servlet.writeFiles({ "/data/other/in": "second" });
  expect(await steps(["readFile", "/data/other/in", "utf8"], ["exists", "/data/in"])).toEqual([
    "second",
    false,
  ]);
});

test("file calls are paid for, and a call that is stopped changes nothing", async () => {
  await servlet.writeFiles({ "/data/kept": "as it was" });
  const { result } = await servlet.callTool("endless");
  expect(result).toMatchObject({ isError: true });
  expect(JSON.stringify(result)).toMatch(/comput/);
  expect(await servlet.files()).toEqual({
    "/data/kept": "as it was",
    "/words/list.txt": "alpha\nbeta\n",
  });
});

describe("a servlet without folders", () => {
  test("is told what is missing", async () => {
    const bare = await loadServlet("test/node/sdk/servlets/no-files");
    const { result } = await bare.callTool("look");
    expect(JSON.stringify(result)).toMatch(/ENOTSUP .*allowed_paths/);
  });
});
