import { beforeAll, expect, test } from "vitest";
import { loadServlet, type ServletUnderTest } from "../../../src/tools/testing/index.ts";

/** Output of `console` in the server's log. */
let servlet: ServletUnderTest;
beforeAll(async () => {
  servlet = await loadServlet("test/node/sdk/servlets/console");
});

test.each<[what: string, lines: string[]]>([
  [
    "levels",
    [
      "trace: t",
      "debug: d",
      "info: l",
      "info: i",
      "warn: w",
      "error: e",
      "info: { a: 1 }",
      "info: [ 1 ]",
    ],
  ],
  ["assert", ["error: Assertion failed: no %d 1", "error: Assertion failed:"]],
  ["texts", ["info: a  b c"]],
  ["nothing", ["info: "]],
  [
    "filled",
    [
      'info: a is 3, 4, NaN; [ 1 ] { b: 2 } "c".',
      "info: one %s",
      "info: 100% 1 %d%% 2",
      'info: { not: "a format" } %s 1',
    ],
  ],
  ["primitives", ["info: 1 -0 5n true null undefined Symbol(s) NaN"]],
  [
    "objects",
    ['info: { a: { b: [] }, "c-d": "e", f: [Function f], g: [Function g], h: [Getter] }'],
  ],
  [
    "built_in",
    [
      'info: 1970-01-01T00:00:00.000Z Invalid Date /x/g Map(1) { "k" => Set(1) { 1 } }',
      "info: Uint8Array(3) [ 0, 0, 0 ] ArrayBuffer(2) Promise {} [null prototype] {}",
    ],
  ],
  ["classes", ['info: Point { x: 1, label: "a" } [Function Point]']],
  ["deep", ["info: { a: { b: { c: { d: [Object], f: [Array] } } } }"]],
  ["cycle", ["info: { self: [Circular] }"]],
  ["many", [`info: 103 [\n${"  0,\n".repeat(100)}  … 3 more\n]`]],
  [
    "wide",
    [
      `info: {\n  first: "${"a".repeat(40)}",\n  second: "${"b".repeat(40)}",\n  third: { c: 1 }\n}`,
    ],
  ],
  ["error", ['error: It failed: RangeError: far\n    at place\n  [cause]: "near"']],
  ["hostile", ["info: [no keys]"]],
])("%s", async (what, lines) => {
  const { logs, result } = await servlet.callTool("write", { what });
  expect(result).toEqual({ content: [] });
  expect(logs).toEqual(lines);
});
