import { beforeAll, expect, test } from "vitest";
import { loadServlet, type ServletUnderTest } from "../../../src/tools/testing/index.ts";
import { bundling } from "../bundle/bundling.ts";

/** Servers of one file as people publish them run as they are. */
let servlet: ServletUnderTest;
beforeAll(async () => {
  servlet = await loadServlet("test/node/python/servlets/public");
});
const { bundle } = bundling();

async function textOf(tool: string, args: Record<string, unknown> = {}): Promise<string> {
  const { result } = await servlet.callTool(tool, args);
  return (result.content as { text: string }[])[0]!.text;
}

test("pydantic models describe arguments, and handlers get instances of them", async () => {
  const { tools } = await servlet.list();
  const { inputSchema } = tools.find(({ name }) => name === "describe")!;
  expect(inputSchema.properties!["person"]).toMatchObject({
    properties: {
      age: { type: "integer", minimum: 0, default: 0 },
      addresses: {
        description: "All of them",
        items: {
          properties: { city: { type: "string", description: "The city", minLength: 1 } },
          required: ["city"],
        },
      },
    },
    required: ["name", "company"],
  });
  const person = {
    name: "Ada",
    company: "A",
    addresses: [{ city: "Paris" }],
    home: { city: "B", zip: "1" },
  };
  expect(JSON.parse(await textOf("describe", { person }))).toEqual([
    "Hello, Ada",
    "Paris",
    "1",
    { ...person, age: 0, tags: [], aliases: [] },
  ]);
  expect(await textOf("describe", { person: { name: "Ada" } })).toMatch(/company/);
});

test("pydantic models can be created from plain data and returned as results", async () => {
  const { result } = await servlet.callTool("make");
  expect(result.structuredContent).toEqual({
    name: "Ada",
    age: 36,
    tags: [expect.stringContaining("name")],
    aliases: [],
    addresses: [{ city: "Paris", zip: null }],
    home: { city: "London", zip: null },
  });
});

test("lists and objects may be sent as JSON texts, and unknown arguments are ignored", async () => {
  const args = { numbers: "[1, 2]", pair: '{"a": 3}', text: "[4]", toolCallId: "n8n" };
  const { result, logs } = await servlet.callTool("total", args);
  expect(result.content).toEqual([{ type: "text", text: "3 {'a': 3} [4]" }]);
  expect(logs).toEqual(["info: adding", "warn: to stderr"]);
  expect(await textOf("total", { numbers: "[1, true]" })).toMatch(/numbers/);
});

test("the class for images can be imported from both of its modules", async () => {
  const { result } = await servlet.callTool("pictures");
  expect(result.content).toMatchObject([{ type: "image", data: "YQ==" }, { data: "Yg==" }]);
});

test("an unsupported feature of pydantic is refused with an alternative", async () => {
  const text = "from pydantic import BaseModel, field_validator\n";
  await expect(bundle({ "servlet.py": text })).rejects.toThrow(
    /there is no pydantic.field_validator in a servlet: .*Check more in the handler, or name pydantic<2/,
  );
});
