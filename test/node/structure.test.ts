import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { VERSION } from "../../src/core/version.ts";
import { importsFromAbove, importsOf, roomOf, ROOMS, sourceFiles } from "./structure.ts";

/** Text that only these rooms may contain: Node's own modules, alarms, the names of dialects, those of eras. */
const BELONGS = [
  { what: /\.setAlarm\(/, rooms: ["storage"] },
  { what: /from "node:/, rooms: ["bundle", "host", "testing"] },
  { what: /hyper-v|mcp-run/, rooms: ["servlets", "bundle"] },
  { what: /"(modern|legacy|20\d\d-\d\d-\d\d)"/, rooms: ["mcp", "bundle"] },
];

const files = await sourceFiles();

test("the version is that of the package", async () => {
  const { version } = JSON.parse(await readFile("package.json", "utf8")) as { version: string };
  expect(VERSION).toBe(version);
});

test("no files import each other in a circle", () => {
  const imports = new Map(files.map((file) => [file.path, importsOf(file)]));
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(" → "));
    if (done.has(path)) return;
    done.add(path);
    for (const next of imports.get(path) ?? []) visit(next, [...way, path]);
  };
  for (const { path } of files) visit(path, []);
  expect(circles).toEqual([]);
});

test("rooms form a tree", () => {
  expect(files.filter(({ path }) => !ROOMS.includes(roomOf(path)))).toEqual([]);
  expect(importsFromAbove(files)).toEqual([]);
});

test("no file has what belongs to other rooms", () => {
  const foreign = files.flatMap(({ path, text }) =>
    BELONGS.filter(({ what, rooms }) => !rooms.includes(roomOf(path)) && what.test(text)).map(
      ({ what }) => `${path} has ${what}`,
    ),
  );
  expect(foreign).toEqual([]);
});
