import { beforeAll, describe, expect, test } from "vitest";
import {
  loadServlet,
  type Script,
  type ScriptedAnswer,
  type ServletUnderTest,
} from "../../../src/tools/testing/index.ts";

/** A handler's requests and notifications through its context, and the values that it finds there. */
let servlet: ServletUnderTest;
beforeAll(async () => {
  servlet = await loadServlet("test/node/python/servlets/context");
});

const text = (value: string) => ({ type: "text" as const, text: value });
const answered = (tool: string, ...given: ScriptedAnswer[]) =>
  servlet.callTool(tool, {}, { answers: { "elicitation/create": given } });
const accept = (content: object) => ({ action: "accept", content });

describe("elicit", () => {
  test("asks by a form for a dataclass", async () => {
    const { asked } = await answered("form", { action: "decline" });
    expect(asked).toEqual([
      {
        method: "elicitation/create",
        params: {
          mode: "form",
          message: "Size?",
          requestedSchema: {
            type: "object",
            properties: {
              size: { type: "string", enum: ["s", "m"] },
              count: { type: "integer", default: 3 },
              note: { type: "string" },
            },
            required: ["size"],
          },
        },
        timeoutMs: 5000,
      },
    ]);
  });

  test.each<[tool: string, answer: ScriptedAnswer, said: string]>([
    ["form", accept({ size: "m" }), "m 3 None"],
    ["form", accept({ size: "s", count: 1, note: "a" }), "s 1 a"],
    ["form", { action: "decline", content: { size: "m" } }, "decline"],
    ["form", { action: "cancel" }, "cancel"],
    ["form", { action: "unheard of" }, "cancel"],
    ["typed_dict", accept({ city: "Bern" }), "Bern"],
    ["confirm", accept({}), "yes {}"],
    ["confirm", { action: "accept" }, "yes {}"],
    ["confirm", { action: "decline" }, "decline"],
    ["url", { action: "accept" }, "accept {}"],
    ["url", { action: "cancel" }, "cancel None"],
  ])("%s: %j", async (tool, answer, said) => {
    expect((await answered(tool, answer)).result).toEqual({ content: [text(said)] });
  });

  test("asks for single values and choices", async () => {
    const answers = ["a", 1, true, "b", "y", "k"].map((value) => accept({ value }));
    const { result, asked } = await answered("scalars", ...answers);
    expect(result.structuredContent).toEqual({ result: ["a", 1, true, "b", "y", "k"] });
    const schemas = asked.map(({ params }) => params["requestedSchema"]);
    const value = (schema: object) => ({
      type: "object",
      properties: { value: schema },
      required: ["value"],
    });
    expect(schemas).toEqual([
      value({ type: "string" }),
      value({ type: "integer" }),
      value({ type: "boolean" }),
      value({ type: "string", enum: ["a", "b"] }),
      value({ type: "string", enum: ["x", "y"] }),
      value({ type: "string", oneOf: [{ const: "k", title: "K" }] }),
    ]);
  });

  test("asks for several choices, under a title", async () => {
    const answers = [["bug"], ["s", "m"]].map((value) => accept({ value }));
    const { result, asked } = await answered("several", ...answers);
    expect(result.structuredContent).toEqual({ result: [["bug"], ["s", "m"]] });
    const schemas = asked.map(({ params }) => params["requestedSchema"]);
    const value = (schema: object) => ({
      type: "object",
      properties: { value: schema },
      required: ["value"],
    });
    const items = [
      { const: "s", title: "Small" },
      { const: "m", title: "m" },
    ];
    expect(schemas).toEqual([
      value({ title: "Tags", type: "array", items: { type: "string", enum: ["bug", "docs"] } }),
      value({ type: "array", items: { anyOf: items } }),
    ]);
  });

  test("several choices are one list", async () => {
    const { result } = await answered("two_lists");
    const said = "elicit() takes several choices as one list in a list: [[CHOICE, …]]";
    expect(result).toEqual({ content: [text(said)], isError: true });
  });

  test("an answer that does not fit is refused", async () => {
    const { result } = await answered("form", accept({ size: "xl" }));
    const said = `The user's answer does not fit: size: "s" or "m" is expected, not "xl"`;
    expect(result).toEqual({ content: [text(said)], isError: true });
  });

  test("a page is asked for", async () => {
    const { asked } = await answered("url", { action: "accept" });
    expect(asked).toEqual([
      {
        method: "elicitation/create",
        params: { mode: "url", message: "Pay", url: "https://pay.example/a", elicitationId: "e1" },
      },
    ]);
  });
});

test("ask_secret gives what the caller has given before", async () => {
  const script = { caller: "ada", secrets: { deepl: "12345" } };
  const { result } = await servlet.callTool("secret", {}, script);
  expect(result.content).toEqual([text("5 characters")]);
});

test("sample asks the client's model", async () => {
  const answer = { role: "assistant", content: text("Yo"), model: "m1", stopReason: "endTurn" };
  const answers = { "sampling/createMessage": [answer] };
  const { result, asked } = await servlet.callTool("sample", {}, { answers });
  expect(result.structuredContent).toEqual({ result: ["Yo", "m1", "assistant", "endTurn"] });
  expect(asked).toEqual([
    {
      method: "sampling/createMessage",
      params: {
        messages: [
          { role: "user", content: text("Hi") },
          { role: "assistant", content: text("Yes?") },
        ],
        maxTokens: 10,
        systemPrompt: "Be brief.",
        modelPreferences: { hints: [{ name: "claude" }] },
      },
    },
  ]);
});

test("list_roots", async () => {
  const roots = [{ uri: "file:///a", name: "A" }, { uri: "file:///b" }];
  const { result } = await servlet.callTool(
    "roots",
    {},
    { answers: { "roots/list": [{ roots }] } },
  );
  expect(result.content).toEqual([text("file:///a A,file:///b None")]);
});

describe("a request that has no usable answer", () => {
  const failure = { failed: "cannot-ask", message: "No answer." } as const;

  test("is the error of the call", async () => {
    const { result } = await answered("form", failure);
    expect(result).toEqual({ content: [text("No answer.")], isError: true });
  });

  test("is the protocol's error where that wants it", async () => {
    const requiredCapabilities = { elicitation: {} };
    await expect(answered("form", { ...failure, requiredCapabilities })).rejects.toMatchObject({
      code: "missing_capability",
      data: { requiredCapabilities },
    });
  });

  test("can be handled", async () => {
    const { result } = await answered("handled", failure);
    const got = ["cannot-ask", "elicitation/create", "No answer."];
    expect(result.structuredContent).toEqual({ result: got });
  });
});

test("a handler may return its requests", async () => {
  const answers = { "roots/list": [{ roots: [{ uri: "file:///a" }] }] };
  const { result } = await servlet.callTool("returns_request", {}, { answers });
  expect(result.content).toEqual([text("two {'where': {'roots': [{'uri': 'file:///a'}]}}")]);
});

test("notifications come in their order, progress with the client's token", async () => {
  const { notifications } = await servlet.callTool("tells", {}, { meta: { progressToken: "t7" } });
  const message = (level: string, data: unknown, more = {}) => ({
    method: "notifications/message",
    params: { level, data, ...more },
  });
  const progress = (params: object) => ({
    method: "notifications/progress",
    params: { progressToken: "t7", ...params },
  });
  expect(notifications).toEqual([
    progress({ progress: 1, total: 2, message: "half" }),
    progress({ progress: 2 }),
    message("warning", { a: 1 }, { logger: "me" }),
    message("info", "text"),
    message("notice", { msg: "m", extra: { b: 2 } }),
    message("critical", "as the official SDK"),
    message("alert", "named"),
    message("debug", "<class 'object'>"),
    message("error", "e"),
    { method: "notifications/tools/list_changed" },
    { method: "notifications/prompts/list_changed" },
    { method: "notifications/resources/list_changed" },
    { method: "notifications/resources/updated", params: { uri: "x:y" } },
    { method: "notifications/elicitation/complete", params: { elicitationId: "e1" } },
  ]);
});

test.each<[key: string, variables: Record<string, string>, value: string]>([
  ["PLAIN", {}, "as it is"],
  ["FILLED", { PLACE: "the sea" }, "at the sea"],
  ["PLACE", { PLACE: "the sea" }, "none"],
])("config: %s of %j is %s", async (key, variables, value) => {
  const { result } = await servlet.callTool("config", { key }, { variables });
  expect(result.content).toEqual([text(value)]);
});

test("secrets are those that the manifest allows", async () => {
  const variables = { BANK_ME: "b1", BANK_OTHER: "b2", SHOP_KEY: "s1" };
  const { result } = await servlet.callTool("secrets", {}, { variables });
  expect(result.structuredContent).toEqual({ result: ["b1", "s1", null] });
});

test("a call is given its id, its meta and its client", async () => {
  const script: Script = {
    meta: { progressToken: "7", traceparent: "00-1-2-01" },
    capabilities: {
      extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } },
    },
  };
  const { result } = await servlet.callTool("given", {}, script);
  expect(result.structuredContent).toMatchObject({
    id: "test",
    meta: { progressToken: "7" },
    client: { capabilities: script.capabilities, views: true, name: null, principal: "anonymous" },
    first: true,
  });
});

describe("tools of other servlets", () => {
  const tools: Script["tools"] = {
    forecast: ({ city }) => ({
      content: [text(`${String(city)}: 22`)],
      structuredContent: { celsius: 22 },
    }),
  };

  test("are called by name", async () => {
    const { result } = await servlet.callTool("calls", {}, { tools });
    const got = ["Bern: 22", "Oslo: 22", "{'celsius': 22}", "False"];
    expect(result.structuredContent).toEqual({ result: got });
  });

  test("that are not there raise an error", async () => {
    const { result } = await servlet.callTool("calls_unknown");
    expect(result.content).toEqual([text("nobody unknown-tool")]);
    expect((await servlet.callTool("calls_unhandled")).result.isError).toBe(true);
  });
});

test("a member of a feature that the server lacks raises the reason", async () => {
  const { result } = await servlet.callTool("feature_function");
  const reason = expect.stringMatching(/^query\(\): There is no host function sql\.query:/);
  expect(result.content).toEqual([{ type: "text", text: reason }]);
});
