import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bundleSource, moduleChanges } from "../../../src/tools/bundle/bundle-module.ts";
import {
  checkProfiles,
  profilesJsonSchema,
  readProfiles,
  type ProfilesFile,
} from "../../../src/tools/bundle/profiles.ts";
import { versionOfProject } from "../../../src/tools/commands/make-module.ts";
import { skillsIn } from "../../../src/tools/bundle/skills.ts";
import { bundling } from "./bundling.ts";
import { servlet } from "./modules.ts";

/** `profiles.json` as the bundle step reads and checks it. */
const { at, bundle } = bundling();

const reading = async (text: string): Promise<ProfilesFile> => {
  await writeFile(at("profiles.json"), text);
  return (await readProfiles(at(".")))!;
};

test("a project without the file has none", async () => {
  expect(await readProfiles(at("."))).toBeUndefined();
});

test("comments of editors and the schema's place are no profiles", async () => {
  const { profiles } = await reading('\uFEFF{"$schema": "x", "a": {"servlets": ["hello"]}}');
  expect(profiles).toEqual({ a: { servlets: ["hello"] } });
});

describe("a fault is refused at its place", () => {
  test.each([
    ["{", /not JSON: line 1/],
    ['{\n  "a": {,}\n}', /not JSON: line 2, column 9/],
    ["[]", /profiles\.json: must be an object of profiles/],
    ['{"a": {}, "a": {}}', /line 1, column 11: a key stands there for the second time/],
    ['{\n  "A": {}\n}', /line 2, column 3: A: is no name of a profile/],
    [`{"${"a".repeat(33)}": {}}`, /is no name of a profile/],
    ['{"constructor": 1}', /column 2: constructor: .*expected object/],
    ['{"__proto__": {}}', /__proto__: is no name of a profile/],
    ['{"server-card": {}}', /column 2: server-card: is a path of the server/],
    ['{"a": []}', /line 1, column 2: a: .*expected object/],
    [
      '{\n  "a": {\n    "servlet": ["x"]\n  }\n}',
      /line 3, column 5: a\.servlet: is unknown; did you mean servlets\?/,
    ],
    ['{"a": {"hosts": 1}}', /column 8: a\.hosts: is unknown; known are title, /],
    [
      '{"a": {"tools": ["x:y",\n "greet"]}}',
      /line 2, column 2: a\.tools\.1: must be "servlet:name"/,
    ],
    ['{"a": {"tools": "greet"}}', /column 8: a\.tools: .*expected array/],
    ['{"a": {"servlets": ["x:y"]}}', /a\.servlets\.0: must be the name of a servlet/],
    ['{"a": {"listed": ["x:y"]}}', /a\.listed: is for profiles with "tools": "search"/],
    [
      '{"": {"title": "x", "tools": "search"}}',
      /column 7: \.title: the empty name stands for the whole server/,
    ],
    ['{"": {"servlets": ["x"]}}', /\.servlets: the empty name stands for/],
    ['{"": {"listed": ["x:y"]}}', /\.listed: is for profiles with/],
    ['{"": {"tools": ["x:y"]}}', /\.tools: the empty name stands for/],
    ['{"a": {"as_tools": ["skills"]}}', /a\.as_tools\.0: /],
    ['{"a": {"title": ""}}', /column 8: a\.title: /],
    [
      '{"a": {"arguments": {"greet": {}}}}',
      /column 22: a\.arguments\.greet: must be "servlet:tool"/,
    ],
    ['{"a": {"arguments": {"x:greet": 1}}}', /column 22: a\.arguments\.x:greet: .*expected record/],
  ])("%s", async (text, message) => {
    await expect(reading(text)).rejects.toThrow(message);
  });
});

/** A servlet with tools of these input schemas. */
const withTools = (schemas: Record<string, object>) =>
  servlet(
    JSON.stringify({
      tools: Object.entries(schemas).map(([name, inputSchema]) => ({ name, inputSchema })),
    }),
  );
const REPO = { repo: { type: "string" }, page: { type: "integer" } };

const ENTANGLING = {
  allOf: [{}],
  anyOf: [{}],
  oneOf: [{}],
  not: { required: ["z"] },
  if: {},
  dependentRequired: { repo: ["page"] },
  minProperties: 1,
  $ref: "#/$defs/x",
};

async function checked(profile: object, schemas: Record<string, object>): Promise<string[]> {
  const members = await bundle({ "hub.wat": withTools(schemas) });
  const file = await reading(JSON.stringify({ a: profile }));
  return checkProfiles(file, members, (await skillsIn(at("."), ".bundle")).archive);
}

describe("arguments", () => {
  const open = { type: "object", properties: REPO, required: ["repo"] };

  test.each([
    [{ "hub:list": { repo: "acme/site" } }, open],
    [{ "hub:*": { repo: "acme/site", other: 1 } }, open],
    [{ "hub:list": { page: 2 } }, { ...open, additionalProperties: false }],
    [{ "hub:*": { page: 2 } }, { ...open, properties: { ...REPO, fork: { properties: REPO } } }],
    [
      { "hub:list": { repo: "x" } },
      { ...open, properties: { ...REPO, a: { $ref: "#/$defs/a" } }, $defs: { a: {} } },
    ],
  ])("that fit are pinned: %j", async (pins, schema) => {
    expect(await checked({ servlets: ["hub"], arguments: pins }, { list: schema })).toEqual([]);
  });

  test.each<[object, object, RegExp]>([
    [
      { "hub:list": { repository: "x" } },
      open,
      /column \d+: a\.arguments\.hub:list: hub:list cannot be given repository: it has no argument repository/,
    ],
    [{ "hub:list": { page: "two" } }, open, /`page` /],
    ...Object.entries(ENTANGLING).map(([keyword, value]): [object, object, RegExp] => [
      { "hub:*": { repo: "x" } },
      { ...open, $defs: { x: {} }, [keyword]: value },
      new RegExp(`its inputSchema has ${keyword.replace("$", "\\$")} at the top`),
    ]),
    [
      { "hub:list": { repo: "x" } },
      { ...open, properties: { ...REPO, fork: { $ref: "#/properties/repo" } } },
      /another part of its inputSchema refers to repo/,
    ],
    ...[
      { allOf: [{ properties: REPO }] },
      { $ref: "#/$defs/args", $defs: { args: { properties: REPO } } },
      { if: {}, else: { properties: REPO } },
    ].map((schema): [object, object, RegExp] => [
      { "hub:*": { repo: "x" } },
      { type: "object", ...schema },
      /its inputSchema has \S+ at the top/,
    ]),
    ...[
      { $ref: "#" },
      { $ref: "#name" },
      { $dynamicRef: "#name" },
      { $ref: "#/properties/%72epo" },
    ].map((fork): [object, object, RegExp] => [
      { "hub:list": { repo: "x" } },
      { ...open, properties: { repo: { $anchor: "name", ...REPO.repo }, fork } },
      /another part of its inputSchema refers to repo/,
    ]),
  ])("that cannot be pinned cleanly are refused: %j %j", async (pins, schema, message) => {
    await expect(checked({ servlets: ["hub"], arguments: pins }, { list: schema })).rejects.toThrow(
      message,
    );
  });

  test("of a tool that is not in the profile are told of", async () => {
    const pins = { "hub:list": { repo: "x" }, "hub:z*": { repo: "x" } };
    expect(
      await checked({ tools: ["hub:show"], arguments: pins }, { list: open, show: open }),
    ).toEqual([
      "profiles.json: a.arguments: hub:list matches nothing in the bundle",
      "profiles.json: a.arguments: hub:z* matches nothing in the bundle",
    ]);
  });
});

test("a pattern that matches nothing is told of", async () => {
  const profile = {
    servlets: ["hub", "h*b", "server", "gone"],
    tools: ["hub:list", "hub:gone", "*:l*"],
    prompts: ["hub:*"],
    skills: ["server:*"],
  };
  expect(await checked(profile, { list: { type: "object" } })).toEqual([
    "profiles.json: a.servlets: gone matches nothing in the bundle",
    "profiles.json: a.tools: hub:gone matches nothing in the bundle",
    "profiles.json: a.prompts: hub:* matches nothing in the bundle",
    "profiles.json: a.skills: server:* matches nothing in the bundle",
  ]);
});

test("tools are searched, of a profile or of the whole server", async () => {
  const text =
    '{"": {"tools": "search"}, "a": {"tools": "search", "listed": ["hub:list", "hub:x"]}}';
  const members = await bundle({ "hub.wat": withTools({ list: { type: "object" } }) });
  expect(checkProfiles(await reading(text), members, undefined)).toEqual([
    "profiles.json: a.listed: hub:x matches nothing in the bundle",
  ]);
});

test("profiles are in the module, and a change of them is told", () => {
  const source = (title: string) =>
    bundleSource([], "src/bundle.gen.ts", undefined, { profiles: { a: { title } } });
  expect(source("one")).toContain('const profiles = {"a":{"title":"one"}};\n');
  expect(source("one")).toContain("bundle: Bundle = { profiles, ");
  expect(moduleChanges(source("two"), source("one"))).toBe("profiles.json has changed");
  expect(moduleChanges(source("one"), source("one"))).toBeUndefined();
  expect(bundleSource([], "src/bundle.gen.ts")).not.toContain("profiles");
});

test("the module has the version from the project's package.json", async () => {
  const folder = await mkdtemp(join(tmpdir(), "version-"));
  const versionIn = async (text: string) => {
    await writeFile(join(folder, "package.json"), text);
    return versionOfProject(folder);
  };
  expect(await versionOfProject(folder)).toBeUndefined();
  for (const text of ["{", "null", "{}", '{"version": 1}', '{"version": ""}'])
    expect(await versionIn(text)).toBeUndefined();
  const version = await versionIn('{"version": "3.1.4"}');
  expect(bundleSource([], "src/bundle.gen.ts", undefined, { version })).toContain(
    'bundle: Bundle = { version: "3.1.4", ',
  );
});

test("the schema for editors is the one that is checked", async () => {
  const committed: unknown = JSON.parse(
    await readFile("src/tools/bundle/profiles.schema.json", "utf8"),
  );
  expect(JSON.parse(JSON.stringify(profilesJsonSchema()))).toEqual(committed);
});
