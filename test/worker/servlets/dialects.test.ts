import { describe, expect, test } from "vitest";
import { dialectOf } from "../../../src/servlets/dialects.ts";
import { ask, callTool } from "../server.ts";

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

describe("what plugins of other hosts give becomes valid MCP", () => {
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

test("tools are listed with a schema, whatever the servlet wrote", async () => {
  const { result } = await ask("tools/list");
  const tools = result?.["tools"] as { name: string; inputSchema: object }[];
  const schemaOf = (name: string) => tools.find((tool) => tool.name === name)?.inputSchema;
  expect(schemaOf("u-generated")).toEqual({ type: "object" });
  expect(schemaOf("u-bad_schema")).toEqual({ type: "object" });
  expect((await callTool("u-bad_schema", { anything: 1 })).result).not.toHaveProperty("isError");
});
