import { mkdir, rm, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { catalogOf, makeBundle } from "../../../src/tools/bundle/bundle.ts";
import { bundling } from "./bundling.ts";
import { lists, plugin, servlet } from "./modules.ts";

/** Error messages of the bundle step for folders that it cannot bundle. */
const { at, bundle, makeOf } = bundling();

describe("files that are no servlet", () => {
  test.each<[string, string | Uint8Array, RegExp]>([
    ["a.wasm", "hello", /a\.wasm: it is not WebAssembly/],
    ["a.wasm", "", /it is not WebAssembly/],
    [
      "a.wasm",
      new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 200]),
      /not valid WebAssembly .*build or copy it again/,
    ],
    ["a.wasm", new Uint8Array([0, 97, 115, 109, 13, 0, 1, 0]), /component/],
    ["a.wat", "(module (oops", /wasm-as/],
    ["a.wat", "(module)", /not a servlet: it exports neither/],
    ["a.wat", '(module (func (export "call") (result i32) (i32.const 0)))', /not a servlet/],
    ["a.wat", plugin('(import "env" "f" (func))'), /imports env\.f, which is not offered/],
    ["a.wat", plugin('(import "extism:host/env" "f" (func))'), /imports extism:host\/env\.f/],
    ["a.wat", plugin('(import "gojs" "runtime.wasmExit" (func))'), /GOOS=js.*-buildmode=c-shared/],
    ["a.wat", plugin('(import "wbg" "__wbindgen_throw" (func))'), /wasm-bindgen.*cargo build/],
    ["a.wat", plugin('(import "wasi_unstable" "fd_write" (func))'), /preview 1.*wasm32-wasip1/],
    ["a.wat", plugin('(import "env" "emscripten_resize_heap" (func))'), /Emscripten.*wasm32-wasi/],
    [
      "a.wat",
      plugin('(import "extism:host/env" "edge_alloc" (func (param i32) (result i32)))'),
      /edge_alloc/,
    ],
    ["a.wat", plugin('(import "wasi_snapshot_preview1" "f" (func))'), /wasi_snapshot_preview1\.f/],
    ["a.wat", plugin('(import "edge:host" "config_get" (func))'), /edge:host\.config_get/],
    ["a.wat", plugin('(import "env" "memory" (memory 1))'), /imports the memory env\.memory/],
    ["a.wat", plugin("(memory 1 1 shared)"), /shared|not valid|wasm-as/],
    ["a.wat", plugin("(memory 5000)"), /more than its limit .*raise memory_limit/],
    [
      "a.wat",
      '(module (func (export "call_tool") (param i32) (result i32) (i32.const 0)))',
      /call_tool is not a function without parameters/,
    ],
    [
      "a.wat",
      '(module (func (export "list_tools") (result i64) (i64.const 0)))',
      /list_tools is not a function/,
    ],
  ])("%s: %o", async (name, content, message) => {
    await expect(bundle({ [name]: content })).rejects.toThrow(message);
  });

  test("are named by their path", async () => {
    await expect(bundle({ "x/y.wasm": "no" })).rejects.toThrow(at("x/y.wasm"));
  });
});

describe("views", () => {
  const withView = (view: object, document?: string | Uint8Array) => ({
    "a/a.wat": lists("draw"),
    "a/servlet.json": JSON.stringify({ views: { board: { file: "v.html", ...view } } }),
    ...(document !== undefined && { "a/v.html": document }),
  });
  const page = "<!-- ours -->\n<!doctype html><p>x</p>";

  test.each<[string, object, string | Uint8Array | undefined, RegExp]>([
    ["is missing", {}, undefined, /the view board: there is no file v\.html: write it, or leave/],
    ["is no HTML", {}, "hello", /v\.html is not an HTML document: begin it with/],
    ["is no text", {}, new Uint8Array([60, 255]), /v\.html is not UTF-8/],
    ["is too large", {}, page + "x".repeat(1024 * 1024), /has \d+ bytes, and 1048576 is the limit/],
    ["is elsewhere", { file: "../b.html" }, page, /there is no file|outside of the servlet/],
    [
      "is for no tool",
      { tools: ["drew"] },
      page,
      /the tool drew, which it lacks: write one of draw/,
    ],
    [
      "has no origin",
      { csp: { connectDomains: ["api.x.com;"] } },
      page,
      /must be an origin, such as/,
    ],
    ["may do all", { permissions: ["all"] }, page, /permissions/],
  ])("one that %s", async (_what, view, document, message) => {
    await expect(bundle(withView(view, document))).rejects.toThrow(message);
  });

  test.each([
    ["that no tool runs", "caller", /a: "snippets" is for the tool run, which it lacks: write one/],
    ["without state", "call", /snippets needs "state" of a caller or a session/],
    ["that all callers would share", "server", /snippets needs "state" of a caller or a session/],
  ])("snippets %s", async (_what, state, message) => {
    const manifest = JSON.stringify({ snippets: "run", state });
    const files = { "a/a.wat": lists("draw"), "a/servlet.json": manifest };
    await expect(bundle(files)).rejects.toThrow(message);
  });

  test("two for one tool", async () => {
    const view = { file: "v.html", tools: ["draw"] };
    const files = {
      ...withView({}, page),
      "a/servlet.json": JSON.stringify({ views: { one: view, two: view } }),
    };
    await expect(bundle(files)).rejects.toThrow(/the views one and two are both for the tool draw/);
  });
});

describe("manifests", () => {
  test.each<[string, RegExp]>([
    ["{", /servlet\.json: it is not JSON: line 1, column 2: .*: correct it there/],
    ['{\n  "prefix": tru\n}', /it is not JSON: line 2, column 13/],
    ['{\n  "prefix": "a",\n}', /it is not JSON: line 3, column 1|line 2, column 16/],
    ["{\n  // none\n}", /it is not JSON: line 2, column 3/],
    ["", /servlet\.json: it is not JSON: line 1, column 1/],
    ["[]", /servlet\.json/],
    ['{"allowed_host": []}', /allowed_host is unknown; did you mean allowed_hosts\?/],
    ['{"alowedHosts": []}', /did you mean allowed_hosts\?/],
    [
      '{"views": {"a": {"file": "a.html", "csp": {"connect": []}}}}',
      /json: views\.a\.csp has no key connect: correct it, or leave it out$/,
    ],
    ['{"qwertyuiop": 1}', /qwertyuiop is unknown; known are/],
    ['{"memory_limit": "lots"}', /memory_limit.*64Mi/],
    ['{"skip_tools": ["("]}', /skip_tools.*regular expression/],
    ['{"dialect": "v3"}', /dialect/],
    ['{"prefix": "a b"}', /prefix/],
    ['{"env_vars": {"a": 1}}', /env_vars\.a/],
    ['{"env_vars": {"region": "${STATE_KEY}|${API_KEYS}"}}', /region names STATE_KEY.*API_KEYS/],
    ['{"envVars": {"a": "${OWNER_PASSPHRASE:-x}"}}', /env_vars\.a names OWNER_PASSPHRASE/],
    [
      '{"allowed_secrets": [{"service": "state", "user": "key"}]}',
      /names STATE_KEY, which belongs to the server itself/,
    ],
    [
      '{"allowed_secrets": [{"service": "a", "user": "b", "variable": "OTC_JWT_SECRET"}]}',
      /names OTC_JWT_SECRET/,
    ],
    ["[]", /servlet\.json: Invalid input: expected object/],
    ['{"memory_limit": 64}', /memory_limit: is not a size; write, for example, "64Mi"/],
    ['{"memory_limit": "64"}', /memory_limit: is not a size/],
    ['{"env_vars": {"A": 5}}', /env_vars.A: must be a text: put it in quotes/],
    ['{"allowed_paths": ["ro:files"]}', /needs "state", also where all folders are read-only/],
    ['{"state": "server", "files_limit": "much"}', /files_limit.*64Mi/],
    [
      '{"state": "server", "on_new_build": "keep-calls-on-old"}',
      /need the memory of the old build[^]*"anew"/,
    ],
  ])("%s", async (manifest, message) => {
    await expect(bundle({ "a/servlet.json": manifest, "a/a.wat": lists("t") })).rejects.toThrow(
      message,
    );
  });

  test("without a servlet beside them", async () => {
    await expect(bundle({ "a/servlet.json": "{}" })).rejects.toThrow(
      /there is no servlet beside it/,
    );
  });

  test("camelCase is read as well", async () => {
    const manifest = '{"allowedHosts": ["a.example"], "envVars": {"someKey": "x"}}';
    const [member] = await bundle({ "a/servlet.json": manifest, "a/a.wat": lists("t") });
    expect(member?.found.manifest).toEqual({
      allowed_hosts: ["a.example"],
      env_vars: { someKey: "x" },
    });
  });
});

/** A tool `t` with this in its inputSchema. */
const withInput = (text: string) =>
  servlet(`{"tools":[{"name":"t","description":"d","inputSchema":{${text}}}]}`);
const withProperty = (text: string) => withInput(`"properties":{${text}}`);

describe("lists", () => {
  const templates = (uriTemplate: string) =>
    servlet(JSON.stringify({ resourceTemplates: [{ uriTemplate, name: "t" }] }))
      .replace("list_tools", "list_resource_templates")
      .replace('(export "call_tool")', '(export "call_tool") (export "read_resource")');

  const resources = (uri: string) =>
    servlet(JSON.stringify({ resources: [{ uri, name: "r" }] }))
      .replace("list_tools", "list_resources")
      .replace('(export "call_tool")', '(export "call_tool") (export "read_resource")');

  test("a scheme with the name of another servlet is told of", async () => {
    const [diary, prying] = await bundle({
      "diary.wat": lists("t").replace('"call_tool")', '"call_tool") (export "read_resource")'),
      "prying.wat": templates("diary://zzz/{id}"),
    });
    expect(prying!.warnings).toEqual([
      expect.stringMatching(/^prying also lists resources of diary:.* the servlet diary alone/),
    ]);
    expect(diary!.warnings.join()).not.toContain("diary:");
  });

  test("a resource template that fits another servlet's is told of", async () => {
    const [any, docs] = await bundle({
      "any.wat": templates("{+any}"),
      "docs.wat": templates("docs://{id}"),
    });
    expect(any!.warnings).toEqual([
      expect.stringMatching(/\{\+any\} of any also fits docs:\/\/\{id\} of docs/),
    ]);
    expect(docs!.warnings).toEqual([]);
  });

  test("two servlets with the same tool: both are named, and prefix is suggested", async () => {
    const both = { "a.wat": lists("same"), "b.wat": lists("same") };
    await expect(bundle(both)).rejects.toThrow(
      /b\.wat: .*a\.wat also has same \(tools\).*"prefix"/,
    );
  });

  test("two servlets with the same URI or template: a prefix would not help, and is not suggested", async () => {
    const wat = (kind: "resources" | "templates") =>
      kind === "templates" ? templates("docs://{id}") : resources("docs://one");
    for (const [kind, what, skip] of [
      ["templates", "template", "skip_resource_templates"],
      ["resources", "URI", "skip_resources"],
    ] as const) {
      const both = bundle({ "a.wat": wat(kind), "b/b.wat": wat(kind) });
      const message = `change the ${what} in one of them, or skip it by "${skip}" in servlet.json`;
      await expect(both).rejects.toThrow(message);
      await expect(both).rejects.not.toThrow("prefix");
      const skipped = { "b/servlet.json": JSON.stringify({ [skip]: ["docs:.*"] }) };
      const files = { "a.wat": wat(kind), "b/b.wat": wat(kind), ...skipped };
      expect(await bundle(files)).toHaveLength(2);
    }
  });

  test("a prefix or a skip sets them apart", async () => {
    const files = { "a.wat": lists("same"), "b/b.wat": lists("same") };
    expect(await bundle({ ...files, "b/servlet.json": '{"prefix": "b"}' })).toHaveLength(2);
    expect(await bundle({ ...files, "b/servlet.json": '{"skip_tools": ["sam."]}' })).toHaveLength(
      2,
    );
  });

  test("two servlets of one name", async () => {
    const files = { "a.wat": lists("one"), "a/a.wat": lists("two") };
    await expect(bundle(files)).rejects.toThrow(/another servlet a .*rename one/);
  });

  test("a name of the server's own servlets, whose tools need other scopes", async () => {
    await expect(bundle({ "server.wat": lists("one") })).rejects.toThrow(
      /server.wat: .*own: rename/,
    );
  });

  test.each(
    (
      [
        [plugin("(memory 1)").replace("call_tool", "list_tools"), /returned no output.*"dynamic"/],
        [servlet("{not json"), /not JSON/],
        [servlet('{"tools":7}'), /list of tools is not an array/],
        [servlet('{"tools":[{"description":"x"}]}'), /name of an entry of tools is not a string/],
        ['(module (func (export "list_tools") (result i32) unreachable))', /crashed/],
      ] satisfies [string, RegExp][]
    ).map(([wat, message]) => ({ wat, message })),
  )("that cannot be read: $message", async ({ wat, message }) => {
    await expect(bundle({ "a.wat": wat })).rejects.toThrow(message);
  });

  test("a servlet that never answers is stopped", async () => {
    const wat =
      '(module (func (export "list_tools") (result i32) (loop $l (br $l)) (i32.const 0)))';
    const files = { "a/a.wat": wat, "a/servlet.json": '{"compute_limit": 0.05}' };
    await expect(bundle(files)).rejects.toThrow(/computed for too long/);
  });

  test.each(
    (
      [
        [
          lists("t", ',"outputSchema":{"$ref":"https://elsewhere.example/s"}'),
          /outputSchema of t is not valid.*dropped.*elsewhere/,
        ],
        [
          servlet(
            '{"tools":[{"name":"t","inputSchema":{"type":"object","$schema":"http://json-schema.org/draft-03/schema"}}]}',
          ),
          /dialect.*draft-03/,
        ],
        [
          servlet(
            '{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"n":{"type":"number","x-mcp-header":"N"}}}}]}',
          ),
          /x-mcp-header in t: .*number/,
        ],
        [servlet('{"tools":[{"name":"a b","inputSchema":{}}]}'), /listed as a_b.*other characters/],
        [lists("x".repeat(140)), /by the first 128 characters.*which has 140 characters: shorten/],
        [lists("x".repeat(61)), /a name of 61 characters: .*shorten it to 60/],
        [lists("t"), /"t" has no description, by which models choose tools: say what it does/],
        [lists("t", `,"description":" "`), /"t" has no description/],
        [
          lists("t", `,"description":"${"long ".repeat(2500)}"`),
          /"t" has a description of 12500 characters.*shorten it to 10000/,
        ],
        [lists("files.read"), /files\.read.*refuse names with dots; write _/],
        [withInput('"oneOf":[{"required":["a"]},{"required":["b"]}]'), /"t" has oneOf at the root/],
        [withInput('"enum":[{}]'), /"t" has enum at the root/],
        [withInput('"not":{"required":["a"]}'), /"t" has not at the root/],
        [withInput('"allOf":[{"anyOf":[{}]}]'), /"t" has allOf at the root/],
        [
          withProperty('"a":{"type":"array","enum":[["x"]],"items":{}}'),
          /enum beside the array a in its inputSchema.*put enum into items/,
        ],
        [
          withProperty('"a":{"properties":{"b":{"items":{"type":["string","number"]}}}}'),
          /a union as the items of a\.b in/,
        ],
        [
          withProperty('"a":{"items":{"$ref":"#/$defs/u"}}},"$defs":{"u":{"anyOf":[{},{}]}'),
          /a union as the items of a in/,
        ],
        [
          withProperty('"a":{"items":[{"items":{"oneOf":[{}]}}]}'),
          /a union as the items of a\[\] in/,
        ],
        [withProperty('"$filter":{}'), /the property "\$filter" in/],
        [servlet('{"tools":[]}'), /offers nothing/],
      ] satisfies [string, RegExp][]
    ).map(([wat, warning]) => ({ wat, warning })),
  )("that are served with a warning: $warning", async ({ wat, warning }) => {
    const [member] = await bundle({ "a.wat": wat });
    expect(member?.warnings.join("\n")).toMatch(warning);
  });
});

test("a name that only its prefix makes too long is told of with it", async () => {
  const files = { "a/a.wat": lists("x".repeat(50)), "a/servlet.json": '{"prefix":"from-afar-12"}' };
  const [member] = await bundle(files);
  expect(member?.warnings.join()).toMatch(/63 characters with its prefix from-afar-12:.*to 60/);
  await rm(at("a"), { recursive: true });
  const skipped = { "b/b.wat": lists("x.y"), "b/servlet.json": '{"skip_tools":["x.y"]}' };
  expect((await bundle(skipped))[0]?.warnings.join()).not.toMatch(/dots/);
});

test.each([
  ["one name twice", '{"tools":[{"name":"t"},{"name":"t"}]}', "t"],
  ["two names that are listed as one", '{"tools":[{"name":"t u"},{"name":"t_u"}]}', "t_u"],
  [
    "two names that are cut to one",
    `{"tools":[{"name":"${"x".repeat(128)}y"},{"name":"${"x".repeat(128)}z"}]}`,
    "x".repeat(128),
  ],
])("%s within a servlet: a prefix would not help", async (_, text, name) => {
  const bundled = bundle({ "a.wat": servlet(text) });
  await expect(bundled).rejects.toThrow(
    `a.wat: two of its tools are listed as ${name}: rename one of them in the servlet`,
  );
  await expect(bundled).rejects.not.toThrow(/"prefix"/);
});

test("a schema is listed as APIs of models take it, and its values are checked as before", async () => {
  const text =
    '"definitions":{"a":{"properties":{"n":{"minimum":1}}}},"allOf":[{"$ref":"#/definitions/a"},{"required":["n"]}]';
  const schemas = `"inputSchema":{${text}},"outputSchema":{${text}}`;
  const wat = servlet(`{"tools":[{"name":"t",${schemas}}]}`);
  const { tools } = catalogOf(await bundle({ "a.wat": wat }));
  const { tool, input } = tools.get("t")!;
  expect(tool.inputSchema).toEqual({
    type: "object",
    properties: { n: { minimum: 1 } },
    required: ["n"],
  });
  expect(tool.outputSchema).toEqual({ properties: { n: { minimum: 1 } }, required: ["n"] });
  expect(input({ n: 1 })).toBeUndefined();
  expect(input({ n: 0 })).toBeDefined();
  expect(input({})).toBeDefined();
});

test("keywords that APIs of models refuse or ignore are named with their place", async () => {
  const schema = {
    type: "object",
    properties: {
      none: false,
      few: { enum: [] },
      a: { type: "string", nullable: true },
      b: { type: "array", items: { not: { const: 1 } } },
      pair: { type: "array", prefixItems: [{ type: "string" }, { type: "integer" }] },
      level: { type: "integer", enum: [1, 2] },
      size: { type: "string", enum: ["", "s", null] },
      c: { type: "object", propertyNames: { type: "string" }, additionalProperties: {} },
    },
    if: { required: ["a"] },
    additionalProperties: false,
  };
  const wat = servlet(
    JSON.stringify({ tools: [{ name: "t", description: "T", inputSchema: schema }] }),
  );
  const [member] = await bundle({ "a.wat": wat });
  const said = member!.warnings.filter((one) => one.includes("inputSchema"));
  expect(said).toEqual([
    expect.stringMatching(
      /"t" has if at the root of its inputSchema: some APIs of models refuse or ignore it/,
    ),
    expect.stringMatching(/"t" has false as the schema of none .*leave the property out/),
    expect.stringMatching(/"t" has an enum of nothing at few of its inputSchema/),
    expect.stringMatching(
      /"t" has nullable at a of its inputSchema, which means nothing in JSON Schema/,
    ),
    expect.stringMatching(/"t" has not at b\[\] of its inputSchema/),
    expect.stringMatching(/"t" has prefixItems at pair of its inputSchema/),
    expect.stringMatching(/"t" has 1 in the enum at level of its inputSchema: .*Gemini/),
    expect.stringMatching(/"t" has "" in the enum at size of its inputSchema/),
  ]);
});

describe("a program, whose runtime is started by its export _start only", () => {
  const program = (list: string, more = "") =>
    `(module ${more} (func (export "_start")) (func (export "list_tools") (result i32) ${list}))`;
  const CURE = /exports _start and no _initialize.*go build -buildmode=c-shared -o servlet\.wasm/;

  test("is told how to be built, and not to set its lists dynamic", async () => {
    const bundled = bundle({ "a.wat": program("unreachable") });
    await expect(bundled).rejects.toThrow(CURE);
    await expect(bundled).rejects.not.toThrow(/dynamic/);
  });

  test("is told so where its lists are dynamic, and where it exports nothing else", async () => {
    const files = { "a/a.wat": program("unreachable"), "a/servlet.json": '{"lists":"dynamic"}' };
    const [member] = await bundle(files);
    expect(member?.warnings.join()).toMatch(/no list of tools, as it fails: .*crashed/);
    expect(member?.warnings.join()).toMatch(CURE);
    await rm(at("a"), { recursive: true });
    const nothing = bundle({ "b.wat": '(module (func (export "_start")))' });
    await expect(nothing).rejects.toThrow(/not a servlet/);
    await expect(nothing).rejects.toThrow(CURE);
  });

  test("that works all the same is taken without a word", async () => {
    const wat = lists("t", ',"description":"d"').replace(
      "(memory 1)",
      '$&(func (export "_start"))',
    );
    expect((await bundle({ "a.wat": wat }))[0]?.warnings).toEqual([]);
  });
});

test("a list that fails takes no other of dynamic lists with it, and is told of", async () => {
  const wat = lists("t").replace(
    "(memory 1)",
    '$&(func (export "list_prompts") (result i32) unreachable)',
  );
  const files = { "a/a.wat": wat, "a/servlet.json": '{"lists":"dynamic"}' };
  const [member] = await bundle(files);
  expect(member?.warnings).toEqual([
    expect.stringMatching(/^it has no list of prompts, as it fails: .*crashed/),
  ]);
});

test("an export that lists nothing, and requests without hosts, are told of", async () => {
  const imports = '(import "extism:host/env" "http_request" (func (param i64 i64) (result i64)))';
  const wat = lists("t", ',"description":"d"')
    .replace("(module", `(module ${imports}`)
    .replace('(export "list_tools")', '(export "list_tools") (export "list_prompts")');
  const [closed] = await bundle({ "a/a.wat": wat });
  expect(closed?.warnings).toEqual([
    expect.stringMatching(/imports http_request.*allows no hosts: name them in "allowed_hosts"/),
    "it can be asked for its prompts, but lists none",
  ]);
  const [open] = await bundle({ "a/servlet.json": '{"allowed_hosts":["a.example"]}' });
  expect(open?.warnings.join()).not.toMatch(/hosts/);
});

test("hosts that no request can have are told, with what was meant", async () => {
  const hosts = [
    "https://api.example/v1",
    "api.example/",
    "bücher.example",
    "a.example.",
    "*.ok.example:8443",
  ];
  const manifest = `\ufeff${JSON.stringify({ allowed_hosts: hosts })}`;
  const [member] = await bundle({ "a/servlet.json": manifest, "a/a.wat": lists("t") });
  const told = member?.warnings.filter((warning) => warning.startsWith("allowed_hosts"));
  expect(told).toEqual(
    ["api.example", "api.example", "xn--bcher-kva.example", "a.example"].map(
      (meant, index) =>
        `allowed_hosts has ${JSON.stringify(hosts[index])}, which no host fits: write "${meant}"`,
    ),
  );
});

describe("names of the server's own", () => {
  test("of a tool", async () => {
    await expect(bundle({ "a.wat": lists("get_result") })).rejects.toThrow(
      /a\.wat: the tool name get_result is the server's own: give the servlet a "prefix"/,
    );
    await rm(at("a.wat"));
    const files = { "b/b.wat": lists("get_result"), "b/servlet.json": '{"prefix":"b"}' };
    expect([...catalogOf(await bundle(files)).tools.keys()]).toEqual(["b-get_result"]);
  });

  test("of a toolkit", async () => {
    const files = { "a/a.wat": lists("t"), "a/servlet.json": '{"toolkit":"server"}' };
    await expect(bundle(files)).rejects.toThrow(/a: the toolkit server is the server's own/);
  });
});

describe("ids of Open Tool Calling", () => {
  const kit = (version: string, more = {}) => JSON.stringify({ toolkit: "kit", version, ...more });

  test.each(
    (
      [
        [
          { "a-b.wat": lists("t"), "a_b.wat": lists("u") },
          /a_b\.wat: its toolkit a_b and a-b of .*a-b\.wat both become a_b /,
        ],
        [
          { "a.wat": servlet('{"tools":[{"name":"t-u"},{"name":"t_u"}]}') },
          /a\.wat: its tool t_u and t-u of .*a\.wat both have the id a\.t_u@1\.0\.0/,
        ],
        [
          {
            "a/a.wat": lists("t"),
            "a/servlet.json": '{"tools":{"t":{"aliases":["u"]}}}',
            "b.wat": lists("u"),
          },
          /a: tools\.t\.aliases has u, which is a tool of b: leave it out/,
        ],
        [
          { "a/a.wat": lists("t"), "a/servlet.json": '{"tools":{"t":{"aliases":["call_tool"]}}}' },
          /a: tools\.t\.aliases has call_tool, which is a tool of the server itself: leave it out/,
        ],
        [
          {
            "a/a.wat": lists("t"),
            "a/servlet.json": '{"tools":{"t":{"aliases":["old"]}}}',
            "b/b.wat": lists("u"),
            "b/servlet.json": '{"tools":{"u":{"aliases":["old"]}}}',
          },
          /b: .*a also has old \(tools\): /,
        ],
        [
          {
            "a/a.wat": lists("t"),
            "a/servlet.json": kit("1.2.3", { prefix: "a" }),
            "b/b.wat": lists("t"),
            "b/servlet.json": kit("1.2.3"),
          },
          /b: its tool t and t of .*a both have the id kit\.t@1\.2\.3/,
        ],
      ] satisfies [Record<string, string>, RegExp][]
    ).map(([files, message]) => ({ files, message })),
  )("that clash: $message", async ({ files, message }) => {
    await expect(bundle(files)).rejects.toThrow(message);
  });

  test("of several versions, which may list the same", async () => {
    const members = await bundle({
      "a/a.wat": lists("t"),
      "a/servlet.json": kit("1.0.0"),
      "b/b.wat": lists("t"),
      "b/servlet.json": kit("2.0.0"),
    });
    expect(members.map(({ definitions }) => definitions?.["t"]?.id)).toEqual([
      "kit.t@1.0.0",
      "kit.t@2.0.0",
    ]);
    const { tools } = catalogOf(members);
    expect([...tools.values()].map(({ servlet: { name } }) => name)).toEqual(["b"]);
  });

  test("that a tool cannot have: it is left out, with a warning", async () => {
    const endless = ',"outputSchema":{"properties":{"t":{"$ref":"#"}}}';
    const [member] = await bundle({ "a.wat": lists("t", endless) });
    expect(member?.definitions).toEqual({});
    expect(member?.warnings.join()).toMatch(/t is left out of Open Tool Calling.*refers to itself/);
  });
});

test("a folder that is not there", async () => {
  await expect(makeOf(at("nope"))).rejects.toThrow(/nope: there is no such folder.*SERVLETS/);
});

test("a source that does not compile: the compiler's word, with file and line", async () => {
  const source = "export function list_tools(): i32 {\n  return nope;\n}\n";
  await expect(bundle({ "a/assembly/index.ts": source })).rejects.toThrow(
    /AssemblyScript did not compile it:[\s\S]*nope[\s\S]*index\.ts\(2,10\)/,
  );
  await rm(at("a"), { recursive: true });
  await expect(bundle({ "c/servlet.c": "int f(void) { return nope; }\n" })).rejects.toThrow(
    /clang did not compile it:[\s\S]*servlet\.c:1:\d+: error[\s\S]*nope/,
  );
});

test("all refusals are reported at once", async () => {
  const files = {
    "a/servlet.wat": "(module)",
    "b/servlet.json": "{",
    "b/servlet.wat": lists("b"),
    "c/servlet.wat": servlet("no JSON"),
    "d/servlet.ts": "export default 1 +;",
    "e/servlet.wat": lists("e"),
  };
  const message = await bundle(files).then(
    () => "",
    ({ message: text }: Error) => text,
  );
  expect(message).toMatch(/a\/servlet\.wat: it is not a servlet/);
  expect(message).toMatch(/b\/servlet\.json: it is not JSON/);
  expect(message).toMatch(/c: it could not be asked/);
  expect(message).toMatch(/d\/servlet\.ts/);
  expect(message).not.toMatch(/\/e[:/]/);
});

test("a bad manifest is told before the first slow step, and once more at the end", async () => {
  await mkdir(at("b"));
  await writeFile(at("b/servlet.json"), "{");
  await mkdir(at("c"));
  await writeFile(at("c/servlet.c"), "int f(void) { return nope; }\n");
  const told: string[] = [];
  const progress = (what: string) => told.push(what);
  const made = makeBundle({
    folders: [at("")],
    languages: LANGUAGES,
    cache: ".bundle",
    progress,
    optimise: false,
  });
  await expect(made).rejects.toThrow(/b\/servlet\.json: it is not JSON[\s\S]*c\/servlet\.c/);
  expect(told).toEqual([
    expect.stringContaining("b/servlet.json: it is not JSON"),
    "c: compiling C",
  ]);
});

test("a servlet that makes HTTP requests for its lists gets an error: there is no network then", async () => {
  const manifest = JSON.stringify({ allowed_hosts: ["localhost:8080"] });
  const wat = `(module
    (import "extism:host/env" "http_request" (func $http (param i64 i64) (result i64)))
    (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
    (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
    (memory 1)
    (data (i32.const 0) "{\\"url\\":\\"http://localhost:8080/\\"}")
    (func (export "list_tools") (result i32) (local $block i64) (local $i i32)
      (local.set $block (call $alloc (i64.const 32)))
      (loop $more
        (call $store (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))
          (i32.load8_u (local.get $i)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $more (i32.lt_u (local.get $i) (i32.const 32))))
      (drop (call $http (local.get $block) (i64.const 0)))
      (i32.const 0))
    (func (export "call_tool") (result i32) (i32.const 0)))`;
  const files = { "a/servlet.json": manifest, "a/servlet.wat": wat };
  await expect(bundle(files)).rejects.toThrow(/no network while a bundle is made.*"dynamic"/i);
});
