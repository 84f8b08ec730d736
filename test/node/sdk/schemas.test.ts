import { beforeAll, describe, expect, test } from "vitest";
import { loadServlet, type ServletUnderTest } from "../../../src/tools/testing/index.ts";

/** The input schema of a tool whose handler has no parameters. */
const NO_ARGUMENTS = { type: "object", properties: {}, additionalProperties: false };

/**
 * Schemas are listed, and they check and complete input and output. That handlers
 * get the types of their schemas is checked where the servlets are loaded: each has a
 * `@ts-expect-error` or two.
 */
const text = (value: string) => ({ type: "text", text: value });
const refused = (message: string) => ({ content: [text(message)], isError: true });

describe.each([
  ["schemas-mini", 'x: Invalid input: expected "number"'],
  ["schemas-zod", "x: Invalid input: expected number, received string"],
])("%s", (name, mismatch) => {
  let servlet: ServletUnderTest;
  beforeAll(async () => {
    servlet = await loadServlet(`test/node/sdk/servlets/${name}`);
  });

  const said = async (tool: string, args: Record<string, unknown>) => {
    const { result } = await servlet.callTool(tool, args);
    expect(result.isError).toBeUndefined();
    const [block] = result.content;
    return block?.type === "text" ? block.text : block;
  };

  test("schemas are listed as JSON Schemas: input as it is sent, output as it is given", async () => {
    const { tools } = await servlet.list();
    const schemas = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
    expect(schemas["parse"]).toEqual({
      name: "parse",
      inputSchema: {
        type: "object",
        properties: {
          name: { type: "string", minLength: 1, description: "Whose" },
          size: { type: "string", enum: ["s", "m"], default: "m" },
          length: { type: "string" },
          deep: {
            type: "object",
            properties: {
              counts: {
                type: "array",
                items: { type: "integer" },
              },
            },
            required: ["counts"],
          },
        },
        required: ["name"],
      },
    });
    expect(schemas["give"]).toEqual({
      name: "give",
      inputSchema: NO_ARGUMENTS,
      outputSchema: {
        type: "object",
        properties: { x: { type: "number" }, unit: { type: "string", default: "m" } },
        required: ["x", "unit"],
        additionalProperties: false,
      },
    });
  });

  test("arguments get their defaults and are transformed", async () => {
    expect(await said("parse", { name: "Ada" })).toBe('["Ada","m",null,null,"undefined"]');
    const all = { name: "Ada", size: "s", length: "four", deep: { counts: [1] } };
    expect(await said("parse", all)).toBe('["Ada","s",4,[1],"number"]');
  });

  test("arguments that JSON Schema lets pass are refused by the schema itself", async () => {
    const { result, logs } = await servlet.callTool("refine", {
      list: [{ n: 2 }, { n: 3 }, { n: 5 }],
    });
    expect(result).toEqual(
      refused('The arguments of "refine" are not valid: list.1.n: is odd; list.2.n: is odd'),
    );
    expect(logs).toEqual([]);
    expect(await said("refine", { list: [{ n: 2 }] })).toBe("even");
  });

  test("values that a schema transforms are checked after the transformation", async () => {
    const { tools } = await servlet.list();
    const { properties, required } = tools.find((tool) => tool.name === "change")!.inputSchema;
    expect(properties).toMatchObject({ count: { type: "number" }, size: { default: 5 } });
    expect(JSON.stringify(properties)).not.toContain("x-");
    expect(required).toEqual(["count", "list"]);
    expect(await said("change", { count: "5", list: "[1,2]", deep: { isOn: 1 } })).toBe(
      '{"count":5,"list":[1,2],"size":5,"word":"none","deep":{"isOn":true}}',
    );
    expect(await said("change", { count: 5, list: [1], size: "many", word: "w" })).toBe(
      '{"count":5,"list":[1],"size":5,"word":"w"}',
    );
    const { result } = await servlet.callTool("change", { count: "five", list: [1] });
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("count: ") }],
    });
  });

  test("arguments may be a discriminated union", async () => {
    const { tools } = await servlet.list();
    const { type, oneOf } = tools.find((tool) => tool.name === "choose")!.inputSchema;
    expect([type, oneOf]).toEqual(["object", [expect.anything(), expect.anything()]]);
    expect(await said("choose", { kind: "circle", radius: 2 })).toBe("r2");
    expect(await said("choose", { kind: "cube", side: 3 })).toBe("cube3");
  });

  test("inherited members of objects are not arguments", async () => {
    expect(await said("inherit", { deep: {} })).toBe('{"deep":{}}');
    expect(await said("inherit", { constructor: "a", deep: { valueOf: 1 } })).toBe(
      '{"constructor":"a","deep":{"valueOf":1}}',
    );
    const { result } = await servlet.callTool("inherit", { deep: { valueOf: 1.5 } });
    expect(result.isError).toBe(true);
  });

  test("a schema may be asynchronous", async () => {
    expect(await said("refine_async", { kind: "good" })).toBe("good");
    const { result } = await servlet.callTool("refine_async", { kind: "bad" });
    expect(result).toEqual(refused('The arguments of "refine_async" are not valid: kind: is bad'));
  });

  test("structured content gets its defaults, and loses what the schema does not know", async () => {
    const { result } = await servlet.callTool("give");
    expect(result).toEqual({
      content: [text('{"x":1,"unit":"m"}')],
      structuredContent: { x: 1, unit: "m" },
    });
  });

  test("structured content that does not fit is an error for the model", async () => {
    const { result } = await servlet.callTool("give_bad");
    const message = `The tool "give_bad" returned a value that does not match its output schema: ${mismatch}`;
    expect(result).toEqual(refused(message));
  });

  test("a whole result is checked, and keeps its own content", async () => {
    const { result } = await servlet.callTool("give_both");
    expect(result).toEqual({ content: [text("own")], structuredContent: { x: 3 } });
  });

  test("an error needs no structured content", async () => {
    const { result } = await servlet.callTool("give_error");
    expect(result).toEqual(refused("no"));
  });
});

describe("schemas-raw", () => {
  let servlet: ServletUnderTest;
  beforeAll(async () => {
    servlet = await loadServlet("test/node/sdk/servlets/schemas-raw");
  });

  test("a tool is listed with all that it has, its schemas as they are", async () => {
    const { tools } = await servlet.list();
    expect(tools[0]).toEqual({
      name: "described",
      title: "Described",
      description: "Has all that a tool may have",
      annotations: { readOnlyHint: true, idempotentHint: true },
      icons: [{ src: "https://example.com/icon.png", sizes: ["48x48"] }],
      _meta: { "example.com/a": 1 },
      inputSchema: NO_ARGUMENTS,
    });
    expect(tools.find(({ name }) => name === "give")).toEqual({
      name: "give",
      inputSchema: NO_ARGUMENTS,
      outputSchema: { type: "object", properties: { x: { type: "number" } }, required: ["x"] },
    });
  });

  test.each<[args: Record<string, unknown>, result: object]>([
    [{ name: "a" }, { content: [text('["a",null,null,null,null]')] }],
    [
      { name: "a", size: "s", counts: [4], at: { x: 1, y: null } },
      { content: [text('["a","s",4,1,null]')] },
    ],
    [{ name: "" }, { isError: true }],
    [{ name: "a", at: {} }, { isError: true }],
  ])("%j", async (args, result) => {
    expect((await servlet.callTool("take", args)).result).toMatchObject(result);
  });

  test("structured content is checked by the host", async () => {
    expect((await servlet.callTool("give")).result).toEqual({
      content: [text('{"x":3}')],
      structuredContent: { x: 3 },
    });
    await expect(servlet.callTool("give_bad")).rejects.toMatchObject({
      code: "servlet_failed",
      message: expect.stringContaining("does not fit the outputSchema of give_bad: `x` must be"),
    });
  });

  test("a tool whose handler takes arguments, but that has no input schema, takes any", async () => {
    const { result } = await servlet.callTool("anything", { a: [1], b: null });
    expect(result.structuredContent).toEqual({ given: { a: [1], b: null } });
  });
});
