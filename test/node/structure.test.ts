import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { VERSION } from "../../src/server/kernel/core/version.ts";
import { featureExport, FEATURES } from "../../src/tools/bundle/features.ts";
import {
  importsFromAbove,
  importsOf,
  roomOf,
  ROOMS,
  sharedNames,
  sourceFiles,
} from "./structure.ts";
import { allNeedsOf } from "./without.ts";

const LANGUAGES = ROOMS.filter((room) => /^languages\/\w+$/.test(room));

/** Text that only these rooms may contain: Node's own modules, alarms, the names of dialects, those of eras. */
const BELONGS = [
  { what: /\.setAlarm\(/, rooms: ["storage"] },
  {
    what: /from "node:/,
    // In the kit, what stands in for Node's modules imports others of these.
    rooms: [
      "tools/bundle",
      "tools/commands",
      "tools/doctor",
      "tools/host",
      "tools/testing",
      "kit",
      ...LANGUAGES,
    ],
  },
  { what: /hyper-v|mcp-run/, rooms: ["servlets", "tools/bundle", "tools/commands"] },
  // `streamResponse` has event streams counted until they are read.
  { what: /"content-type": "text\/event-stream"/, rooms: ["http"] },
  {
    what: /"(modern|legacy|20\d\d-\d\d-\d\d)"/,
    rooms: ["mcp", "features/sessions", "features/tasks", "tools/bundle", "tools/commands", "kit"],
  },
];

const files = await sourceFiles();

test("the version is that of the package", async () => {
  const { version } = JSON.parse(await readFile("package.json", "utf8")) as { version: string };
  expect(VERSION).toBe(version);
});

test("no files import each other in a cycle, including type imports", async () => {
  const all = [
    ...files,
    ...(await sourceFiles(["package/*.ts", "plugins/**/*.{ts,tsx}", "test/**/*.{ts,tsx}"])),
  ];
  const imports = new Map(all.map((file) => [file.path, importsOf(file)]));
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(" → "));
    if (done.has(path)) return;
    done.add(path);
    for (const next of imports.get(path) ?? []) visit(next, [...way, path]);
  };
  for (const { path } of all) visit(path, []);
  expect(circles).toEqual([]);
});

test("rooms form a tree", () => {
  expect(files.filter(({ path }) => !ROOMS.includes(roomOf(path)))).toEqual([]);
  expect(importsFromAbove(files)).toEqual([]);
});

test("a feature runs only what is of the kernel and of features that it needs", () => {
  const needs = new Map(
    files.flatMap(({ path, text }) => {
      const [, name] = /^src\/server\/features\/([^/]+)\/feature\.ts$/.exec(path) ?? [];
      const [, listed = ""] = /^ {2}needs: \[(.*)\],$/m.exec(text) ?? [];
      const needed = FEATURES.filter((one) => listed.split(/,\s*/).includes(featureExport(one)));
      return name === undefined ? [] : [[name, needed] as const];
    }),
  );
  const featureOf = (path: string) => /^src\/server\/features\/([^/]+)\//.exec(path)?.[1];
  const foreign = files.flatMap((file) => {
    const own = featureOf(file.path);
    if (own === undefined) return [];
    return importsOf(file, false)
      .filter((from) => ![undefined, own, ...needs.get(own)!].includes(featureOf(from)))
      .map((from) => `${file.path} imports ${from}`);
  });
  expect(needs.size).toBeGreaterThan(10);
  expect(foreign).toEqual([]);
});

test("each limit is of one room, and its readers import that room's limits", () => {
  const core = "src/server/kernel/core/limits.ts";
  const declared = files
    .filter(({ path }) => path.endsWith("/limits.ts"))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/^ {4}(\w+): /gm)].map(([, name]) => [name!, path] as const),
    );
  const owners = new Map(declared);
  expect(declared).toHaveLength(owners.size);
  expect(owners.size).toBeGreaterThan(200);
  const foreign = files.flatMap((file) => {
    const imported = new Set([core, ...importsOf(file)]);
    const read = [
      ...[...file.text.matchAll(/\blimits\.(\w+)/g)].map(([, name]) => name!),
      ...[...file.text.matchAll(/\{([^{}]*)\} = limits\b/g)].flatMap(
        ([, names]) => names!.match(/\w+/g) ?? [],
      ),
    ];
    return read
      .filter((name) => owners.has(name) && !imported.has(owners.get(name)!))
      .map((name) => `${file.path} reads ${name} of ${owners.get(name)}`);
  });
  expect(foreign).toEqual([]);
});

test("a feature's tests are imported by no others, and their tags are features before it that it does not need", async () => {
  const folderOf = (path: string) => /^test\/features\/([^/]+)\//.exec(path)?.[1];
  const tests = await sourceFiles(["test/**/*.ts"]);
  const foreign = tests.flatMap((file) =>
    importsOf(file)
      .filter((from) => ![undefined, folderOf(file.path)].includes(folderOf(from)))
      .map((from) => `${file.path} imports ${from}`),
  );
  expect(foreign).toEqual([]);
  const wrong = tests.flatMap(({ path, text }) => {
    const own = folderOf(path);
    const before =
      own === undefined ? [] : FEATURES.slice(0, FEATURES.indexOf(own as (typeof FEATURES)[0]));
    const allowed = before.filter((name) => !allNeedsOf(own!).includes(name));
    const tags = [
      ...text.matchAll(/^\/\/ @module-tag (\S+)$|\{ tags: \[([^\]]*)\] \},\s+(?:async )?\(/gm),
    ].flatMap(
      ([, name, listed = ""]) => name ?? [...listed.matchAll(/"([^"]+)"/g)].map(([, one]) => one!),
    );
    return tags
      .filter((tag) => !(allowed as string[]).includes(tag))
      .map((tag) => `${path} has the tag ${tag}`);
  });
  expect(wrong).toEqual([]);
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
