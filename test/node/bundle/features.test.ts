import { glob, readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { expect, test } from "vitest";
import {
  FEATURES,
  featureExport,
  featuresFor,
  neededBindings,
  needsOf,
  type Project,
} from "../../../src/tools/bundle/features.ts";
import type { Lists } from "../../../src/server/kernel/core/model.ts";
import { VIEW_TYPE } from "../../../src/server/kernel/core/views.ts";
import { NO_ENTRIES } from "../../../src/server/kernel/servlets/servlet.ts";
import { bundleSource } from "../../../src/tools/bundle/bundle-module.ts";
import {
  abandonedClasses,
  boundIn,
  lackingLines,
} from "../../../src/tools/commands/wrangler-config.ts";

type Servlet = Project["servlets"][number];
const servlet = (
  name: string,
  manifest: Servlet["manifest"] = {},
  others: Partial<Servlet> = {},
): Servlet => ({ name, manifest, lists: NO_ENTRIES, ...others });

const inputSchema = { type: "object" } as const;
const listing = (lists: Partial<Lists>) => servlet("a", {}, { lists: { ...NO_ENTRIES, ...lists } });

/** The features of a project with these bindings, and otherwise one plain servlet. */
const featuresWith = (bindings: readonly string[], project: Partial<Project> = {}) => [
  ...featuresFor({
    servlets: [servlet("hello")],
    profiles: {},
    variables: new Set(),
    ...project,
    bindings: new Set(bindings),
  }).keys(),
];

test("every folder of src/server/features is a feature that a bundle can have", async () => {
  const names = await Array.fromAsync(glob("src/server/features/*/feature.ts"), (path) =>
    basename(dirname(path)),
  );
  expect(names.toSorted()).toEqual([...FEATURES].toSorted());
});

test("the features that others need are those of their records", async () => {
  for (const name of FEATURES) {
    const text = await readFile(`src/server/features/${name}/feature.ts`, "utf8");
    const [, listed = ""] = /^ {2}needs: \[(.*)\],$/m.exec(text) ?? [];
    const exported = listed.match(/\w+/g) ?? [];
    expect(needsOf(name).map(featureExport)).toEqual(exported);
  }
});

test.each<[string, string[], Partial<Project>, string[]]>([
  ["nothing is bound", [], {}, []],
  ["only what every server uses is bound", ["KEY_RING", "ATTEMPTS", "QUOTAS"], {}, []],
  ["tasks are bound", ["TASKS"], {}, ["tasks", "people"]],
  ["sessions are bound", ["SESSIONS", "TASKS"], {}, ["tasks", "sessions", "people"]],
  ["sessions are bound without tasks", ["SESSIONS"], {}, ["tasks", "sessions"]],
  ["state is bound", ["SERVLET_STATES"], {}, ["state", "operator"]],
  ["the sign-in is bound", ["GRANTS"], {}, ["sign-in", "issuers"]],
  ["issuers are set", [], { variables: new Set(["OAUTH_ISSUERS"]) }, ["issuers"]],
  [
    "a team signs in",
    [],
    { variables: new Set(["SIGN_IN"]) },
    ["tasks", "people", "sign-in", "team"],
  ],
  [
    "a servlet calls others",
    [],
    { servlets: [servlet("a", { may_call: ["b:*"] })] },
    ["tool-calls"],
  ],
  [
    "a servlet has schedules",
    ["SCHEDULES"],
    { servlets: [servlet("a", { schedules: { daily: { cron: "@daily" } } })] },
    ["tasks", "people", "schedules"],
  ],
  [
    "a servlet emits events",
    [],
    { servlets: [servlet("a", { events: { e: { description: "e", payload: inputSchema } } })] },
    ["events"],
  ],
  ["events are bound, and no servlet emits any", ["EVENTS"], {}, []],
  ["a servlet makes files", [], { servlets: [servlet("a", { files: {} })] }, ["transfers"]],
  ["files are bound, and no servlet makes any", ["TRANSFERS", "TRANSFERS_BUCKET"], {}, []],
  [
    "a servlet has snippets",
    [],
    { servlets: [servlet("a", { snippets: "run_snippet" })] },
    ["state", "snippets"],
  ],
  ["tools are searched", [], { profiles: { "": { tools: "search" } } }, ["search"]],
  [
    "servlets can be installed",
    ["INSTALLS"],
    {},
    ["views", "skills", "state", "tool-calls", "installs", "operator", "snippets"],
  ],
  [
    "a servlet has views",
    [],
    { servlets: [servlet("a", { views: { board: { file: "board.html" } } })] },
    ["views"],
  ],
  [
    "a tool is for views alone",
    [],
    {
      servlets: [
        servlet(
          "a",
          { tools: { move: { visibility: ["app"] } } },
          { lists: { ...NO_ENTRIES, tools: [{ name: "move", inputSchema }] } },
        ),
      ],
    },
    ["views"],
  ],
  [
    "a servlet lists a view itself",
    [],
    { servlets: [listing({ resources: [{ uri: "ui://a/b", name: "b", mimeType: VIEW_TYPE }] })] },
    ["views"],
  ],
  [
    "a tool of a servlet names a view itself",
    [],
    {
      servlets: [
        listing({ tools: [{ name: "t", inputSchema, _meta: { "ui/resourceUri": "x" } }] }),
      ],
    },
    ["views"],
  ],
  [
    "lists are asked for at run time",
    [],
    { servlets: [servlet("a", {}, { lists: undefined })] },
    ["views"],
  ],
  ["a servlet has skills", [], { servlets: [servlet("a", {}, { hasSkills: true })] }, ["skills"]],
  ["the project has skills", [], { hasSkills: true }, ["skills"]],
  ["webhooks are bound", ["HOOKS"], {}, ["tasks", "people", "webhooks"]],
  [
    "a servlet has webhooks",
    [],
    { servlets: [servlet("a", { webhooks: { github: { verify: { type: "none" } } } })] },
    ["tasks", "people", "webhooks"],
  ],
])("where %s, the script has what that needs", (_what, bindings, project, features) => {
  expect(featuresWith(bindings, project)).toEqual(features);
});

test("the module imports the features that it names", () => {
  const source = bundleSource([], "src/bundle.gen.ts", undefined, {
    features: ["sign-in", "otc"],
  });
  expect(source).toContain('import { signInFeature } from "./server/features/sign-in/feature.ts";');
  expect(source).toContain("features: [signInFeature, otcFeature] }");
  expect(source).not.toContain("consoleFeature");
  const all = bundleSource([], "src/bundle.gen.ts");
  for (const name of FEATURES) expect(all).toContain(featureExport(name));
});

test("bindings and variables of every environment count", () => {
  const text = `
[vars]
OAUTH_ISSUERS = "https://id.example"
[assets]
directory = "a"
binding = "ASSETS"
[[env.staging.durable_objects.bindings]]
name = "TASKS"
class_name = "Task"
[[env.staging.kv_namespaces]]
binding = "OAUTH_KV"
`;
  const { bindings, variables } = boundIn(text);
  expect([...bindings].toSorted()).toEqual(["ASSETS", "OAUTH_KV", "TASKS"]);
  expect([...variables]).toEqual(["OAUTH_ISSUERS"]);
});

test.each<[string, Servlet["manifest"], string[]]>([
  ["keeps nothing", {}, []],
  ["keeps state", { state: "caller" }, ["KEY_RING", "SERVLET_STATES", "QUOTAS"]],
  [
    "uses accounts",
    { accounts: { github: { scopes: [], hosts: ["api.github.com"] } } },
    ["KEY_RING", "PROFILES", "TASKS", "ATTEMPTS"],
  ],
  ["makes files", { files: {} }, ["TRANSFERS", "KEY_RING", "ATTEMPTS"]],
  [
    "emits events",
    { events: { e: { description: "e", payload: inputSchema } } },
    ["EVENTS", "KEY_RING", "ATTEMPTS"],
  ],
])("a servlet that %s needs these objects", (_what, manifest, bindings) => {
  const nothing = { bindings: new Set<string>(), variables: new Set<string>() };
  const project = { servlets: [servlet("one", manifest)], ...nothing };
  expect([...neededBindings(project).keys()]).toEqual(bindings);
  const lines = lackingLines('name = "mine"\n', bindings);
  for (const one of bindings) expect(lines).toContain(`name = "${one}"`);
  expect(lines.match(/durable_objects/g) ?? []).toHaveLength(bindings.length);
});

test.each([
  ["TASKS", "ATTEMPTS"],
  ["SESSIONS", "ATTEMPTS"],
  ["STATES", "ATTEMPTS"],
  ["CALL_RECORDS", "ATTEMPTS"],
  ["SERVLET_STATES", "QUOTAS"],
])("where %s is bound, %s is needed, which limits what callers store there", (one, counter) => {
  const needed = neededBindings({
    servlets: [],
    bindings: new Set([one]),
    variables: new Set(),
  });
  expect([...needed.keys()]).toEqual([counter]);
});

test("where a team signs in, the lines for what that needs are printed", () => {
  const variables = new Set(["SIGN_IN"]);
  const needed = neededBindings({ servlets: [], bindings: new Set(), variables });
  expect(needed.get("OAUTH_KV")).toBe("SIGN_IN is set");
  const lines = lackingLines('name = "mine"\n', [...needed.keys()]);
  expect(lines).toContain('[[kv_namespaces]]\nbinding = "OAUTH_KV"');
  for (const one of ["GRANTS", "PROFILES", "TASKS", "KEY_RING", "ATTEMPTS"])
    expect(lines).toContain(`name = "${one}"`);
  expect(neededBindings({ servlets: [], bindings: new Set(), variables: new Set() }).size).toBe(0);
});

test("where a servlet has webhooks, the lines for what these need are printed", () => {
  const hooked = servlet("a", { webhooks: { github: { verify: { type: "none" } } } });
  const needed = neededBindings({
    servlets: [hooked],
    bindings: new Set<string>(),
    variables: new Set<string>(),
  });
  expect(needed.get("HOOKS")).toBe("a has webhooks");
  const lines = lackingLines('name = "mine"\n', [...needed.keys()]);
  for (const one of ["HOOKS", "TASKS", "PROFILES", "KEY_RING", "ATTEMPTS"])
    expect(lines).toContain(`name = "${one}"`);
  expect(lines).toMatch(/new_sqlite_classes = \["Hooks"\]/);
});

test("a class whose objects a migration has made is bound, or deleted by another", () => {
  const made = '[[migrations]]\ntag = "v1"\nnew_sqlite_classes = ["Task", "Mine"]\n';
  const bound = '[[durable_objects.bindings]]\nname = "TASKS"\nclass_name = "Task"\n';
  const deleted = '[[migrations]]\ntag = "v2"\ndeleted_classes = ["Task"]\n';
  expect(abandonedClasses(made)).toEqual(["Task"]);
  expect(abandonedClasses(made + bound)).toEqual([]);
  expect(abandonedClasses(made + deleted)).toEqual([]);
  const renamed =
    '[[migrations]]\ntag = "v2"\nrenamed_classes = [{ from = "Task", to = "Other" }]\n';
  expect(abandonedClasses(made + renamed)).toEqual([]);
  const again = '[[migrations]]\ntag = "v3"\nnew_sqlite_classes = ["Task"]\n';
  expect(abandonedClasses(made + deleted + again)).toEqual(["Task"]);
  expect(lackingLines(made + deleted + bound, ["TASKS"])).toContain(
    'new_sqlite_classes = ["Task"]',
  );
});

test("an environment that deploys the same Worker gets what the top level binds", () => {
  const bound = '[[durable_objects.bindings]]\nname = "TASKS"\nclass_name = "Task"\n';
  const made = '[[migrations]]\ntag = "v1"\nnew_sqlite_classes = ["Task"]\n';
  const lines = lackingLines(`name = "mine"\n${bound}${made}[env.prod.vars]\nA = "1"\n`, []);
  expect(lines).toContain('[[env.prod.durable_objects.bindings]]\nname = "TASKS"');
  expect(lines).not.toContain("\n[[durable_objects");
});
