import { CallToolResultSchema } from "@modelcontextprotocol/core";
import { describe, expect, test } from "vitest";
import { dialectOf } from "../../../src/server/kernel/servlets/dialects.ts";
import { answerOf, ask, callTool, modern, post, type Answer } from "../server.ts";

test.each([
  [["call_tool"], "hyper-v2"],
  [["list_tools", "call", "describe"], "hyper-v2"],
  [["call", "describe"], "hyper-v1"],
  [["call", "describe", "list_resources"], "mcp-run"],
  [["call"], undefined],
  [["describe"], undefined],
  [[], undefined],
])("a plugin with %j is of dialect %s", (exports, dialect) => {
  expect(dialectOf(exports)).toBe(dialect);
});

const DEEP = "[".repeat(20_000) + "]".repeat(20_000);

/** Calls a guest that hands this text to the host through one of its functions, or returns it as its output. */
async function told(text: string, through?: string): Promise<Answer> {
  const { body, headers } = modern("tools/call", { name: "told", arguments: { text, through } });
  if (through !== undefined) headers["mcp-param-through"] = through;
  return answerOf(await post(body, headers));
}

describe("invalid output is the servlet's failure", () => {
  test.each([
    ['{"content":[{"data":"aGk=","mimeType":{"toString":1,"valueOf":1}}]}', /mimeType is not/],
    ['{"content":[{"type":"image","data":"not base64"}]}', /data is not base64/],
    [`{"content":[],"structuredContent":${DEEP}}`, /nested (too deeply|at most)/],
  ])("an output such as %.60s", async (text, message) => {
    expect((await told(text)).error?.message).toMatch(message);
  });

  test("whether it is an error is yes or no; an error is never told as a success", async () => {
    const { result } = await told('{"structuredContent":{"a":1},"isError":"yes"}');
    expect(result).toMatchObject({ content: [{ text: '{"a":1}' }], isError: true });
  });

  const odd = { _meta: [], title: 5, description: {}, icons: [{}], size: "1", mimeType: 7 };
  const annotations = { audience: "user", priority: 2, lastModified: 5 };
  const link = { type: "resource_link", uri: "x://a", name: "a", ...odd };
  test.each([
    { content: [{ type: "text", text: "a", ...odd, annotations }], ...odd },
    { content: [{ ...link, annotations: { ...annotations, priority: 0.5 } }] },
    { content: [{ ...link, icons: [{ src: "a", sizes: "any" }], name: 7 }] },
    { content: [{ type: "resource", resource: { uri: "x://a", text: "a", ...odd }, ...odd }] },
    { content: [], isError: {}, annotations: [] },
  ])("members that no client takes are left out: %j", async (output) => {
    const { result } = await told(JSON.stringify(output).replace('"size":"1"', '"size":1e999'));
    expect(CallToolResultSchema.safeParse(result).error).toBeUndefined();
    const text = JSON.stringify(result);
    expect(text.includes('"priority":0.5')).toBe(JSON.stringify(output).includes("0.5"));
  });

  test.each([
    ["sample", `{"messages":${DEEP}}`, /nested (too deeply|at most)/],
    ["message", `{"data":${DEEP}}`, /nested (too deeply|at most)/],
    ["secret", '{"service":{"toString":1,"valueOf":1}}', /^$/],
  ])("%s with %.40s", async (through, text, message) => {
    const { result } = await told(text, through);
    expect(result?.["content"][0].text).toMatch(message);
  });
});

describe("output of plugins for other hosts becomes valid MCP", () => {
  const content = async (name: string) => (await callTool(name)).result?.["content"];

  test("without nulls, empty strings and annotations that say nothing", async () => {
    const { result } = await callTool("u-generated");
    expect(result).toMatchObject({ content: [{ type: "text", text: "kept" }] });
    expect(result?.["content"][0]).toEqual({ type: "text", text: "kept" });
    expect(result).not.toHaveProperty("isError");
  });

  test("with the types that blocks leave out; the tool is called by its own name", async () => {
    expect(await content("u-no_type")).toEqual([
      { type: "text", text: "a" },
      { type: "audio", data: "aGk=", mimeType: "audio/mpeg" },
      { type: "image", data: "iVBORw==", mimeType: "image/png" },
    ]);
  });

  test("with embedded resources where MCP has them", async () => {
    expect(await content("u-nested")).toEqual([
      { type: "resource", resource: { uri: "x://a", mimeType: "text/plain", text: "t" } },
      { type: "resource", resource: { uri: "x://b", blob: "aGk=" } },
    ]);
  });

  test("with bytes in base64 without line breaks, padded, of a registered type", async () => {
    const data = "data:image/jpg;base64,iVBO\nRw";
    const blob = "aG k";
    const resource = { uri: "x://a", blob };
    const given = { content: [{ data }, { type: "resource", resource }], isError: false };
    expect((await told(JSON.stringify(given))).result?.["content"]).toEqual([
      { type: "image", data: "iVBORw==", mimeType: "image/jpeg" },
      { type: "resource", resource: { uri: "x://a", blob: "aGk=" } },
    ]);
    const uri = `told:${JSON.stringify({ contents: [{ blob, mimeType: "image/jpg" }] })}`;
    const { result } = await ask("resources/read", { uri });
    expect(result?.["contents"]).toEqual([{ uri, blob: "aGk=", mimeType: "image/jpeg" }]);
  });

  test("with schemas that models' APIs take, while arguments are checked by the original", async () => {
    const { result } = await ask("tools/list");
    const tool = result!["tools"].find(({ name }: { name: string }) => name === "u-by_reference");
    expect(tool.inputSchema).toEqual({
      type: "object",
      required: ["size"],
      properties: {
        size: { $ref: "#/$defs/Size", description: "How large" },
        any: {},
        pair: {
          type: "array",
          prefixItems: [{ type: "string" }, { type: "number" }],
          items: {},
          maxItems: 2,
        },
      },
      $defs: { Size: { enum: ["s", "m"] } },
    });
    const textOf = async (args: Record<string, unknown>) =>
      (await callTool("u-by_reference", args)).result?.["content"][0].text as string;
    expect(await textOf({ size: "m", pair: ["a", 1] })).toContain('"size":"m"');
    expect(await textOf({ size: "xl" })).toMatch(/`size` must be "s" or "m"/);
    expect(await textOf({ size: "s", pair: ["a", 1, 2] })).toMatch(/`pair.2` is not allowed/);
  });

  test("with resources by their uri", async () => {
    const { result } = await ask("resources/read", { uri: "untidy://old" });
    expect(result?.["contents"]).toEqual([
      { uri: "untidy://old", mimeType: "text/plain", blob: "b2xk" },
    ]);
  });
});

test("their input has exactly the keys that they know, and always arguments", async () => {
  const { result } = await ask("tools/call", { name: "u-input" });
  expect(JSON.parse(result?.["content"][0].text)).toEqual({
    method: "tools/call",
    params: { name: "input", arguments: {} },
  });
});

test("half of a character does not reach clients", async () => {
  const { result } = await callTool("u-halves");
  expect(result?.["content"]).toEqual([{ type: "text", text: "\ufffd 😀" }]);
});

test("tools are listed with a schema, whatever the servlet wrote", async () => {
  const { result } = await ask("tools/list");
  const tools = result?.["tools"] as { name: string; inputSchema: object }[];
  const schemaOf = (name: string) => tools.find((tool) => tool.name === name)?.inputSchema;
  expect(schemaOf("u-generated")).toEqual({ type: "object", properties: {} });
  expect(schemaOf("u-bad_schema")).toEqual({ type: "object", properties: {} });
  expect((await callTool("u-bad_schema", { anything: 1 })).result).not.toHaveProperty("isError");
  expect(tools.find(({ name }) => name === "u-halves")).toMatchObject({
    description: "half of a character: \ufffd",
    inputSchema: { properties: { "\ufffd": {} } },
  });
});
