import { beforeAll, describe, expect, test } from "vitest";
import { loadServlet, type ServletUnderTest } from "../../../src/tools/testing/index.ts";

/** Tool results from the values that handlers return or throw. */
let servlet: ServletUnderTest;
beforeAll(async () => {
  servlet = await loadServlet("test/node/sdk/servlets/results");
});

const text = (value: string) => ({ type: "text", text: value });
const structured = (value: unknown) => ({
  content: [text(JSON.stringify(value))],
  structuredContent: value,
});
const image = { type: "image", data: "AQID", mimeType: "image/png" };

test.each<[tool: string, result: object]>([
  ["text", { content: [text("hi")] }],
  ["empty_text", { content: [text("")] }],
  ["null", { content: [] }],
  ["number", { content: [text("42")] }],
  ["boolean", { content: [text("false")] }],
  ["block", { content: [image] }],
  [
    "blocks",
    {
      content: [
        text("a"),
        { ...text("b"), annotations: { audience: ["user"], priority: 1 } },
        { type: "resource", resource: { uri: "x:y", blob: "/w==" } },
        { type: "resource_link", uri: "x:z", name: "z", size: 3 },
        { type: "audio", data: "AAAA", mimeType: "audio/wav" },
      ],
    },
  ],
  ["no_blocks", { content: [] }],
  ["view", { content: [image] }],
  ["object", structured({ a: 1, b: [true, null] })],
  ["content_object", { content: [text("x"), image], _meta: { a: 1 } }],
  ["content_texts", { content: [text("a"), image] }],
  ["structured_alone", { ...structured({ a: 1 }), _meta: { b: 2 } }],
  ["structured_null", structured([1])],
  ["error_alone", { content: [], isError: true }],
  ["error_null", { content: [], isError: true, _meta: { a: 1 } }],
  ["content_null", { content: [] }],
  ["left_out", structured({ b: 1 })],
  ["own_structured", structured({ structuredContent: 1, total: 1 })],
  ["halves", structured({ "a\ufffd": ["\ufffdb", "\\ud83d", "😀"] })],
  ["failed", { content: [text("no")], isError: true }],
  // Values that only resemble content blocks become structured content.
  ["rows", structured([{ a: 1 }, { a: 2 }])],
  ["numbers", structured([1, 2])],
  ["own_content", structured({ content: [1], total: 1 })],
  ["own_type", structured({ type: "text", body: "b" })],
  ["date", { content: [text('"1970-01-01T00:00:00.000Z"')] }],
  ["thenable", { content: [text("thenable")] }],
  // A Map becomes an object, a Set an array, a Date its ISO text.
  ["map", structured({ a: { 1: [{ b: "1970-01-01T00:00:00.000Z" }] } })],
  ["set", structured([1, { c: ["x", null] }])],
  ["set_of_texts", { content: [text("a"), text("b")] }],
  ["own_json", structured({ error: { why: "own" }, url: "https://a.example/", none: [null] })],
  ["structured_map", { content: [text("x")], structuredContent: { rows: { a: 1 } } }],
  ["output_map", structured({ a: { b: [1] } })],
])("%s is returned", async (tool, result) => {
  expect(await servlet.callTool(tool)).toEqual({ result, notifications: [], asked: [], logs: [] });
});

test("nothing is no content, and the log has that it was forgotten", async () => {
  const { result, logs } = await servlet.callTool("nothing");
  expect({ result, logs }).toEqual({
    result: { content: [] },
    logs: ['warn: The tool "nothing" returned nothing. Return null, if there is nothing to say.'],
  });
});

describe("a thrown error goes to the model, and with its stack to the log", () => {
  test.each<[tool: string, told: string, log: string]>([
    [
      "rejects",
      "too far",
      "error: Uncaught RangeError: too far\n    at handler (test/node/sdk/servlets/",
    ],
    [
      "throws_for_memory",
      "out of memory. Pass it less at once, or raise the servlet's memory_limit in its manifest.",
      "error: Uncaught InternalError: out of memory",
    ],
    ["throws_text", "just text", "error: Uncaught just text"],
    [
      "throws_nameless",
      "TypeError",
      "error: Uncaught TypeError\n    at handler (test/node/sdk/servlets/",
    ],
    ["throws_object", '{"code":7}', 'error: Uncaught {"code":7}'],
    [
      "throws_later",
      '{"message":"no","details":null}',
      'error: Uncaught {"message":"no","details":null}',
    ],
    ["throws_array", '["a",{"b":1}]', 'error: Uncaught ["a",{"b":1}]'],
    ["throws_map", 'Map(1) { "a" => 1n }', 'error: Uncaught Map(1) { "a" => 1n }'],
    ["throws_cycle", "{ again: [Circular] }", "error: Uncaught { again: [Circular] }"],
    ["throws_own_text", "own text", "error: Uncaught own text"],
    ["throws_undefined", "undefined", "error: Uncaught undefined"],
    ["throws_several", "all failed: first; second", "error: Uncaught AggregateError: all failed"],
    ["throws_cause", "outer", "[cause]: Error: inner"],
    [
      "throws_pattern",
      "too many captures. A pattern has at most 254 groups here, each of those with the same name too: write (?:…) where a group is not read.",
      "error: Uncaught SyntaxError: too many captures",
    ],
  ])("%s", async (tool, told, log) => {
    const { result, logs } = await servlet.callTool(tool);
    expect(result).toEqual({ content: [text(told)], isError: true });
    expect(logs).toEqual([expect.stringContaining(log)]);
  });
});

test("a ToolError reaches the model alone", async () => {
  const { result, logs } = await servlet.callTool("tool_error");
  expect(result).toEqual({ content: [text("give a city")], isError: true });
  expect(logs).toEqual([]);
});

describe("an error about a value that is not JSON names its place", () => {
  const KINDS = 'A block of content needs a "type": text, image, audio, resource, resource_link; ';

  test.each<[tool: string, told: string]>([
    ["deep_bigint", "is not JSON: rows.0.id is a BigInt; make it a Number or a string."],
    ["deep_cycle", "is not JSON: me.again contains itself: a cycle."],
    ["bigint", "is not JSON: it is a BigInt; make it a Number or a string."],
    ["function", "is not JSON: it is a function."],
    ["error", "is not JSON: last is a RangeError; give its message."],
    ["own_error", "is not JSON: it is an Error; give its message, or throw it."],
    ["error_with_members", "is not JSON: e is an Error; give its message."],
    ["bytes", "is not JSON: file.data is a Uint8Array; make it base64 by toBase64(), or an array."],
    ["own_bytes", "is not JSON: it is a Float32Array; make it an array: [...it]."],
    [
      "buffer",
      "is not JSON: it is an ArrayBuffer; make it a Uint8Array and that base64 by toBase64().",
    ],
    ["nan", "is not JSON: rows.1.mean is NaN; make it null or a text."],
    ["infinity", "is not JSON: it is -Infinity; make it null or a text."],
    ["array_function", "is not JSON: rows.1 is a function; leave it out."],
    ["array_symbol", "is not JSON: 0 is a symbol; leave it out."],
    ["symbol", "is not JSON: it is a symbol."],
    ["invalid_date", "is not JSON: at is a Date that is not valid; make it null or a text."],
    ["forgotten_await", "is not JSON: price is a Promise; await it."],
    ["iterator", "is not JSON: keys is an iterator; make it an array: [...it]."],
    ["headers", "is not JSON: headers is a Headers; make it an object: Object.fromEntries(it)."],
    ["pattern", "is not JSON: re is a RegExp; make it a text."],
    [
      "weak",
      "is not JSON: seen is a WeakMap, of which JSON would have nothing; give a plain object.",
    ],
    [
      "map_of_objects",
      "is not JSON: byUser is a Map whose keys are not all different texts or numbers; make it an array: [...it].",
    ],
    ["map_in_map", "is not JSON: m.a.0.x is NaN; make it null or a text."],
    ["map_cycle", "is not JSON: m.self contains itself: a cycle."],
    ["structured_set", "is not JSON: structuredContent.tags.0 is NaN; make it null or a text."],
    ["output_nan", "is not JSON: n is NaN; make it null or a text."],
  ])("%s", async (tool, told) => {
    const { result } = await servlet.callTool(tool);
    const whole = `The return value of the tool "${tool}" ${told}`;
    expect(result).toEqual({ content: [text(whole)], isError: true });
  });

  test.each<[tool: string, told: string]>([
    ["bad_block", "this is an object with kind."],
    ["no_block", "this is 7."],
  ])("%s", async (tool, told) => {
    const { result } = await servlet.callTool(tool);
    expect(result).toEqual({ content: [text(KINDS + told)], isError: true });
  });
});

test("a resource and a prompt refuse it too", async () => {
  await expect(servlet.readResource("lossy:resource")).rejects.toThrow(
    "The return value of the resource lossy:resource is not JSON: contents.0._meta.at is NaN; make it null or a text.",
  );
  await expect(servlet.getPrompt("lossy")).rejects.toThrow(
    'The return value of the prompt "lossy" is not JSON: _meta.e is a TypeError; give its message.',
  );
});

test("a log message and the data of an RpcError lose nothing", async () => {
  const { notifications } = await servlet.callTool("logs_error");
  expect(notifications).toMatchObject([
    { params: { level: "error", data: expect.stringMatching(/^Error: seen\n +at/) } },
    { params: { level: "info", data: { a: [1] } } },
    { params: { level: "info", data: "{ n: NaN, e: [] }" } },
  ]);
  await expect(servlet.callTool("rpc_map")).rejects.toMatchObject({ data: { a: 1 } });
  await expect(servlet.callTool("rpc_big")).rejects.toMatchObject({ data: "{ id: 1n }" });
});

test("JSON.stringify is that of the language outside of results", async () => {
  const { result } = await servlet.callTool("own_stringify");
  expect(result.content).toEqual([text('{"m":{},"n":null,"u":{"0":1}} undefined')]);
});

describe("an RpcError is the answer itself", () => {
  test.each<[code: number, fault: object]>([
    [123, { code: "servlet_error", ownCode: 123 }],
    [-32602, { code: "servlet_error", ownCode: -32602 }],
    [-32002, { code: "not_found" }],
    // The specification keeps these for itself.
    [-32042, { code: "servlet_error", ownCode: -32603 }],
  ])("%i", async (code, fault) => {
    const called = servlet.callTool("rpc", { code });
    await expect(called).rejects.toMatchObject({ ...fault, message: "chosen", data: { why: 1 } });
  });

  test("from a promise, without data", async () => {
    const called = servlet.callTool("rpc_later");
    await expect(called).rejects.toMatchObject({ ownCode: 7, message: "later" });
    await expect(called).rejects.toHaveProperty("data", undefined);
  });
});
