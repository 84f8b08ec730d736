import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { inspect } from "../../../src/bundle/inspect.ts";
import { offered } from "../../../src/bundle/wasm/check.ts";
import { importTypes, kernelTypes, mismatch } from "../../../src/bundle/wasm/import-types.ts";
import type { Json } from "../../../src/model.ts";
import { catalogOf, makeBundle } from "../../../src/bundle/bundle.ts";

/** What the bundle step says of folders that it cannot make a bundle of. */
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "refusals-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function bundle(files: Record<string, string | Uint8Array>) {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  return makeBundle({ folders: [folder], cache: ".bundle/test-refusals", progress: () => {} });
}

/** A servlet that lists one tool of this name. */
const lists = (tool: string, more = "") => {
  const text = `{"tools":[{"name":"${tool}","inputSchema":{"type":"object"}${more}}]}`;
  return servlet(text);
};

const servlet = (text: string) => `(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (memory 1)
  (data (i32.const 0) "${text.replaceAll('"', '\\"')}")
  (func (export "list_tools") (result i32) (local $block i64) (local $i i32)
    (local.set $block (call $alloc (i64.const ${text.length})))
    (loop $more
      (call $store (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))
        (i32.load8_u (local.get $i)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $i) (i32.const ${text.length}))))
    (call $output (local.get $block) (i64.const ${text.length}))
    (i32.const 0))
  (func (export "call_tool") (result i32) (i32.const 0)))`;

/** An export is all that a plugin needs in order to be looked at. */
const plugin = (inside: string) =>
  `(module ${inside} (func (export "call_tool") (result i32) (i32.const 0)))`;

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
    ["a.wat", "(module)", /no servlet: it exports neither/],
    ["a.wat", '(module (func (export "call") (result i32) (i32.const 0)))', /no servlet/],
    ["a.wat", plugin('(import "env" "f" (func))'), /imports env\.f, which is not offered/],
    ["a.wat", plugin('(import "extism:host/env" "f" (func))'), /imports extism:host\/env\.f/],
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
    await expect(bundle({ "x/y.wasm": "no" })).rejects.toThrow(join(folder, "x/y.wasm"));
  });
});

describe("manifests", () => {
  test.each<[string, RegExp]>([
    ["{", /servlet\.json: it is not JSON/],
    ["[]", /servlet\.json/],
    ['{"allowed_host": []}', /allowed_host is unknown; did you mean allowed_hosts\?/],
    ['{"alowedHosts": []}', /did you mean allowed_hosts\?/],
    ['{"qwertyuiop": 1}', /qwertyuiop is unknown; known are/],
    ['{"memory_limit": "lots"}', /memory_limit.*64Mi/],
    ['{"skip_tools": ["("]}', /skip_tools.*regular expression/],
    ['{"dialect": "v3"}', /dialect/],
    ['{"prefix": "a b"}', /prefix/],
    ['{"env_vars": {"a": 1}}', /env_vars\.a/],
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

describe("lists", () => {
  test("two servlets with the same tool: both are named, and prefix is suggested", async () => {
    const both = { "a.wat": lists("same"), "b.wat": lists("same") };
    await expect(bundle(both)).rejects.toThrow(
      /b\.wat: .*a\.wat also has same \(tools\).*"prefix"/,
    );
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

  test.each<[string, RegExp]>([
    [plugin("(memory 1)").replace("call_tool", "list_tools"), /returned no output.*"dynamic"/],
    [servlet("{not json"), /not JSON/],
    [servlet('{"tools":7}'), /list of tools is not an array/],
    [servlet('{"tools":[{"description":"x"}]}'), /name of an entry of tools is not a string/],
    ['(module (func (export "list_tools") (result i32) unreachable))', /crashed/],
  ])("that cannot be had: %s", async (wat, message) => {
    await expect(bundle({ "a.wat": wat })).rejects.toThrow(message);
  });

  test("a servlet that never answers is stopped", { timeout: 60_000 }, async () => {
    const wat =
      '(module (func (export "list_tools") (result i32) (loop $l (br $l)) (i32.const 0)))';
    await expect(bundle({ "a.wat": wat })).rejects.toThrow(/computed for too long/);
  });

  test.each<[string, RegExp]>([
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
    [servlet('{"tools":[{"name":"a b","inputSchema":{}}]}'), /listed as a_b/],
    [servlet('{"tools":[]}'), /offers nothing/],
  ])("that are served with a warning: %s", async (wat, warning) => {
    const [member] = await bundle({ "a.wat": wat });
    expect(member?.warnings.join("\n")).toMatch(warning);
  });
});

describe("ids of Open Tool Calling", () => {
  const kit = (version: string, more = {}) => JSON.stringify({ toolkit: "kit", version, ...more });

  test.each<[Record<string, string>, RegExp]>([
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
        "a/servlet.json": kit("1.2.3", { prefix: "a" }),
        "b/b.wat": lists("t"),
        "b/servlet.json": kit("1.2.3"),
      },
      /b: its tool t and t of .*a both have the id kit\.t@1\.2\.3/,
    ],
  ])("that clash: %o", async (files, message) => {
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
  const options = {
    folders: [join(folder, "nope")],
    cache: ".bundle/test-refusals",
    progress: () => {},
  };
  await expect(makeBundle(options)).rejects.toThrow(/nope: there is no such folder.*SERVLETS/);
});

test("a source that does not compile: the compiler's word, with file and line", async () => {
  const source = "export function list_tools(): i32 {\n  return nope;\n}\n";
  await expect(bundle({ "a/assembly/index.ts": source })).rejects.toThrow(
    /AssemblyScript did not compile it:[\s\S]*nope[\s\S]*index\.ts\(2,10\)/,
  );
  await rm(join(folder, "a"), { recursive: true });
  await expect(bundle({ "c/servlet.c": "int f(void) { return nope; }\n" })).rejects.toThrow(
    /clang did not compile it:[\s\S]*servlet\.c:1:\d+: error[\s\S]*nope/,
  );
});

test("all refusals are told at once", async () => {
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
  expect(message).toMatch(/a\/servlet\.wat: it is no servlet/);
  expect(message).toMatch(/b\/servlet\.json: it is not JSON/);
  expect(message).toMatch(/c: it could not be asked/);
  expect(message).toMatch(/d\/servlet\.ts/);
  expect(message).not.toMatch(/\/e[:/]/);
});

test("a servlet that makes HTTP requests for its lists is told that there is no network then", async () => {
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

describe("what cannot be evaluated in linear time", () => {
  const inspected = (schema: object, uriTemplate = "x:y") =>
    inspect(
      {
        tools: [{ name: "t", inputSchema: { type: "object" }, outputSchema: schema as Json }],
        resourceTemplates: [{ name: "r", uriTemplate }],
        resources: [],
        prompts: [],
      },
      "plugins/a",
    );
  const withPattern = (pattern: string) => ({ properties: { a: { pattern } } });

  test.each<[string, object, RegExp]>([
    ["a backreference", withPattern("(a)\\1"), /`properties.a.pattern` has a backreference/],
    ["a named one", withPattern("(?<b>a)\\k<b>"), /`properties.a.pattern` has a backreference/],
    ["modifiers", withPattern("(?i:a)"), /`properties.a.pattern` has a group with modifiers/],
    ["the name of members", { patternProperties: { "(a)\\1": {} } }, /`patternProperties` has a/],
    ["a pattern that is too long", withPattern("a".repeat(5000)), /has more than 4000 characters/],
    ["deep groups", withPattern("(".repeat(200) + ")".repeat(200)), /nested more than 100 deep/],
    ["repetitions", withPattern("(a{1000}){1000}"), /needs more than 10000 states/],
  ])("is refused: %s", (_, schema, message) => {
    expect(() => inspected(schema)).toThrow(message);
    expect(() => inspected(schema)).toThrow(/^plugins\/a: the outputSchema of t cannot be checked/);
  });

  test("is refused: a template that is too long", () => {
    expect(() => inspected({}, `x:${"y".repeat(3000)}`)).toThrow(
      /^plugins\/a: the resource template x:y.*more than 2000 characters/,
    );
  });

  test("is refused: a backreference in a manifest", async () => {
    const files = { "a/a.wat": lists("t"), "a/servlet.json": '{"skip_tools":["(a)\\\\1"]}' };
    await expect(bundle(files)).rejects.toThrow(/skip_tools\.0: has a backreference/);
  });

  test("is not the pattern with lookahead that zod writes for an e-mail address", () => {
    const schema = z.toJSONSchema(z.object({ a: z.email(), b: z.iso.datetime(), c: z.ipv6() }));
    expect(inspected(schema)).toMatchObject({
      warnings: [],
      lists: { tools: [{ outputSchema: schema }] },
    });
  });
});

describe("imports of another type than the host's", () => {
  test.each([
    [
      "(param i32) (result i32)",
      "extism:host/user",
      "create_message",
      "(i32) -> (i32)",
      "(i64) -> (i64)",
    ],
    ["(result i64)", "extism:host/env", "config_get", "() -> (i64)", "(i64) -> (i64)"],
    ["(param i64) (result i32)", "extism:host/env", "alloc", "(i64) -> (i32)", "(i64) -> (i64)"],
    ["(param i64) (result i64)", "extism:host/env", "log_info", "(i64) -> (i64)", "(i64) -> ()"],
    ["(param f64)", "wasi_snapshot_preview1", "proc_exit", "(f64) -> ()", "(i32) -> ()"],
    [
      "(param i32 i32 i32 i32 f32)",
      "env",
      "abort",
      "(i32, i32, i32, i32, f32) -> ()",
      "(i32, i32, i32, i32) -> ()",
    ],
  ])("%s", async (type, module, name, found, expected) => {
    const source = plugin(`(import "${module}" "${name}" (func ${type}))`);
    await expect(bundle({ "a.wat": source })).rejects.toThrow(
      `it imports ${module}.${name} as a function ${found}, and here it is ${expected}`,
    );
  });

  test("what a function does not take, or the plugin does not want, makes no other", () => {
    for (const found of ["7e->7e", "7e->", "7e,7e->7e"])
      expect(mismatch("l->l", found)).toBeUndefined();
    for (const found of ["->7e", "7e->7f", "7f->7e"]) expect(mismatch("l->l", found)).toBeDefined();
  });

  test("there is a type for each function that is offered", async () => {
    for (const [namespace, functions] of Object.entries(offered)) {
      expect(Object.keys(importTypes[namespace]!).toSorted()).toEqual(
        Object.keys(functions).toSorted(),
      );
    }
    expect((await kernelTypes("src/bundle/wasm/kernel.wat")).get("store_u8")).toBe("li->");
  });
});
