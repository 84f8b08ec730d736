import { beforeAll, describe, expect, test } from "vitest";
import { loadServlet, type ServletUnderTest } from "../../../src/tools/testing/index.ts";

/** Resources, templates, prompts and completions. */
let servlet: ServletUnderTest;
beforeAll(async () => {
  servlet = await loadServlet("test/node/python/servlets/resources");
});

const text = (value: string) => ({ type: "text" as const, text: value });
const user = (value: string) => ({ role: "user", content: text(value) });

test("lists have what functions and decorators say", async () => {
  const { resources, resourceTemplates, prompts } = await servlet.list();
  expect(resources).toEqual([
    {
      uri: "book://list",
      name: "books",
      title: "Books",
      description: "All books.",
      mimeType: "text/csv",
      size: 9,
    },
    { uri: "book://json", name: "as_json" },
    { uri: "book://cover", name: "cover", mimeType: "image/png" },
    { uri: "book://several", name: "several" },
    { uri: "book://dune/1", name: "dune" },
    { uri: "book://emma/1", name: "emma" },
  ]);
  expect(resourceTemplates).toEqual([
    { uriTemplate: "book://{title}/{page}{?mode}", name: "book" },
    { uriTemplate: "file://{+path}", name: "file" },
  ]);
  expect(prompts).toEqual([
    {
      name: "review",
      description: "Asks for a review.",
      arguments: [
        { name: "title", description: "The book's title", required: true },
        { name: "tone" },
        { name: "words", description: "How long it is." },
      ],
    },
    { name: "talk", title: "A talk" },
    { name: "described" },
    { name: "raw" },
  ]);
});

test.each<[uri: string, contents: object[]]>([
  ["book://list", [{ uri: "book://list", mimeType: "text/csv", text: "dune,emma" }]],
  [
    "book://json",
    [{ uri: "book://json", mimeType: "application/json", text: '{"books":["dune","emma"]}' }],
  ],
  ["book://cover", [{ uri: "book://cover", mimeType: "image/png", blob: "iVBORw==" }]],
  [
    "book://several",
    [
      { uri: "book://several", mimeType: "text/plain", text: "a" },
      { uri: "book://b", blob: "Yg==" },
      { uri: "book://several", mimeType: "application/json", text: '{"c":1}' },
    ],
  ],
  ["book://dune/3", [{ uri: "book://dune/3", text: "Arrakis. 4 short test" }]],
  ["book://emma/1?mode=long", [{ uri: "book://emma/1?mode=long", text: "Highbury. 2 long test" }]],
  ["file://a/b%20c", [{ uri: "file://a/b%20c", text: "a/b c" }]],
])("%s", async (uri, contents) => {
  expect((await servlet.readResource(uri)).result).toEqual({ contents });
});

test("variables are checked", async () => {
  await expect(servlet.readResource("book://dune/x")).rejects.toThrow(
    'The resource book://dune/x cannot be had: page: an integer is expected, not "x".',
  );
});

test.each<[name: string, args: Record<string, string>, result: object]>([
  [
    "review",
    { title: "Dune", tone: "strict", words: "50" },
    {
      description: "Asks for a review.",
      messages: [user("Write a strict review of Dune in 50 words.")],
    },
  ],
  [
    "review",
    { title: "Dune" },
    {
      description: "Asks for a review.",
      messages: [user("Write a kind review of Dune in 100 words.")],
    },
  ],
  [
    "talk",
    {},
    {
      messages: [
        user("Hi"),
        { role: "assistant", content: text("Yes?") },
        { role: "user", content: { type: "image", data: "iVBORw==", mimeType: "image/png" } },
      ],
    },
  ],
  ["described", {}, { description: "Of its own", messages: [user("Hi")], _meta: { a: 1 } }],
  ["raw", {}, { messages: [user("Hi")] }],
])("the prompt %s %j", async (name, args, result) => {
  expect((await servlet.getPrompt(name, args)).result).toEqual(result);
});

test("arguments of prompts are checked", async () => {
  await expect(servlet.getPrompt("review", { title: "Dune", words: "x" })).rejects.toThrow(
    'words: an integer is expected, not "x".',
  );
});

describe("completion", () => {
  const book = { type: "ref/resource" as const, uri: "book://{title}/{page}{?mode}" };
  const review = { type: "ref/prompt" as const, name: "review" };
  test.each<[ref: typeof book | typeof review, name: string, value: string, values: string[]]>([
    [book, "title", "d", ["dune"]],
    [book, "page", "1", ["dune 11", "dune 12"]],
    [book, "mode", "l", ["long"]],
    [review, "title", "", ["dune", "emma"]],
    [review, "tone", "s", ["strict"]],
    [review, "words", "", []],
  ])("%j %s %s", async (ref, name, value, values) => {
    const context = { arguments: { title: "dune" } };
    const { result } = await servlet.complete({ ref, argument: { name, value }, context });
    expect(result.completion.values).toEqual(values);
  });
});
