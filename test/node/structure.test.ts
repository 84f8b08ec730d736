import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { VERSION } from "../../src/core/version.ts";
import {
  importsFromAbove,
  importsOf,
  roomOf,
  ROOMS,
  sharedNames,
  sourceFiles,
  type SourceFile,
} from "./structure.ts";

/** Text that only these rooms may contain: Node's own modules, alarms, the names of dialects, those of eras. */
const BELONGS = [
  { what: /\.setAlarm\(/, rooms: ["storage"] },
  { what: /from "node:/, rooms: ["bundle", "host", "testing"] },
  { what: /hyper-v|mcp-run/, rooms: ["servlets", "bundle"] },
  // `streamResponse` has event streams counted until they are read.
  { what: /"content-type": "text\/event-stream"/, rooms: ["http"] },
  { what: /"(modern|legacy|20\d\d-\d\d-\d\d)"/, rooms: ["mcp", "bundle", "view"] },
];

const files = await sourceFiles();

/** Files whose types any file may import: the bindings, the wiring, and Durable Objects, whose RPC type is their class. */
const UPWARD = new Set(
  files
    .filter(({ text }) => /^export class \w+ extends DurableObject\b/m.test(text))
    .map(({ path }) => path)
    .concat("src/bindings.ts", "src/server.ts"),
);

/** The files that a file imports, but for such types. */
const knownBy = (file: SourceFile) => {
  const runs = importsOf(file, false);
  return importsOf(file).filter((from) => runs.includes(from) || !UPWARD.has(from));
};

test("the version is that of the package", async () => {
  const { version } = JSON.parse(await readFile("package.json", "utf8")) as { version: string };
  expect(VERSION).toBe(version);
});

test("no files import each other in a circle", () => {
  const imports = new Map(files.map((file) => [file.path, knownBy(file)]));
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

test("calls pass few functions on their way to the guest, and from there to whom it asks", async () => {
  // In a process of its own: a debugger is attached to it.
  const { stdout } = await promisify(execFile)(process.execPath, ["test/node/frames.ts"]);
  const counts = [...stdout.matchAll(/^(\w+): (\d+) frames$/gm)].map(([, call, count]) => [
    call,
    Number(count),
  ]);
  expect(counts.map(([call]) => call)).toEqual(["plain", "ask"]);
  const { plain, ask } = Object.fromEntries(counts) as Record<string, number>;
  expect(plain).toBeLessThanOrEqual(15);
  expect(ask).toBeLessThanOrEqual(25);
});

test("an exported name has one meaning", () => {
  expect(sharedNames(files)).toEqual([]);
});
