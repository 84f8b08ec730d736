import { beforeAll, describe, expect, test } from "vitest";
import { loadServlet, type ServletUnderTest } from "../../../src/testing/index.ts";

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
  ["failed", { content: [text("no")], isError: true }],
  // Values that only resemble content blocks become structured content.
  ["rows", structured([{ a: 1 }, { a: 2 }])],
  ["numbers", structured([1, 2])],
  ["own_content", structured({ content: [1], total: 1 })],
  ["own_type", structured({ type: "text", body: "b" })],
  ["date", { content: [text('"1970-01-01T00:00:00.000Z"')] }],
  ["thenable", { content: [text("thenable")] }],
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
    ["rejects", "too far", "error: RangeError: too far\n    at handler (test/node/sdk/servlets/"],
    ["throws_text", "just text", "error: just text"],
    ["throws_nameless", "TypeError", "error: TypeError\n    at handler (test/node/sdk/servlets/"],
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

describe("an RpcError is the answer itself", () => {
  test.each<[code: number, fault: object]>([
    [123, { code: "servlet_error", servletCode: 123 }],
    [-32602, { code: "servlet_error", servletCode: -32602 }],
    [-32002, { code: "not_found" }],
    // The specification keeps these for itself.
    [-32042, { code: "servlet_error", servletCode: -32603 }],
  ])("%i", async (code, fault) => {
    const called = servlet.callTool("rpc", { code });
    await expect(called).rejects.toMatchObject({ ...fault, message: "chosen", data: { why: 1 } });
  });

  test("from a promise, without data", async () => {
    const called = servlet.callTool("rpc_later");
    await expect(called).rejects.toMatchObject({ servletCode: 7, message: "later" });
    await expect(called).rejects.toHaveProperty("data", undefined);
  });
});
