import { beforeAll, describe, expect, test } from "vitest";
import { loadServlet, type ServletUnderTest } from "../../../src/tools/testing/index.ts";

/** Prompts: how they are listed, what they give, and the completion of their arguments. */
let servlet: ServletUnderTest;
beforeAll(async () => {
  servlet = await loadServlet("test/node/sdk/servlets/prompts");
});

const user = (text: string) => ({ role: "user", content: { type: "text", text } });

test("they are listed without their functions", async () => {
  const { prompts } = await servlet.list();
  expect(prompts).toEqual([
    {
      name: "summary",
      title: "Summary",
      description: "Sums a topic up",
      arguments: [
        { name: "topic", title: "Topic", description: "What about", required: true },
        { name: "tone" },
        { name: "length", required: false },
      ],
    },
    { name: "chat" },
    { name: "whole", description: "As it is listed" },
    { name: "told" },
    { name: "throws" },
    { name: "wrong" },
    { name: "many", arguments: [{ name: "n" }, { name: "failing" }] },
  ]);
});

test.each<[name: string, args: Record<string, string>, result: object]>([
  ["summary", { topic: "T" }, { description: "Sums a topic up", messages: [user("T|| true")] }],
  [
    "summary",
    { topic: "T", tone: "dry" },
    { description: "Sums a topic up", messages: [user("T|dry| true")] },
  ],
  [
    "chat",
    {},
    { messages: [user("a"), { role: "assistant", content: { type: "text", text: "b" } }] },
  ],
  [
    "whole",
    {},
    {
      description: "As it is given",
      messages: [{ role: "user", content: { type: "image", data: "Bw==", mimeType: "image/png" } }],
      _meta: { a: 1 },
    },
  ],
])("%s %j", async (name, args, result) => {
  expect((await servlet.getPrompt(name, args)).result).toEqual(result);
});

test("a prompt has the context of its call", async () => {
  const { result, notifications } = await servlet.getPrompt("told");
  expect(result.messages).toEqual([user("test")]);
  expect(notifications).toEqual([
    { method: "notifications/progress", params: { progressToken: "test", progress: 1 } },
  ]);
});

test.each<[name: string, fault: object]>([
  ["throws", { code: "servlet_failed", message: "no prompt" }],
  [
    "wrong",
    {
      code: "servlet_failed",
      message:
        'The prompt "wrong" returned neither text nor messages. Return a string, or messages.',
    },
  ],
])("%s fails as a whole", async (name, fault) => {
  await expect(servlet.getPrompt(name)).rejects.toMatchObject(fault);
});

describe("completion", () => {
  const complete = async (argument: { name: string; value: string }, settled?: object) => {
    const name = argument.name === "n" || argument.name === "failing" ? "many" : "summary";
    const { result } = await servlet.complete({
      ref: { type: "ref/prompt", name },
      argument,
      ...(settled && { context: { arguments: { ...settled } } }),
    });
    return result.completion;
  };

  test.each<[argument: string, settled: object | undefined, values: string[]]>([
    ["topic", undefined, ["q1", "q2"]],
    ["tone", { topic: "T" }, ["q on T"]],
    ["tone", undefined, ["q on undefined"]],
    ["length", undefined, []],
    ["constructor", undefined, []],
  ])("%s, where %j is settled", async (name, settled, values) => {
    expect(await complete({ name, value: "q" }, settled)).toEqual({ values });
  });

  test("the first hundred values are kept", async () => {
    const { values, total, hasMore } = await complete({ name: "n", value: "101" });
    expect([values.length, values.at(-1), total, hasMore]).toEqual([100, "99", 101, true]);
    expect(await complete({ name: "n", value: "1" })).toEqual({ values: ["0"] });
  });

  test("fails where it throws", async () => {
    await expect(complete({ name: "failing", value: "" })).rejects.toThrow("no idea");
  });
});
