import { describe, expect, test } from "vitest";
import { printable, printableJson, printableLines, traceOf } from "../../src/text.ts";

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
    const trace = traceOf(
      new AggregateError([new Error("one"), "two"], "all", { cause: new Error("why") }),
    );
    expect(trace).toMatch(/all[^]*caused by [^]*why[^]*caused by [^]*one[^]*caused by two$/);
  });

  test("ends, though they go round", () => {
    const error = new Error("round");
    error.cause = error;
    expect(traceOf(error)).toContain("round");
  });

  test("is that of anything that is thrown", () => {
    expect(["x", undefined, Object.create(null)].map(traceOf)).toEqual([
      "x",
      "[object Undefined]",
      "[object Object]",
    ]);
  });
});
