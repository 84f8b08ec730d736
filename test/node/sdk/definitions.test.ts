import { describe, expect, test, vi } from "vitest";
import * as zod from "zod";
import * as globals from "../../../src/kit/globals.ts";
import { AbortSignal } from "../../../src/kit/globals/abort.ts";
import { defineServlet } from "../../../src/kit/servlet.ts";
import * as mini from "../../../src/kit/zod-mini.ts";

/** Definitions that fail when a servlet is built. Here the kit runs in Node, as it would in the interpreter. */
const handler = () => "";
const read = () => "";
const build = defineServlet as (spec: object) => unknown;

describe("a definition is refused", () => {
  test.each<[what: string, spec: object, message: string]>([
    ["that is empty", {}, "The servlet offers nothing"],
    ["whose groups are empty", { tools: {}, prompts: {} }, "The servlet offers nothing"],
    [
      "with a tool's name that MCP refuses",
      { tools: { "a b": { handler } } },
      'The tool "a b" needs a name of letters, digits, "_", "-" and ".", at most 128.',
    ],
    [
      "with a tool's name that is too long",
      { tools: { ["x".repeat(129)]: { handler } } },
      "at most 128.",
    ],
    [
      "without a handler",
      { tools: { a: { description: "" } } },
      'The tool "a" needs a function `handler`.',
    ],
    [
      "without read",
      { resources: { "x:a": { name: "a" } } },
      'The resource "x:a" needs a function `read`.',
    ],
    [
      "of a template without read",
      { resourceTemplates: { "x:{a}": { name: "a" } } },
      'The resource template "x:{a}" needs a function `read`.',
    ],
    ["without get", { prompts: { p: {} } }, 'The prompt "p" needs a function `get`.'],
    [
      "with a bad template",
      { resourceTemplates: { "x:{a b}": { name: "a", read } } },
      'The URI template "x:{a b}" has a bad expression: {a b}.',
    ],
    [
      "that completes a variable which is not there",
      { resourceTemplates: { "x:{a}": { name: "a", read, complete: { b: () => [] } } } },
      'The resource template "x:{a}" completes "b", which is not one of its variables.',
    ],
    [
      "with a description that is not JSON",
      { tools: { a: { _meta: { n: 1n }, handler } } },
      "The list of tools is not JSON: tools.0._meta.n is a BigInt",
    ],
  ])("%s", (_what, spec, message) => {
    expect(() => build(spec)).toThrow(message);
  });

  test("when it is the second", () => {
    vi.stubGlobal("__servlet", {});
    expect(() => build({ tools: { a: { handler } } })).toThrow(
      "A servlet calls defineServlet once.",
    );
    vi.unstubAllGlobals();
  });
});

describe.each([
  ["zod", zod],
  ["zod/mini", mini],
])("a schema of %s is refused", (_library, z) => {
  test.each<[what: string, tool: object, message: string]>([
    [
      "that JSON has no type for",
      { input: z.object({ at: z.date() }) },
      'The input of the tool "a" cannot be expressed as JSON Schema: Date cannot be represented in JSON Schema. Use types that JSON has, or give a JSON Schema.',
    ],
    [
      "whose output is a transform's",
      { output: z.object({ x: z.pipe(z.string(), z.transform(Number)) }) },
      'The output of the tool "a" cannot be expressed as JSON Schema: Transforms cannot be represented in JSON Schema.',
    ],
    [
      "that is an input but no object",
      { input: z.union([z.object({}), z.string()]) },
      'The input of the tool "a" does not describe an object: at its root it needs type "object" (in zod: z.object({ … }), or a union of such).',
    ],
  ])("%s", (_what, tool, message) => {
    expect(() => build({ tools: { a: { ...tool, handler } } })).toThrow(message);
  });
});

describe("any other schema is refused", () => {
  test.each<[what: string, input: unknown, message: string]>([
    ["that is not a schema", "object", "is neither a zod schema nor a JSON Schema."],
    ["that is an array", [], "is neither a zod schema nor a JSON Schema."],
    ["without a type", { properties: {} }, "does not describe an object"],
  ])("%s", (_what, input, message) => {
    expect(() => build({ tools: { a: { input, handler } } })).toThrow(
      `The input of the tool "a" ${message}`,
    );
  });
});

describe("functions whose answers differ from call to call fail while a servlet is built", () => {
  test.each<[what: string, use: () => unknown]>([
    ["A timer", () => globals.setTimeout(() => {}, 1)],
    ["A timer", () => globals.setInterval(() => {}, 1)],
    ["A timer", () => AbortSignal.timeout(1)],
    ["crypto.getRandomValues()", () => globals.crypto.randomUUID()],
  ])("%s", (what, use) => {
    expect(use).toThrow(
      `${what} works only inside a handler: module scope runs once, when the servlet is built.`,
    );
  });

  test("fetch", async () => {
    await expect(globals.fetch("https://a.example")).rejects.toThrow(
      "fetch() works only inside a handler",
    );
  });
});
