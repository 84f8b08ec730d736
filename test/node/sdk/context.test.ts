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
  servlet = await loadServlet("test/node/sdk/servlets/context");
});

const text = (value: string) => ({ type: "text", text: value });

describe("elicit", () => {
  const answered = (tool: string, answer: Record<string, unknown>) =>
    servlet.callTool(tool, {}, { answers: { "elicitation/create": [answer] } });

  test("asks with the schema as JSON Schema", async () => {
    const { asked } = await answered("elicit", { action: "decline" });
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
              count: { type: "number", default: 3 },
            },
            required: ["size"],
          },
        },
        timeoutMs: 5000,
      },
    ]);
  });

  test.each<[tool: string, answer: Record<string, unknown>, got: object]>([
    ["elicit", { action: "accept", content: { size: "m" } }, { exact: ["m", 3], wrong: 3 }],
    ["elicit", { action: "decline", content: { size: "m" } }, { action: "decline" }],
    ["elicit", { action: "cancel" }, { action: "cancel" }],
    ["elicit", { action: "unheard of" }, { action: "cancel" }],
    ["elicit_raw", { action: "accept", content: { sure: true } }, { action: "accept", sure: true }],
    ["elicit_raw", { action: "decline" }, { action: "decline" }],
  ])("%s: %j", async (tool, answer, got) => {
    const { result } = await answered(tool, answer);
    expect(result.structuredContent).toEqual(got);
  });

  test.each<[answer: Record<string, unknown>]>([
    [{ action: "accept", content: { size: "xl" } }],
    [{ action: "accept" }],
  ])("an answer that does not fit is refused: %j", async (answer) => {
    const { result } = await answered("elicit", answer);
    expect(result).toEqual({
      content: [text(`The user's answer does not fit: size: Invalid input: values ["s","m"]`)],
      isError: true,
    });
  });

  test("a form is an object", async () => {
    const { result, asked } = await servlet.callTool("elicit_unfit");
    expect(result).toEqual({
      content: [
        text(
          'The schema of a form does not describe an object: at its root it needs type "object" (in zod: z.object({ … }), or a union of such).',
        ),
      ],
      isError: true,
    });
    expect(asked).toEqual([]);
  });

  test("elicitUrl asks for a page", async () => {
    const { result, asked } = await answered("elicit_url", { action: "accept" });
    expect(result.structuredContent).toEqual({ action: "accept", content: {} });
    expect(asked).toEqual([
      {
        method: "elicitation/create",
        params: {
          mode: "url",
          message: "Pay",
          url: "https://pay.example/a",
          elicitationId: "e1",
        },
      },
    ]);
  });

  test("an answer that never comes ends the call", async () => {
    const answers = { "elicitation/create": [{ action: "accept" }] };
    await expect(servlet.callTool("ask_twice", {}, { answers })).rejects.toThrow(
      "The script has no answer number 2 to elicitation/create.",
    );
  });
});

test("sample asks the client's model", async () => {
  const answer = { role: "assistant", content: text("Yo"), model: "m1", stopReason: "endTurn" };
  const { result, asked } = await servlet.callTool(
    "sample",
    {},
    { answers: { "sampling/createMessage": [answer] } },
  );
  expect(result.content).toEqual([text("Yo"), text("by m1")]);
  expect(asked).toEqual([
    {
      method: "sampling/createMessage",
      params: {
        messages: [{ role: "user", content: text("Hi") }],
        maxTokens: 10,
        systemPrompt: "Be brief.",
      },
    },
  ]);
});

test.each<[roots: unknown, said: string]>([
  [[{ uri: "file:///a", name: "A" }, { uri: "file:///b" }], "file:///a A,file:///b undefined"],
  [[], ""],
  [undefined, ""],
])("roots: %j", async (roots, said) => {
  const { result, asked } = await servlet.callTool(
    "roots",
    {},
    { answers: { "roots/list": [{ roots }] } },
  );
  expect(result.content).toEqual([text(said)]);
  expect(asked).toEqual([{ method: "roots/list", params: {} }]);
});

test("requestInput asks several things at once, and gives the answers by key", async () => {
  const { result, asked } = await servlet.callTool(
    "request_input",
    {},
    {
      answers: {
        "roots/list": [{ roots: [{ uri: "file:///a" }] }],
        "elicitation/create": ({ message }) => ({ action: "accept", content: { message } }),
      },
    },
  );
  expect(result.structuredContent).toEqual({
    where: { roots: [{ uri: "file:///a" }] },
    size: { action: "accept", content: { message: "Size?" } },
  });
  expect(asked).toEqual([
    { method: "roots/list", params: {} },
    { method: "elicitation/create", params: { mode: "form", message: "Size?" } },
  ]);
});

describe("notifications", () => {
  const others = [
    { method: "notifications/message", params: { level: "warning", data: { a: 1 }, logger: "me" } },
    { method: "notifications/message", params: { level: "info", data: "text" } },
    { method: "notifications/tools/list_changed" },
    { method: "notifications/prompts/list_changed" },
    { method: "notifications/resources/list_changed" },
    { method: "notifications/resources/updated", params: { uri: "x:y" } },
    { method: "notifications/elicitation/complete", params: { elicitationId: "e1" } },
  ];

  test("comes in its order, progress with the client's token", async () => {
    const { notifications, logs } = await servlet.callTool(
      "tell",
      {},
      { meta: { progressToken: "t7" } },
    );
    expect(notifications).toEqual([
      {
        method: "notifications/progress",
        params: { progressToken: "t7", progress: 1, total: 2, message: "half" },
      },
      { method: "notifications/progress", params: { progressToken: "t7", progress: 2 } },
      ...others,
    ]);
    expect(logs).toEqual([]);
  });

  test("has no progress in it for a client that gave no token", async () => {
    const { notifications } = await servlet.callTool("tell", {}, { meta: {} });
    expect(notifications).toEqual(others);
  });
});

test.each<[key: string, variables: Record<string, string>, value: string]>([
  ["PLAIN", {}, "as it is"],
  ["FILLED", { PLACE: "the sea" }, "at the sea"],
  ["FILLED", {}, "at home"],
  ["PLACE", { PLACE: "the sea" }, "none"],
  ["toString", {}, "none"],
])("config: %s of %j is %s", async (key, variables, value) => {
  const { result } = await servlet.callTool("read", { key }, { variables });
  expect(result.structuredContent).toEqual({ value });
});

test("secrets are those that the manifest allows", async () => {
  const variables = { BANK_ME: "b1", BANK_OTHER: "b2", SHOP_KEY: "s1", SHOP_ME: "s2" };
  const { result } = await servlet.callTool("secrets", {}, { variables });
  expect(result.structuredContent).toEqual({
    allowed: "b1",
    named: "s1",
    unset: "none",
    forbidden: "none",
  });
});

test("a call is given its id, its meta and its client", async () => {
  const { result } = await servlet.callTool(
    "given",
    {},
    {
      meta: { progressToken: 7, "example.com/a": [1] },
      capabilities: { roots: {} },
    },
  );
  expect(result.structuredContent).toEqual({
    id: "test",
    meta: { progressToken: "7", "example.com/a": [1] },
    client: { capabilities: { roots: {} }, principal: "anonymous", views: false },
    aborted: false,
    first: true,
  });
});

test("a handler knows whether its client shows views", async () => {
  const extensions = {
    "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] },
  };
  const { result } = await servlet.callTool("given", {}, { capabilities: { extensions } });
  expect(result.structuredContent).toMatchObject({ client: { views: true } });
});

test("sleeps at once wait for the longest, and a year is none too long", async () => {
  const { result } = await servlet.callTool("sleep", {}, { now: 5000 });
  expect(result.structuredContent).toEqual({ before: 5000, slept: 2 ** 33 });
});

describe("a request that has no usable answer", () => {
  const METHODS = {
    elicit: "elicitation/create",
    elicit_url: "elicitation/create",
    sample: "sampling/createMessage",
    roots: "roots/list",
    request_input: "elicitation/create",
  } as const;
  const TOOLS = Object.keys(METHODS) as (keyof typeof METHODS)[];
  const failing = (tool: keyof typeof METHODS, failure: ScriptedAnswer): Script => ({
    answers: { "roots/list": [{ roots: [] }], [METHODS[tool]]: [failure] },
  });

  describe.each(["cannot-ask", "client-error", "unusable-answer"] as const)("%s", (failed) => {
    test.each(TOOLS)("is the error of the call: %s", async (tool) => {
      const script = failing(tool, { failed, message: "No answer." });
      const { result, logs } = await servlet.callTool(tool, {}, script);
      expect(result).toEqual({ content: [text("No answer.")], isError: true });
      expect(logs).toEqual([`warn: ${METHODS[tool]}: ${failed}: No answer.`]);
    });

    test.each(TOOLS)("is the protocol's error where that wants it: %s", async (tool) => {
      const requiredCapabilities = { roots: {} };
      const script = failing(tool, { failed, message: "No answer.", requiredCapabilities });
      await expect(servlet.callTool(tool, {}, script)).rejects.toMatchObject({
        code: "missing_capability",
        message: "No answer.",
        data: { requiredCapabilities },
      });
    });

    test("can be handled", async () => {
      const answers = {
        "roots/list": [{ roots: [] }],
        "elicitation/create": [{ failed, message: "No answer." }],
      };
      const { result } = await servlet.callTool("handle", {}, { answers });
      expect(result.structuredContent).toEqual({
        reason: failed,
        method: "elicitation/create",
        message: "No answer.",
        answers: { where: { roots: [] } },
      });
    });

    test("is thrown where the servlet has returned its requests, too", async () => {
      const answers = { "elicitation/create": [{ failed, message: "No answer." }] };
      const { result } = await servlet.callTool("return_request", {}, { answers });
      expect(result).toEqual({ content: [text("No answer.")], isError: true });
    });
  });

  test("an answer that the schema's own library refuses is one", async () => {
    const answers = { "elicitation/create": [{ action: "accept", content: { size: "xl" } }] };
    const { result } = await servlet.callTool("reason_of_elicit", {}, { answers });
    expect(result.content).toEqual([text("unusable-answer")]);
  });
});
