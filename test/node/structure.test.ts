import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { VERSION } from "../../src/core/version.ts";
import { importsOf, roomOf, sourceFiles } from "./structure.ts";

/** How the code is laid out: which room may know which. */
const LEAVES = [
  "alarm.ts",
  "asks.ts",
  "call-context.ts",
  "record.ts",
  "suspension.ts",
  "digest.ts",
  "document.ts",
  "model.ts",
  "env.ts",
  "oauth-settings.ts",
  "own-names.ts",
  "parts.ts",
  "limits.ts",
  "nearest.ts",
  "once-per.ts",
  "errors.ts",
  "files",
  "body.ts",
  "callers.ts",
  "glob.ts",
  "key-name.ts",
  "private-hosts.ts",
  "quotas.ts",
  "retry.ts",
  "text.ts",
  "version.ts",
  "deviations.ts",
  "schema",
  "shape.ts",
  "state-file.ts",
  "tracing",
  "unknown-outcome.ts",
];

/** Rooms, and what each may import besides itself and packages. */
const MAY_IMPORT: Record<string, string[]> = {
  "index.ts": ["*"],
  "worker.ts": ["app.ts", "durable", "servlets", "tracing"],
  "app.ts": [
    "wiring.ts",
    "auth",
    "builds",
    "console",
    "mcp",
    "operator",
    "otc",
    "person",
    "servlets",
    ...LEAVES,
  ],
  "wiring.ts": ["auth", "builds", "durable", "mcp", "person", "servlets", ...LEAVES],
  accounts: LEAVES,
  auth: LEAVES,
  calls: ["servlets", ...LEAVES],
  builds: ["accounts", "calls", "durable", "servlets", "usage", "wasm", ...LEAVES],
  durable: [
    "accounts",
    "auth",
    "builds",
    "calls",
    "mcp",
    "otc",
    "servlets",
    "usage",
    "wasm",
    ...LEAVES,
  ],
  mcp: ["calls", "durable", "servlets", ...LEAVES],
  operator: ["builds", "durable", "servlets", ...LEAVES],
  otc: ["calls", "durable", "mcp", "servlets", ...LEAVES],
  person: ["accounts", "auth", "durable", "servlets", ...LEAVES],
  servlets: ["calls", "usage", "wasm", ...LEAVES],
  schema: LEAVES,
  usage: ["auth", ...LEAVES],
  files: ["limits.ts", "once-per.ts"],
  wasm: LEAVES,
  exporter: ["tracing", ...LEAVES],
  console: ["auth", "builds", "durable", "person", "servlets", "usage", ...LEAVES],
  bundle: ["auth", "builds", "calls", "otc", "servlets", "usage", "wasm", ...LEAVES],
  host: ["bundle", ...LEAVES],
  platform: LEAVES,
  sdk: LEAVES,
  testing: ["bundle", "calls", "durable", "servlets", "wasm", ...LEAVES],
  "alarm.ts": ["limits.ts"],
  "asks.ts": ["model.ts"],
  "call-context.ts": ["asks.ts", "model.ts", "record.ts", "tracing"],
  "record.ts": [],
  "suspension.ts": ["asks.ts", "record.ts"],
  "digest.ts": ["model.ts"],
  "document.ts": ["env.ts", "limits.ts", "text.ts"],
  "model.ts": [],
  "nearest.ts": [],
  "oauth-settings.ts": [],
  "env.ts": [
    "key-name.ts",
    "limits.ts",
    "model.ts",
    "oauth-settings.ts",
    "own-names.ts",
    "text.ts",
    "version.ts",
  ],
  "own-names.ts": [],
  "key-name.ts": [],
  "limits.ts": [],
  "errors.ts": ["limits.ts", "text.ts"],
  "callers.ts": ["limits.ts", "model.ts"],
  "glob.ts": [],
  "once-per.ts": [],
  "private-hosts.ts": [],
  "quotas.ts": ["callers.ts", "env.ts", "errors.ts", "limits.ts", "parts.ts"],
  "retry.ts": ["errors.ts"],
  "text.ts": [],
  tracing: ["limits.ts", "model.ts", "text.ts"],
  "version.ts": [],
  "shape.ts": ["text.ts"],
  "state-file.ts": ["errors.ts"],
  "parts.ts": [],
  "deviations.ts": ["model.ts"],
  "body.ts": ["errors.ts", "limits.ts", "shape.ts", "text.ts"],
  "unknown-outcome.ts": ["errors.ts"],
};

/** Text that only these rooms may contain: Node's own modules, alarms, the names of dialects, those of eras. */
const BELONGS = [
  { what: /\.setAlarm\(/, rooms: ["alarm.ts"] },
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

test("files import only what their rooms may know", () => {
  const wrong = files.flatMap((file) => {
    const room = roomOf(file.path);
    const allowed = MAY_IMPORT[room];
    if (allowed === undefined) return [`${file.path} is in no room`];
    if (allowed.includes("*")) return [];
    return importsOf(file)
      .filter((from) => roomOf(from) !== room && !allowed.includes(roomOf(from)))
      .map((from) => `${file.path} imports ${from}`);
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
