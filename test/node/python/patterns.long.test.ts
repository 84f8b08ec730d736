import { beforeAll, describe, expect, test } from "vitest";
import { loadServlet, type ServletUnderTest } from "../../../src/tools/testing/index.ts";

/** Patterns of Python's `re`, as the schema has them, and as the kit checks them. */
let servlet: ServletUnderTest;
let schemas: Map<string, Record<string, Record<string, unknown>>>;
beforeAll(async () => {
  servlet = await loadServlet("test/node/python/servlets/patterns");
  const { tools } = await servlet.list();
  schemas = new Map(
    tools.map(({ name, inputSchema }) => [name, inputSchema["properties"] as never]),
  );
});

type Case = [tool: string, said: string | undefined, fitting: string[], others: string[]];

test.each<Case>([
  ["plain", "^(red|green)-[0-9]{3}$", ["red-123"], ["red-12"]],
  ["dash", String.raw`^\p{Nd}{4}-\p{Nd}{2}$`, ["2026-11", "٢٠٢٦-11"], ["2026/11"]],
  ["punctuation", "^@# !\"%&',:;<=>_`~$", ["@# !\"%&',:;<=>_`~"], ["@"]],
  [
    "syntax",
    String.raw`^[\^\]\-\\a-c]\.\*\+\(\)\[\]\{\}\|/\\$`,
    [String.raw`b.*+()[]{}|/\ `.trim(), String.raw`-.*+()[]{}|/\ `.trim()],
    ["d"],
  ],
  ["named", String.raw`(?<y>\p{Nd}{4})-(?<m>\p{Nd}\p{Nd})`, ["on 2026-11"], ["2026"]],
  ["whole", "^[a-z]+$", ["abc"], ["ab1"]],
  ["word", String.raw`^[\p{L}\p{N}_]+$`, ["über", "日本", "Ⅷ_²"], ["a b", "-"]],
  ["no_word", String.raw`^(?:(?![^\p{L}\p{N}_]|[_])[\s\S])+$`, ["über1"], ["a_b", "a b"]],
  ["not_or", String.raw`^(?:[^\p{L}\p{N}_]|[a]){2}$`, ["a-", "  "], ["ab", "ü-"]],
  [
    "space",
    String.raw`^[^\t-\r\x1c-\x1f\x85\p{Z}]+[\t-\r\x1c-\x1f\x85\p{Z}][^\t-\r\x1c-\x1f\x85\p{Z}]+$`,
    ["a b", "a\u001cb", "\ufeff b"],
    ["a\ufeffb"],
  ],
  ["any", String.raw`^a[^\n]b$`, ["a\rb", "a\u2028b", "a😀b"], ["a\nb"]],
  ["flags", String.raw`^a[\s\S]b$`, ["a\nb"], ["a b b"]],
  ["ascii", String.raw`^\w\d[\t-\r ]$`, ["a1 ", "_2\n"], ["ä1 ", "a١ ", "a1\u00a0"]],
  ["ascii_but", String.raw`^\w(?:\p{Nd})$`, ["a1", "_١"], ["ä1", "ab"]],
  ["verbose", "^ab$", ["ab"], ["a b"]],
  ["lazy", String.raw`^(?:ab)*?c{2,}?(?!d)(?<=c)`, ["ababcc", "cccd"], ["abc", "ccd"]],
  ["choices", "^(?:foo|far|bar)+$", ["foobar", "far"], ["fbar"]],
  ["null", String.raw`^\x00\x0a$`, ["\0\n"], ["\0"]],
  ["ignores_case", undefined, ["aBC"], ["ab"]],
  ["ignores_case_within", undefined, ["Ab"], ["AB"]],
  ["boundary", undefined, ["a cat"], ["cats", "éclat catü"]],
  ["back", undefined, ["'x'"], ["'x\""]],
  ["back_by_name", undefined, ["'x'"], ["'x\""]],
  ["lines", undefined, ["b\na"], ["b"]],
  ["possessive", undefined, ["aab"], ["aac"]],
  ["atomic", undefined, ["ac"], ["abc"]],
  ["conditional", undefined, ["<a>", "a!"], ["<a!"]],
  ["compiled", undefined, ["ABC"], ["ab"]],
  ["large", undefined, ["ab"], ["a1"]],
])(
  "%s: the schema says %j, and a server refuses what Python does",
  async (tool, said, ...texts) => {
    const string = { type: "string" };
    const value = said === undefined ? string : { ...string, pattern: said };
    expect(schemas.get(tool)).toEqual({ value, other: { type: "integer", default: 1 } });
    const [fitting, others] = texts;
    for (const text of fitting) {
      const { result } = await servlet.callTool(tool, { value: text });
      expect(result.content).toEqual([{ type: "text", text: `${text} 1` }]);
    }
    for (const text of others)
      expect(await refusal(tool, { value: text })).toMatch(
        said === undefined ? "a text that fits" : /pattern|match/,
      );
    // The rest of the schema is checked, whatever is left out of it.
    expect(await refusal(tool, { value: fitting[0], other: "x" })).toContain("other");
  },
);

/** Why a call is refused: by the schema, or by the kit. */
async function refusal(tool: string, args: object): Promise<string> {
  const called = servlet.callTool(tool, args as Record<string, unknown>);
  const { result } = await called.catch((error: Error) => ({
    result: { isError: true, content: [{ type: "text" as const, text: error.message }] },
  }));
  expect(result.isError).toBe(true);
  const [block] = result.content;
  return block?.type === "text" ? block.text : "";
}

test("a form has the pattern, too", async () => {
  const answers = { "elicitation/create": [{ action: "accept", content: { name: "ü-ü" } }] };
  const { result, asked } = await servlet.callTool("asks", {}, { answers });
  expect(result.content).toEqual([{ type: "text", text: "ü-ü" }]);
  expect(asked[0]!.params["requestedSchema"]).toMatchObject({
    properties: { name: { pattern: String.raw`^[\p{L}\p{N}_]+-[\p{L}\p{N}_]+$` } },
  });
});

test("so has a model of pydantic 1", () => {
  expect(schemas.get("models")!["value"]!["properties"]).toEqual({
    pattern: { type: "string", pattern: String.raw`^\p{Nd}-$` },
    other: { type: "string" },
    third: { type: "object", default: { pattern: "(?i)a" } },
  });
});

describe("classes are the same in both languages", () => {
  test.each([
    [String.raw`\d`, /\p{Nd}/u],
    [String.raw`\w`, /[\p{L}\p{N}_]/u],
    [String.raw`\s`, new RegExp(String.raw`[\t-\r\x1c-\x1f\x85\p{Z}]`, "u")],
    [String.raw`(?a)\w`, /\w/u],
    [String.raw`(?a)\s`, /[\t-\r ]/u],
  ])("%s", async (source, expression) => {
    const ranges: [number, number][] = [];
    for (let code = 0; code < 0x11_00_00; code++) {
      if (!expression.test(String.fromCodePoint(code))) continue;
      if (ranges.at(-1)?.[1] === code - 1) ranges.at(-1)![1] = code;
      else ranges.push([code, code]);
    }
    const members = ranges.map((one) => one.join("-")).join(",");
    const { result } = await servlet.callTool("outside", { source, members });
    const found = (result.structuredContent as { result: number[] }).result;
    // Those that a newer Unicode has, which the server takes, and Python does not.
    expect(found.filter((code) => !expression.test(String.fromCodePoint(code)))).toEqual([]);
    expect(found.length).toBeLessThan(6000);
  });
});
