import { beforeAll, describe, expect, test } from "vitest";
import { loadServlet, type ServletUnderTest } from "../../../src/tools/testing/index.ts";

/** Results of tools, by the types of their functions and by what they return. */
let servlet: ServletUnderTest;
beforeAll(async () => {
  servlet = await loadServlet("test/node/python/servlets/results");
});

const text = (value: string) => ({ type: "text" as const, text: value });
const ORDER = {
  type: "object",
  properties: {
    size: { type: "string", enum: ["small", "large"] },
    count: { type: "integer", default: 1 },
  },
  required: ["size", "count"],
};
const MOVIE = {
  type: "object",
  properties: { name: { type: "string" }, year: { type: "integer" } },
  required: ["name", "year"],
};
const wrapped = (result: object) => ({
  type: "object",
  properties: { result },
  required: ["result"],
});

test.each<[tool: string, schema: object | undefined]>([
  ["text", undefined],
  ["nothing", undefined],
  ["picture", undefined],
  ["blocks", undefined],
  ["raw", undefined],
  ["whole", undefined],
  ["bare_list", undefined],
  ["any_list", undefined],
  ["sequence", undefined],
  ["maybe_list", undefined],
  ["or_picture", { type: "object", properties: ORDER.properties }],
  ["number_or_pictures", { type: "object", properties: { result: { type: "integer" } } }],
  ["text_or_picture", undefined],
  ["contents_or_none", undefined],
  ["generates", undefined],
  ["yields_blocks", undefined],
  ["untyped_text", undefined],
  ["order", ORDER],
  ["either", ORDER],
  ["movie", MOVIE],
  ["counts", { type: "object", properties: {}, additionalProperties: { type: "integer" } }],
  ["number", wrapped({ type: "integer" })],
  ["choice", wrapped({ type: "string", enum: ["red"] })],
  ["movies", wrapped({ type: "array", items: MOVIE })],
  ["maybe", wrapped({ anyOf: [ORDER, { type: "null" }] })],
  ["yields", wrapped({ type: "array", items: { type: "string" } })],
  [
    "square",
    {
      type: "object",
      properties: { side: { type: "integer" }, area: { type: "integer" } },
      required: ["side", "area"],
    },
  ],
])("the output schema of %s follows from its type", async (name, schema) => {
  const { tools } = await servlet.list();
  expect(tools.find((tool) => tool.name === name)?.outputSchema).toEqual(schema);
});

describe("a typed value is structured content, and text", () => {
  test.each<[tool: string, args: Record<string, unknown>, structured: unknown, said?: string]>([
    ["order", {}, { size: "small", count: 1 }],
    ["either", { ok: true }, { size: "small", count: 1 }],
    ["movie", {}, { name: "Dune", year: 2021 }],
    ["counts", {}, { a: 1 }],
    ["number", {}, { result: 4 }, "4"],
    ["truth", {}, { result: true }, "true"],
    ["numbers", {}, { result: [1, "a"] }, '[1,"a"]'],
    ["yields", {}, { result: ["a", "b"] }, '["a","b"]'],
    ["keys", {}, { "2026-01-02": { red: { "00000000-0000-0000-0000-000000000001": 1 } } }],
    ["subclass", {}, { size: "small", count: 1, extra: "cream" }],
    ["square", {}, { side: 3, area: 9 }],
    ["choice", {}, { result: "red" }, '"red"'],
    ["movies", {}, { result: [{ name: "Dune", year: 2021 }] }, '[{"name":"Dune","year":2021}]'],
    ["maybe", { there: false }, { result: null }, "null"],
    [
      "maybe",
      { there: true },
      { result: { size: "large", count: 1 } },
      '{"size":"large","count":1}',
    ],
    [
      "everything",
      {},
      {
        when: "2026-01-02T00:00:00+00:00",
        day: "2026-01-02",
        long: "P1DT0H1M30.5S",
        price: "1.10",
        id: "00000000-0000-0000-0000-000000000001",
        path: "/a",
        raw: "aGk=",
        colours: ["red"],
        point: [1, 2],
        movie: { name: "Dune", year: 2021 },
        orders: [{ size: "small", count: 1 }],
      },
    ],
  ])("%s %j", async (tool, args, structuredContent, said = JSON.stringify(structuredContent)) => {
    const { result } = await servlet.callTool(tool, args);
    expect(result).toEqual({ content: [text(said)], structuredContent });
  });
});

const png = { type: "image", data: "iVBORw==", mimeType: "image/png" };

describe("content is content", () => {
  test.each<[tool: string, args: Record<string, unknown>, result: object]>([
    ["text", {}, { content: [text("é")] }],
    ["nothing", {}, { content: [] }],
    ["picture", {}, { content: [png] }],
    [
      "blocks",
      {},
      {
        content: [
          text("one"),
          { ...text("two"), annotations: { priority: 0.5 } },
          { ...png, mimeType: "image/jpeg" },
        ],
      },
    ],
    ["bare_list", {}, { content: [text("Here:"), png, text('{"a":1}')] }],
    ["any_list", {}, { content: [png] }],
    ["sequence", {}, { content: [png] }],
    ["maybe_list", {}, { content: [png] }],
    // The host repeats what is structured as text.
    ["or_picture", {}, { content: [png, text("{}")], structuredContent: {} }],
    [
      "number_or_pictures",
      { there: false },
      { content: [text("4")], structuredContent: { result: 4 } },
    ],
    ["number_or_pictures", { there: true }, { content: [png, text("{}")], structuredContent: {} }],
    ["text_or_picture", {}, { content: [text("sold out")] }],
    [
      "contents_or_none",
      {},
      { content: [text('[{"text":"a"}]')], structuredContent: [{ text: "a" }] },
    ],
    ["generates", {}, { content: [png] }],
    ["yields_blocks", {}, { content: [text("Here:"), png] }],
    [
      "media",
      {},
      {
        content: [
          { type: "audio", data: "YQ==", mimeType: "audio/mpeg" },
          {
            type: "resource",
            resource: { uri: "file:///a.csv", mimeType: "text/csv", text: "a,b" },
          },
          {
            type: "resource",
            resource: { uri: "file:///file.pdf", mimeType: "application/pdf", blob: "eA==" },
          },
          { type: "resource_link", uri: "note://a", name: "a", title: "A", size: 3 },
          {
            type: "resource",
            resource: { uri: "note://b", mimeType: "text/plain", text: "b" },
          },
        ],
      },
    ],
    [
      "raw",
      {},
      {
        content: [
          {
            type: "resource",
            resource: { uri: "file:///file", mimeType: "application/octet-stream", blob: "aGk=" },
          },
        ],
      },
    ],
    ["whole", {}, { content: [text("A text")], structuredContent: { a: 1 }, _meta: { m: 1 } }],
    ["structured", {}, { content: [text('{"a":1}')], structuredContent: { a: 1 } }],
    ["failed", {}, { content: [text("No")], isError: true }],
    ["either", { ok: false }, { content: [text("sold out")], isError: true }],
  ])("%s %j", async (tool, args, result) => {
    expect((await servlet.callTool(tool, args)).result).toEqual(result);
  });
});

describe("a value without a type is a result by what it is", () => {
  test.each<[tool: string, result: object]>([
    ["text", { content: [text("a")] }],
    ["none", { content: [] }],
    ["number", { content: [text("1.5")] }],
    ["dict", { content: [text('{"a":[1,null]}')], structuredContent: { a: [1, null] } }],
    ["list", { content: [text("[1,2]")], structuredContent: [1, 2] }],
    ["texts", { content: [text("a"), text("b")] }],
    ["blocks", { content: [text("a"), text("b")] }],
    [
      "order",
      {
        content: [text('{"size":"small","count":1}')],
        structuredContent: { size: "small", count: 1 },
      },
    ],
    ["date", { content: [text("2026-01-02")] }],
    ["deque", { content: [text("[1]")], structuredContent: [1] }],
    ["range", { content: [text("[0,1]")], structuredContent: [0, 1] }],
    ["items", { content: [text('[["a",1]]')], structuredContent: [["a", 1]] }],
    ["contents", { content: [{ type: "resource", resource: { uri: "note://a", text: "a" } }] }],
    ["no_uri", { content: [text('[{"text":"a"}]')], structuredContent: [{ text: "a" }] }],
    ["one_no_uri", { content: [text('{"text":"a"}')], structuredContent: { text: "a" } }],
    ["mixed_no_uri", { content: [text("b"), text('{"text":"a"}')] }],
    ["surrogate", { content: [text("a?")] }],
  ])("%s", async (tool, result) => {
    expect((await servlet.callTool(`untyped_${tool}`)).result).toEqual(result);
  });
});

describe("what JSON would lose is an error that names the place", () => {
  test.each<[tool: string, why: string]>([
    [
      "nan",
      "Out of range float values are not JSON compliant: nan, when serializing list item 1, when serializing dict item 'a'",
    ],
    [
      "object",
      "an object is no JSON: give a dict, a dataclass or a text, when serializing dict item 'a'",
    ],
    ["generator", "a generator is no JSON: make it a list"],
    ["tuple_key", "a tuple cannot be a key of JSON: give a text"],
    ["object_key", "an object cannot be a key of JSON: give a text"],
    ["same_keys", 'two keys become "2026-01-02" in JSON: give texts that differ'],
    ["cycle", "Circular reference detected"],
  ])("%s", async (tool, why) => {
    const { result } = await servlet.callTool(`untyped_${tool}`);
    const [block] = result.content;
    expect(result.isError).toBe(true);
    expect(block?.type === "text" && block.text).toContain(
      `The return value of the tool "untyped_${tool}" is not JSON: ${why}`,
    );
  });
});
