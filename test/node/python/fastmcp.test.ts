import { describe, expect, test } from "vitest";
import { loadServlet } from "../../../src/testing/index.ts";
import { bundling } from "../bundle/bundling.ts";

/** Servers that were written for FastMCP. */
const text = (value: string) => ({ type: "text" as const, text: value });

test("a server of FastMCP is a servlet", async () => {
  const servlet = await loadServlet("test/node/python/servlets/fastmcp");
  const { tools, resources, resourceTemplates, prompts } = await servlet.list();
  expect(tools.map(({ name }) => name)).toEqual(["add", "find", "third", "whole"]);
  expect(tools[1]).toMatchObject({
    description: "Finds",
    annotations: { readOnlyHint: true },
    _meta: { fastmcp: { tags: ["a", "b"] } },
  });
  expect(resources.map(({ uri }) => uri)).toEqual(["config://app"]);
  expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(["user://{id}/profile"]);
  expect(prompts.map(({ name }) => name)).toEqual(["ask"]);

  const { result: sum } = await servlet.callTool("add", { a: 1, b: 2 });
  expect(sum).toEqual({ content: [text("3")], structuredContent: { result: 3 } });
  const found = await servlet.callTool(
    "find",
    { query: "q" },
    {
      answers: {
        "elicitation/create": [{ action: "accept", content: { value: "y" } }],
        "sampling/createMessage": [{ role: "assistant", content: text("Yo"), model: "m" }],
      },
    },
  );
  expect(found.result.content).toEqual([text("y Yo")]);
  expect(found.notifications.map(({ method }) => method)).toEqual([
    "notifications/message",
    "notifications/progress",
  ]);
  const { result: whole } = await servlet.callTool("whole");
  expect(whole).toEqual({ content: [text("A")], structuredContent: { a: 1 } });
  const { result: profile } = await servlet.readResource("user://5/profile");
  expect(profile.contents).toMatchObject([{ mimeType: "text/plain", text: "user 6" }]);
  const { result: asked } = await servlet.getPrompt("ask", { topic: "tea" });
  expect(asked.messages).toHaveLength(2);
  const { result: completed } = await servlet.complete({
    ref: { type: "ref/prompt", name: "ask" },
    argument: { name: "topic", value: "t" },
  });
  expect(completed.completion.values).toEqual(["ask topic t"]);
});

describe("what is missing is named, with what to write instead", () => {
  const { bundle } = bundling();
  const HEAD = 'from fastmcp import FastMCP, Context\nmcp = FastMCP("x")\n';
  test.each<[text: string, message: string]>([
    [
      '@mcp.tool\nasync def f(ctx: Context):\n  await ctx.set_state("a", 1)',
      'servlet.py:5: `ctx.set_state` of FastMCP is not here: keep it in a variable of the module, with "state": "caller" in servlet.json.',
    ],
    ["mcp.mount(mcp)", "`mcp.mount` of FastMCP is not here: each servlet is a folder of its own"],
    ["FastMCP('y', lifespan=print)", "`FastMCP(lifespan=…)` of FastMCP is not here"],
    ["from fastmcp import Client", "`Client` of FastMCP is not here"],
    [
      "@mcp.tool(output_schema={})\ndef f(): ...",
      "`@mcp.tool(output_schema=…)` of FastMCP is not here: write the type of what the function returns.",
    ],
    [
      "from fastmcp.server.auth import X",
      "servlet.py:3: there is no fastmcp.server.auth in a servlet, as the server speaks the protocol",
    ],
  ])("%s", async (text_, message) => {
    await expect(bundle({ "servlet.py": `${HEAD}${text_}\n` })).rejects.toThrow(message);
  });
});

test("a server that was written for the official SDK is a servlet", async () => {
  const servlet = await loadServlet("test/node/python/servlets/official");
  const { result } = await servlet.callTool("greet", { name: "Ada" });
  expect(result.content).toEqual([text("Hello, Ada!")]);
  const { result: greeting } = await servlet.readResource("greeting://Bob");
  expect(greeting.contents).toMatchObject([{ text: "Hello, Bob!" }]);
  const answers = { "elicitation/create": [{ action: "accept", content: { seats: 2 } }] };
  const { result: booked } = await servlet.callTool("book", {}, { answers });
  expect(booked.content).toEqual([text("2 test")]);
  expect((await servlet.callTool("lines")).result.content).toEqual([text("one"), text("two")]);
  expect((await servlet.callTool("fails")).result).toEqual({
    content: [text("no")],
    isError: true,
  });
  const { result: debugged } = await servlet.getPrompt("debug", { error: "E" });
  expect(debugged.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
});
