import { features } from "../../all-features.ts";
import { describe, expect, test, vi } from "vitest";
import type { Tool } from "../../../src/server/kernel/core/model.ts";
import { define, definitionOf, inlined } from "../../../src/server/features/otc/definitions.ts";
import { manifestSchema, type Manifest } from "../../../src/server/kernel/servlets/manifest.ts";
import { compareVersions, newest } from "../../../src/server/kernel/servlets/toolkit.ts";
import { bundle } from "../../bundle.gen.ts";
import { call, examplesAs, list, plainOf, type Json } from "./client.ts";
import { examples } from "./examples.ts";
import { wrongDefinition } from "./published.ts";

describe("the examples of the specification", () => {
  test.each(examples)("$definition.id", ({ definition, toolkit, tool, manifest }) => {
    expect(wrongDefinition(definition)).toEqual([]);
    const servlet = examplesAs(toolkit, [tool], manifest);
    expect(servlet.definitions).toEqual({ [tool]: definition });
  });
});

describe("GET /tools", () => {
  test("lists what is bundled, under both names", async () => {
    const { tools, items } = (await list()) as unknown as { tools: Json[]; items: Json[] };
    expect(items).toEqual(tools);
    const ids = tools.map(({ id }) => id);
    expect(ids).toContain("hello.greet@1.0.0");
    expect(ids).toContain("http_status.lookup_status@1.0.0");
    expect(new Set(ids).size).toBe(ids.length);
    for (const { id, name, version } of tools) {
      expect(id).toMatch(/^\w+\.\w+@\d+\.\d+\.\d+$/);
      expect(id.endsWith(`@${version}`)).toBe(true);
      expect(name).toMatch(/^\w{1,64}$/);
    }
  });

  test("has a counterpart of each example among the servlets that come with it", async () => {
    const { tools } = await list();
    const named = (name: string): Json => tools.find((one: Json) => one["name"] === name);
    expect(named("http_status_lookup_status")).toMatchObject({
      input_schema: { parameters: { required: ["code"] } },
      output_schema: { type: "object" },
    });
    expect(named("clock_wait")["output_schema"]).toBeNull();
    expect(named("http_status_list_statuses")["input_schema"]).toEqual({
      parameters: { type: "object", properties: {}, additionalProperties: false },
    });
    expect(named("mail_find_emails")["requirements"]).toEqual({
      authorization: [
        { id: "google", oauth2: { scopes: ["https://www.googleapis.com/auth/gmail.readonly"] } },
      ],
      user_id: true,
    });
    expect(named("translate_translate")["requirements"]).toEqual({
      secrets: [{ id: "DEEPL_API_KEY" }],
    });
  });

  test("refers to nothing, and describes every parameter", async () => {
    const { tools } = await list();
    for (const { input_schema, output_schema } of tools) {
      expect(JSON.stringify([input_schema, output_schema])).not.toMatch(/"\$(ref|defs)"/);
      for (const one of Object.values(input_schema.parameters.properties ?? {})) {
        expect((one as Json)["description"]).toMatch(/./);
      }
    }
  });

  test("instantiates nothing", async () => {
    const { Instance } = WebAssembly;
    let made = 0;
    WebAssembly.Instance = class extends Instance {
      constructor(...of: ConstructorParameters<typeof Instance>) {
        super(...of);
        made++;
      }
    };
    const servlets = bundle.servlets.filter(({ lists }) => lists !== undefined);
    const fresh = plainOf({ features, servlets }, { ISOLATION: "fresh" });
    const { tools } = await list(fresh);
    expect(tools.length).toBeGreaterThan(50);
    expect(made).toBe(0);
    await call("hello.greet", { name: "Ada" }, {}, fresh);
    expect(made).toBeGreaterThan(0);
    WebAssembly.Instance = Instance;
  });

  test("asks servlets whose lists depend on the world", async () => {
    const { tools } = await list();
    expect(tools.map(({ id }: Json) => id)).toContain("seasonal.pick_plums@1.0.0");
  });

  test("is empty where there is nothing", async () => {
    expect(await list(plainOf({ features, servlets: [] }))).toMatchObject({ tools: [], items: [] });
  });

  test("leaves out what cannot be told apart at run time, and says so", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const again = { ...bundle.servlets.find(({ name }) => name === "hello")!, name: "again" };
    const twice = examplesAs("hello", ["Add"], {});
    const { definitions: _, ...asked } = again;
    const servlets = [again, { ...asked, manifest: { toolkit: "hello" } }, twice];
    const { tools } = await list(plainOf({ features, servlets }));
    expect(tools.map(({ id }: Json) => id)).toEqual(["hello.greet@1.0.0", "hello.Add@1.0.0"]);
    expect(warn.mock.calls.join()).toContain("hello.greet@1.0.0 is hidden by that of again");
    warn.mockRestore();
  });
});

const toolOf = (more: object): Tool => ({ name: "t", inputSchema: { type: "object" }, ...more });
const defined = (more: object, manifest: Manifest = {}) =>
  definitionOf({ name: "a-b", manifest }, toolOf(more));

describe("a definition", () => {
  test("has what the servlet does not say", () => {
    expect(defined({ name: "do it!" })).toEqual({
      id: "a_b.do_it_@1.0.0",
      name: "a_b_do_it_",
      description: "do it!",
      version: "1.0.0",
      input_schema: { parameters: { type: "object" } },
      output_schema: {},
    });
    expect(defined({ title: "Do it", description: "" }).description).toBe("Do it");
  });

  test("is of the toolkit and the version that the manifest names", () => {
    const { id, version } = defined({}, { toolkit: "Kit", version: "2.10.0" });
    expect([id, version]).toEqual(["Kit.t@2.10.0", "2.10.0"]);
  });

  test("has a name of at most 64 characters", () => {
    expect(defined({ name: "x".repeat(100) }).name).toHaveLength(64);
  });

  test("describes parameters by their titles or names, where it must", () => {
    const properties = {
      a: { type: "string", description: "An a" },
      b: { type: "string", title: "A b" },
      c: { description: "" },
      d: true,
      e: false,
    };
    const inner = { anyOf: [{ properties: { f: {} } }, true] };
    const inputSchema = { type: "object", properties, ...inner };
    expect(defined({ inputSchema }).input_schema.parameters).toEqual({
      type: "object",
      properties: {
        a: { type: "string", description: "An a" },
        b: { type: "string", title: "A b", description: "A b" },
        c: { description: "c" },
        d: { description: "d" },
        e: { not: {}, description: "e" },
      },
      anyOf: [{ properties: { f: { description: "f" } } }, {}],
    });
  });

  test("needs what its tool needs, or else what its servlet does", () => {
    const manifest = {
      requirements: { secrets: [{ id: "A" }], authorization: [], user_id: false },
      tools: {
        own: { requirements: { authorization: [{ id: "B" }] } },
        none: { requirements: {} },
      },
    };
    const needs = (name: string) => defined({ name }, manifest).requirements;
    expect(needs("any")).toEqual({ secrets: [{ id: "A" }] });
    expect(needs("own")).toEqual({ authorization: [{ id: "B" }] });
    expect(needs("none")).toBeUndefined();
  });

  test("is not made of a tool whose schema is endless, with a warning", () => {
    const endless = toolOf({ outputSchema: { items: { $ref: "#" } } });
    const { definitions, warnings } = define(
      { name: "s", manifest: { skip_tools: ["skipped"] } },
      { tools: [endless, toolOf({ name: "skipped" }), toolOf({ name: "fine" })] },
    );
    expect(Object.keys(definitions)).toEqual(["fine"]);
    expect(warnings).toEqual([expect.stringMatching(/tool t is left out.*refers to itself \(#\)/)]);
  });
});

describe("inlining", () => {
  const $defs = {
    id: { type: "string" },
    "a/b": { enum: [1] },
    named: { $anchor: "here", minimum: 1 },
  };

  test.each<[object, object]>([
    [{ properties: { a: { $ref: "#/$defs/id" } } }, { properties: { a: { type: "string" } } }],
    [{ items: [{ $ref: "#/$defs/a~1b" }] }, { items: [{ enum: [1] }] }],
    [{ not: { $ref: "#/$defs/a%7E1b" } }, { not: { enum: [1] } }],
    [{ contains: { $ref: "#here" } }, { contains: { minimum: 1 } }],
    [{ $ref: "#/$defs/id", type: "string" }, { type: "string" }],
    [
      { properties: { a: { $ref: "#/$defs/id", description: "An id" } } },
      { properties: { a: { type: "string", description: "An id" } } },
    ],
    [
      { properties: { a: { $ref: "#/$defs/id", minLength: 2, allOf: [true] } } },
      { properties: { a: { minLength: 2, allOf: [true, { type: "string" }] } } },
    ],
    // Members that only resemble references.
    [
      { properties: { $ref: { const: { $ref: "#" } } } },
      { properties: { $ref: { const: { $ref: "#" } } } },
    ],
    [{ default: { $defs: 1 } }, { default: { $defs: 1 } }],
    [
      { $schema: "s", $id: "https://x.example/s", not: { $ref: "https://x.example/s#/$defs/id" } },
      { $schema: "s", not: { type: "string" } },
    ],
  ])("of %j", (schema, plain) => {
    expect(inlined({ ...schema, $defs })).toEqual(plain);
  });

  test.each([
    [{ not: { $ref: "#/$defs/none" } }, /none, which is not in it/],
    [{ not: { $ref: "https://else.example/" } }, /else.example.*is not in it/],
    [{ not: { $ref: "#" } }, /itself/],
    [
      {
        $defs: { a: { not: { $ref: "#/$defs/b" } }, b: { not: { $ref: "#/$defs/a" } } },
        $ref: "#/$defs/a",
      },
      /itself/,
    ],
    [doubling(20), /too large/],
  ])("cannot be of %j", (schema, why) => {
    expect(() => inlined({ ...schema })).toThrow(why);
  });
});

/** Each definition has the next one twice. */
function doubling(times: number): object {
  const $defs = Object.fromEntries(
    Array.from({ length: times }, (_, at) => {
      const next = at + 1 < times ? { $ref: `#/$defs/d${at + 1}` } : {};
      return [`d${at}`, { properties: { a: next, b: next } }];
    }),
  );
  return { $defs, $ref: "#/$defs/d0" };
}

test("versions are compared by number", () => {
  const sorted = ["10.0.0", "9.1.0", "9.0.10", "9.0.9", "1.0.0"];
  expect(sorted.toReversed().toSorted(compareVersions).toReversed()).toEqual(sorted);
});

test("the newest of each toolkit are those that share its newest version", () => {
  const one = (name: string, toolkit: string | undefined, version: string) => ({
    name,
    manifest: { ...(toolkit && { toolkit }), version },
  });
  const all = [
    one("a", undefined, "1.0.0"),
    one("a2", "a", "2.0.0"),
    one("a3", "a", "2.0.0"),
    one("b", undefined, "0.0.0"),
  ];
  expect(newest(all).map(({ name }) => name)).toEqual(["a2", "a3", "b"]);
});

test.each([
  { version: "1.0" },
  { version: "1.0.0-beta" },
  { version: "01.0.0" },
  { version: "1.0.0." },
  { toolkit: "a-b" },
  { toolkit: "" },
  { requirements: { secret: [] } },
  { requirements: { secrets: [{ id: "a" }, { id: "a" }] } },
  { requirements: { secrets: [{ id: "a" }], authorization: [{ id: "a" }] } },
  { requirements: { secrets: [{ id: "user_id" }] } },
  { requirements: { authorization: [{ id: "a", oauth2: { scope: "b" } }] } },
  { tools: { t: { output: {} } } },
])("a manifest may not have %j", (manifest) => {
  expect(manifestSchema().safeParse(manifest).success).toBe(false);
});
