import { beforeAll, describe, expect, test } from "vitest";
import { loadServlet, type ServletUnderTest } from "../../../src/tools/testing/index.ts";
import { bundling } from "../bundle/bundling.ts";

/** Servers that were written for FastMCP. */
const text = (value: string) => ({ type: "text" as const, text: value });

test("a server of FastMCP is a servlet", async () => {
  const servlet = await loadServlet("test/node/python/servlets/fastmcp");
  const { tools, resources, resourceTemplates, prompts } = await servlet.list();
  expect(tools.map(({ name }) => name)).toEqual([
    "listed",
    "multiply",
    "plain",
    "alone",
    "made",
    "again",
    "injected",
    "breaks",
    "add",
    "find",
    "third",
    "whole",
  ]);
  expect(tools.find(({ name }) => name === "find")).toMatchObject({
    description: "Finds",
    annotations: { readOnlyHint: true },
    _meta: { fastmcp: { tags: ["a", "b"] } },
  });
  expect(resources.map(({ uri }) => uri)).toEqual(["text://a", "config://app"]);
  expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
    "broken://{name}",
    "path://{+filepath}",
    "user://{id}/profile",
  ]);
  expect(prompts.map(({ name }) => name)).toEqual(["official", "ask"]);

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

describe("of FastMCP", () => {
  let servlet: ServletUnderTest;
  beforeAll(async () => {
    servlet = await loadServlet("test/node/python/servlets/fastmcp");
  });
  const saidBy = async (tool: string, args: Record<string, unknown> = {}) =>
    (await servlet.callTool(tool, args)).result.content;

  test("tools are added to the server", async () => {
    expect(await saidBy("listed")).toEqual([text("listed")]);
    expect(await saidBy("multiply", { x: 2 })).toEqual([text("6")]);
    expect(await saidBy("plain", { self: "me" })).toEqual([text("me")]);
    expect(await saidBy("alone")).toEqual([text("alone")]);
    expect(await saidBy("again")).toEqual([text("listed")]);
    expect(await saidBy("made")).toEqual([text("made")]);
  });

  test("loggers tell of what is INFO", async () => {
    expect((await servlet.callTool("listed")).logs).toEqual(["info: seen"]);
  });

  test("parameters get the context, and what functions give", async () => {
    const { result } = await servlet.callTool("injected");
    expect(result.structuredContent).toEqual({
      result: ["anonymous", "https://a.example/v1", "AcceptedElicitation"],
    });
  });

  test("texts of errors are hidden if the server says so", async () => {
    expect(await saidBy("breaks", { kind: "shown" })).toEqual([text("Shown")]);
    expect(await saidBy("breaks", { kind: "hidden" })).toEqual([
      text('The tool "breaks" has failed.'),
    ]);
    await expect(servlet.readResource("broken://a")).rejects.toThrow(
      "The resource broken://a has failed.",
    );
    await expect(servlet.readResource("broken://shown")).rejects.toThrow("One; Two");
  });

  test("resources are texts, and have paths in their URIs", async () => {
    const { result: added } = await servlet.readResource("text://a");
    expect(added.contents).toMatchObject([{ text: "A text" }]);
    const { result: path } = await servlet.readResource("path://a/b.txt");
    expect(path.contents).toMatchObject([{ mimeType: "text/x-path", text: "a/b.txt" }]);
    expect((await servlet.readResource("path://none")).result.contents).toEqual([]);
    const { result: official } = await servlet.getPrompt("official", { topic: "tea" });
    expect(official.messages).toEqual([{ role: "user", content: text("tea") }]);
  });
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
    ["FastMCP(include_tags={'a'})", "`FastMCP(include_tags=…)` of FastMCP is not here: leave"],
    [
      "FastMCP(session_state_store=1)",
      "`FastMCP(session_state_store=…)` of FastMCP is not here: keep",
    ],
    ["FastMCP(token_verifier=1)", "`FastMCP(token_verifier=…)` of FastMCP is not here: the server"],
    ["FastMCP(unheard_of=1)", "`FastMCP(unheard_of=…)` of FastMCP is not here: docs/python.md"],
    [
      "from fastmcp.server.dependencies import get_http_headers",
      "`get_http_headers` of FastMCP is not here: the server knows its callers",
    ],
    [
      "from fastmcp.resources import FileResource",
      "`FileResource` of FastMCP is not here: write a",
    ],
    [
      "from mcp.types import ListToolsResult",
      "`ListToolsResult` of the official SDK is not here: write functions with `@mcp.tool`.",
    ],
    ["from mcp.server import Server", "`Server` of the official SDK is not here: write functions"],
    ["from mcp import ClientSession", "`ClientSession` of the official SDK is not here: a servlet"],
    [
      "from fastmcp.dependencies import Depends\nDepends(lambda x: x)",
      "servlet.py:4: `Depends` takes a plain function that needs no parameters: call this one in the handler.",
    ],
    [
      "from fastmcp.dependencies import Depends\nDepends(lambda x=Depends(list): x)",
      "servlet.py:4: `Depends` takes a plain function that needs no parameters",
    ],
    [
      "class A:\n  @mcp.tool\n  @classmethod\n  def f(cls): ...",
      "servlet.py:4: `@tool` above `@classmethod` has no class yet.",
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
    structuredContent: {},
    isError: true,
  });
  const { result: shown } = await servlet.callTool("shows");
  expect(shown.content).toEqual([{ type: "image", data: "eA==", mimeType: "image/png" }]);
  const { result: contents } = await servlet.callTool("contents");
  const resource = { uri: "note://a", text: "a" };
  expect(contents.content).toEqual([{ type: "resource", resource }]);
  await expect(servlet.callTool("refuses")).rejects.toMatchObject({ message: "Not now" });
  const { result: completed } = await servlet.complete({
    ref: { type: "ref/resource", uri: "greeting://{name}" },
    argument: { name: "name", value: "A" },
  });
  expect(completed.completion.values).toEqual(["Ada"]);
  const { result: debugged } = await servlet.getPrompt("debug", { error: "E" });
  expect(debugged.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
});
