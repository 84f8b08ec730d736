import { describe, expect, test } from "vitest";
import {
  abridged,
  beginningOf,
  parseJson,
  printable,
  printableJson,
  printableLines,
  stacksOf,
} from "../../../src/server/kernel/core/text.ts";

/** Text of others in logs, terminals and pages. */

test.each([
  ["plain – Ä 💥\tย้อ", "plain – Ä 💥\tย้อ"],
  ["\u001b[31mred\u007f", "\\u{1b}[31mred\\u{7f}"],
  ["a\nb\r\u0085\v\u2028", "a\\u{a}b\\u{d}\\u{85}\\u{b}\\u{2028}"],
  [
    "\u202egnp\u2069\u200b\u200d\ufeff\u{e0041}",
    "\\u{202e}gnp\\u{2069}\\u{200b}\\u{200d}\\u{feff}\\u{e0041}",
  ],
])("%j is shown as %s", (text, shown) => {
  expect(printable(text)).toBe(shown);
});

test("a lone surrogate is shown by its number", () => {
  expect(printable("a\ud800b")).toBe("a\\u{d800}b");
});

test("lines below the first are indented, whatever ends them", () => {
  expect(printableLines("a\r\nb\u0085c\v\fd\u2028e\u2029f\u001b")).toBe(
    "a\n  b\n  c\n  d\n  e\n  f\\u{1b}",
  );
});

test("JSON stays JSON, and the same value", () => {
  const value = { "a\u202e": "\n\u009b\u{e0041}\u2028💥" };
  expect(JSON.parse(printableJson(value))).toEqual(value);
  expect(printable(printableJson(value))).toBe(printableJson(value));
});

describe("the trace of an error", () => {
  test("has its causes", () => {
    const trace = stacksOf(
      new AggregateError([new Error("one"), "two"], "all", { cause: new Error("why") }),
    );
    expect(trace).toMatch(/all[^]*caused by [^]*why[^]*caused by [^]*one[^]*caused by two$/);
  });

  test("ends, though they go round", () => {
    const error = new Error("round");
    error.cause = error;
    expect(stacksOf(error)).toContain("round");
  });

  test("is that of anything that is thrown", () => {
    expect(["x", undefined, Object.create(null)].map(stacksOf)).toEqual([
      "x",
      "[object Undefined]",
      "[object Object]",
    ]);
  });
});

describe("text that leaves has no half of a character", () => {
  test.each([
    [String.raw`"a\ud83d"`, "a\ufffd"],
    [String.raw`"\uDE00b"`, "\ufffdb"],
    [String.raw`"\ud83d\ude00"`, "😀"],
    [String.raw`"\ud83d\ud83d\ude00"`, "\ufffd😀"],
    [String.raw`"\ud83d\u0041"`, "\ufffdA"],
    [String.raw`"\ud83d\\ude00"`, "\ufffd\\ude00"],
    [String.raw`"\\ud83d"`, "\\ud83d"],
    [String.raw`"\\\ud83d"`, "\\\ufffd"],
    [String.raw`{"\uD800":["\udfff",{"x":"😀"}]}`, { "\ufffd": ["\ufffd", { x: "😀" }] }],
  ])("%s", (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });

  test("any text is read as its well-formed self", () => {
    const units = ["\\", '"', "u", "d83d", "\ud83d", "\ude00", "\ud7ff"];
    let texts = [""];
    for (let length = 1; length <= 4; length++) {
      texts = texts.flatMap((text) => [text, ...units.map((unit) => text + unit)]);
    }
    expect(parseJson(JSON.stringify(texts))).toEqual(texts.map((text) => text.toWellFormed()));
  });

  test.each([
    ["a😀b", 1, "a"],
    ["a😀b", 2, "a"],
    ["a😀b", 3, "a😀"],
    ["a😀", 3, "a😀"],
    ["", 0, ""],
  ])("the beginning of %s of %d units is %s", (text, most, beginning) => {
    expect(beginningOf(text, most)).toBe(beginning);
  });
});

test.each([
  ["abcdef", 6, "abcdef"],
  ["abcdefg", 6, "abc … (1 characters more) … efg"],
  ["aaa💥bbbbbb💥ccc", 8, "aaa\ufffd … (8 characters more) … \ufffdccc"],
])("%j within %d characters is %j", (text, most, short) => {
  expect(abridged(text, most)).toBe(short);
});
