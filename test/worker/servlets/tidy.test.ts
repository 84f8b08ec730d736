import {
  CallToolResultSchema,
  CompleteResultSchema,
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesResultSchema,
  ListToolsResultSchema,
} from "@modelcontextprotocol/core";
import { describe, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { olderResult } from "../../../src/server/kernel/mcp/legacy/shapes.ts";
import { content, contents } from "../../../src/server/kernel/servlets/tidy/content.ts";
import { validList } from "../../../src/server/kernel/servlets/tidy/lists.ts";
import { completion, tidyToolResult } from "../../../src/server/kernel/servlets/tidy/results.ts";

const SCHEMAS = {
  tools: ListToolsResultSchema,
  resources: ListResourcesResultSchema,
  resourceTemplates: ListResourceTemplatesResultSchema,
  prompts: ListPromptsResultSchema,
};

describe("a list loses the members that clients reject, and no others", () => {
  const object = { type: "object", properties: {} };
  const tool = { name: "a", inputSchema: object };
  const link = { uri: "a:b", name: "a:b" };
  const icon = { src: "https://a.example/a.png" };
  const whole = { ...icon, mimeType: "image/png", sizes: ["any"], theme: "dark" };
  test.each([
    ["resources", { uri: "a:b", name: 7 }, link],
    ["resources", { uri: "a:b", name: "" }, link],
    [
      "resourceTemplates",
      { uriTemplate: "a:{b}", name: {} },
      { uriTemplate: "a:{b}", name: "a:{b}" },
    ],
    ["resources", { ...link, annotations: { lastModified: "2026-02-30T00:00:00Z" } }, link],
    [
      "resources",
      { ...link, annotations: { lastModified: "today", priority: 1 } },
      { ...link, annotations: { priority: 1 } },
    ],
    [
      "prompts",
      { name: "a", arguments: [{ name: 5 }, {}, null, "b", { name: "c", required: 1 }] },
      { name: "a", arguments: [{ name: "c" }] },
    ],
    [
      "tools",
      { ...tool, inputSchema: { properties: [], required: "x", default: null } },
      { ...tool, inputSchema: { ...object, default: null } },
    ],
    [
      "tools",
      { ...tool, inputSchema: { required: ["x", 5], properties: { x: true } } },
      { ...tool, inputSchema: { ...object, properties: { x: true } } },
    ],
    [
      "tools",
      { ...tool, outputSchema: { ...object, $schema: 5, properties: 1, required: {} } },
      { ...tool, outputSchema: object },
    ],
    ["tools", { ...tool, execution: { taskSupport: "maybe" } }, { ...tool, execution: {} }],
    [
      "tools",
      { ...tool, icons: [whole, { ...icon, sizes: "any", theme: "blue", mimeType: 1 }] },
      { ...tool, icons: [whole, icon] },
    ],
    ["tools", { ...tool, icons: [{ sizes: ["any"] }, null, icon] }, { ...tool, icons: [icon] }],
    ["tools", { ...tool, icons: icon }, tool],
  ] as const)("%s: %j", (kind, given, kept) => {
    const found = validList(kind, [given]);
    expect(SCHEMAS[kind].safeParse({ [kind]: found }).error).toBeUndefined();
    expect(found).toEqual([kept]);
  });
});

test.each([
  ["2026-02-28T23:59:59Z", true],
  ["2024-02-29T00:00:00.125+05:30", true],
  ["2025-02-29T00:00:00Z", false],
  ["2026-13-01T00:00:00Z", false],
  ["2026-01-01T00:00:00", false],
  ["2026-01-01", false],
])("a resource last modified at %s", (lastModified, isKept) => {
  const [found] = validList("resources", [{ uri: "a:b", annotations: { lastModified } }]);
  expect(found?.annotations).toEqual(isKept ? { lastModified } : undefined);
});

describe("base64", () => {
  /** The three kinds of content that have bytes. */
  const written = (data: unknown) => [
    { type: "image", data },
    { type: "audio", data },
    { type: "resource", resource: { uri: "a:b", blob: data } },
  ];
  const dataOf = (block: unknown) => {
    const { data, resource } = block as { data?: string; resource?: { blob?: string } };
    return data ?? resource?.blob;
  };
  /** What Go, Rust and strict readers of Python take: padded, canonical, without white space. */
  const STRICT =
    /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/;

  test.each([
    ["", ""],
    ["aGk=", "aGk="],
    ["QUJD".repeat(1000), "QUJD".repeat(1000)],
    ["without padding", "aGk", "aGk="],
    ["with half of its padding", "aA=", "aA=="],
    ["with padding that is not needed", "QUJD==", "QUJD"],
    ["with line breaks", "aG\r\nk=\n", "aGk="],
    ["with spaces and tabs", " QU JD\tQQ ==", "QUJDQQ=="],
    ["four characters, of which one is a space", "aGk ", "aGk="],
    ["with other white space", "\ufeffaG\u00a0k=", "aGk="],
    ["with bits after the end", "aGl=", "aGk="],
    ["base64url", "_-_-", "/+/+"],
    ["base64url without padding", "-_8", "+/8="],
    ["a data URL", "data:image/png;base64,aGk=", "aGk="],
    ["a data URL with parameters", "data:text/plain;charset=utf-8;base64,aGk=", "aGk="],
    ["a data URL in other letters, with white space", " DATA:image/png;BASE64, aG\nk", "aGk="],
    ["a data URL that is escaped", "data:image/png;base64,%2B%2F8%3D", "+/8="],
    ["a data URL without base64", "data:image/svg+xml;utf8,%3Csvg/>é", btoa("<svg/>Ã©")],
    ["a data URL without its scheme", "image/png;base64,aGk=", "aGk="],
    ["a data URL of nothing", "data:,", ""],
  ])("%.60s is sent as every client reads it", (...[, given, sent = given]) => {
    const blocks = written(given).map(content);
    expect(CallToolResultSchema.safeParse({ content: blocks }).error).toBeUndefined();
    for (const block of blocks) {
      expect(dataOf(block)).toBe(sent);
      expect(dataOf(block)).toMatch(STRICT);
    }
  });

  test.each([
    ["?"],
    ["a"],
    ["+_8="],
    ["QQ==QQ=="],
    ["https://a.example/a.png"],
    ["data:image/png;base64,?"],
    ["data:image/png,%ff"],
    ["<svg/>"],
  ])("%j is refused, and the error says what to write", (data) => {
    const [image, audio, resource] = written(data);
    const advice = "Write the bytes in base64, or as a data URL";
    expect(() => content(image)).toThrow(`an image block's data is not base64. ${advice}`);
    expect(() => content(audio)).toThrow(`an audio block's data is not base64. ${advice}`);
    expect(() => content(resource)).toThrow(`a resource's blob is not base64. ${advice}`);
  });

  test("bytes as numbers are refused with the same advice", () => {
    for (const data of [{ 0: 137, 1: 80 }, [137, 80], { type: "Buffer", data: [137] }, 7, null]) {
      expect(() => content({ type: "image", data })).toThrow(/is not base64. Write the bytes in/);
    }
  });

  test.each([
    ["of a data URL", { data: "data:image/webp;base64,aGk=" }, "image", "image/webp"],
    [
      "of a data URL, which is a sound",
      { data: "data:audio/ogg;base64,aGk" },
      "audio",
      "audio/ogg",
    ],
    [
      "of its own",
      { data: "data:image/webp;base64,aGk=", mimeType: "image/gif" },
      "image",
      "image/gif",
    ],
    ["that does not exist", { type: "image", mimeType: "image/jpg" }, "image", "image/jpeg"],
    ["in other letters", { type: "image", mimeType: " Image/JPG" }, "image", "image/jpeg"],
    ["with a parameter", { mimeType: "IMAGE/JPG; charset=binary" }, "image", "image/jpeg"],
    [
      "of a sound, with a parameter",
      { mimeType: "Audio/L16; rate=24000" },
      "audio",
      "audio/l16;rate=24000",
    ],
    ["that is an extension", { type: "image", mimeType: "png" }, "image", "image/png"],
    ["of an old browser", { type: "image", mimeType: "image/x-png" }, "image", "image/png"],
    [
      "of a sound that does not exist",
      { type: "audio", mimeType: "audio/mp3" },
      "audio",
      "audio/mpeg",
    ],
    ["of a sound before it was standard", { mimeType: "audio/x-wav" }, "audio", "audio/wav"],
    [
      "that is not known",
      { type: "image", mimeType: "image/x-unheard" },
      "image",
      "image/x-unheard",
    ],
  ])("the type %s", (_, block, type, mimeType) => {
    expect(content({ data: "aGk=", ...block })).toMatchObject({ type, data: "aGk=", mimeType });
  });

  test("the type of a resource's bytes", () => {
    const blob = "data:image/jpg;base64,aGk";
    const kept = { blob: "aGk=", mimeType: "image/jpeg" };
    expect(contents({ uri: "a:b", blob }, undefined)).toEqual({ uri: "a:b", ...kept });
    const own = { uri: "a:b", blob: "aGk=", mimeType: "image/jpg" };
    expect(contents(own, undefined)).toEqual({ uri: "a:b", ...kept });
    const text = { uri: "a:b", text: "data:image/png;base64,aGk", mimeType: "Text/X" };
    expect(contents(text, undefined)).toEqual(text);
  });
});

describe("structured content is text too", () => {
  const structuredContent = { total: 3 };
  const text = { type: "text", text: '{"total":3}' };
  const image = { type: "image", data: "aGk=", mimeType: "image/png" };
  const link = { type: "resource_link", uri: "a:b", name: "b" };
  const resource = { type: "resource", resource: { uri: "a:b", text: "t" } };
  test.each([
    [undefined, [text]],
    [null, [text]],
    [[], [text]],
    [[image], [image, text]],
    [
      [link, resource],
      [link, resource, text],
    ],
    [[{ type: "text", text: "" }], [{ type: "text", text: "" }, text]],
    [
      [image, { type: "text", text: "3" }],
      [image, { type: "text", text: "3" }],
    ],
  ])("where no block of %j has text", (given, blocks) => {
    const result = { content: given, structuredContent };
    expect(tidyToolResult(result)).toEqual({ content: blocks, structuredContent });
  });

  test.each([[[1, 2]], ["a"], [0], [false]])("also where it is %j", (structured) => {
    expect(tidyToolResult({ structuredContent: structured, content: [] })).toEqual({
      content: [{ type: "text", text: JSON.stringify(structured) }],
      structuredContent: structured,
    });
  });

  test.each([
    ["2025-03-26", { all: "x".repeat(limits.repeatedCharacters) }],
    ["2025-11-25", ["x".repeat(limits.repeatedCharacters)]],
  ])("whole in %s, which has no such content", (version, structured) => {
    const newest = tidyToolResult({ structuredContent: structured });
    expect(newest.content).toEqual([
      { type: "text", text: expect.stringMatching(/^The result is in .structuredContent/) },
    ]);
    expect(olderResult(newest, version)).toEqual({
      content: [{ type: "text", text: JSON.stringify(structured) }],
    });
  });
});

test("an older result repeats structured content once, whatever a servlet has written", () => {
  const [note] = tidyToolResult({
    structuredContent: ["x".repeat(limits.repeatedCharacters)],
  }).content;
  const structuredContent = ["y"];
  expect(olderResult({ content: [note, note, note], structuredContent }, "2025-11-25")).toEqual({
    content: [note, note, { type: "text", text: '["y"]' }],
  });
});

test.each([{ messages: [] }, { contents: [] }, { completion: {} }, { content: [] }])(
  "structured content beside %j is dropped for older clients",
  (result) => {
    expect(olderResult({ ...result, structuredContent: 1 }, "2025-11-25")).toEqual(result);
  },
);

test("the type of a block is found in time that grows with its length alone", () => {
  const data = `${" ".repeat(4_000_000)}x`;
  expect(() => content({ data })).toThrow("base64");
  expect(content({ data: "aGk=", mimeType: "  audio/mp3" })).toMatchObject({ type: "audio" });
});

describe("a result without content", () => {
  test.each([{}, { content: null }, { _meta: { a: 1 } }, { isError: true }])(
    "is empty where it is %j",
    (given) => {
      expect(tidyToolResult(given)).toMatchObject({ content: [] });
    },
  );

  test.each([
    [{ text: "hi" }, /the result has `text` and no content\. Return `content`, a list of blocks/],
    [{ contents: [] }, /the result has `contents` and no content/],
    [{ content: "hi" }, /the result's content is not an array/],
  ])("is refused where it is %j", (given, message) => {
    expect(() => tidyToolResult(given)).toThrow(message);
  });
});

test.each([
  [[true, "true", 1, "yes", {}], true],
  [[false, "false", "", 0], false],
  [[null, undefined], undefined],
])("a result whose isError is one of %j", (all, isError) => {
  for (const given of all) {
    expect(tidyToolResult({ content: [], isError: given })).toEqual({ content: [], isError });
  }
});

test("a link without a name that can be read has its URI for one", () => {
  for (const name of [undefined, 7, ""]) {
    expect(content({ type: "resource_link", uri: "a:b", name })).toMatchObject({ name: "a:b" });
  }
});

test("a block keeps members of its own, whatever they are called", () => {
  const resource = { uri: "a:b", text: "t" };
  const block = content({ type: "resource", constructor: 1, resource });
  expect(Object.hasOwn(block, "constructor")).toBe(true);
});

test.each([
  [150, 5000, { total: 5000, hasMore: true }],
  [150, 3, { total: 150, hasMore: true }],
  [150, undefined, { total: 150, hasMore: true }],
  [3, 5000, { total: 5000 }],
  [3, 1.5, {}],
])("a completion of %d values and a total of %d", (count, total, more) => {
  const found = completion({ completion: { values: Array(count).fill("a"), total } });
  expect(CompleteResultSchema.safeParse(found).error).toBeUndefined();
  expect(found.completion).toEqual({ values: Array(Math.min(count, 100)).fill("a"), ...more });
});
