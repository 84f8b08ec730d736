import { describe, expect, test } from "vitest";
import { checkWithoutNulls } from "../../../src/server/kernel/core/deviations.ts";
import { checkOf } from "../../../src/server/kernel/servlets/checks.ts";
import { bundle } from "../../bundle.gen.ts";
import { callTool } from "../server.ts";

const STRING = { type: "string" };
const SCHEMA = {
  type: "object",
  properties: {
    name: STRING,
    note: STRING,
    either: { anyOf: [STRING, { type: "integer" }] },
    nullable: { type: ["string", "null"] },
    any: true,
    nested: { type: "object", properties: { a: STRING, b: STRING }, required: ["a"] },
    list: { type: "array", items: { type: "object", properties: { a: STRING } } },
    names: { type: "array", items: STRING },
  },
  required: ["name"],
};

describe("null in a member", () => {
  const check = checkOf(SCHEMA, { name: "schema" });

  test.each<[what: string, value: object, read: object]>([
    ["optional", { name: "x", note: null }, { name: "x" }],
    ["optional, of several types", { name: "x", either: null }, { name: "x" }],
    [
      "optional, in an object",
      { name: "x", nested: { a: "y", b: null } },
      { name: "x", nested: { a: "y" } },
    ],
    [
      "optional, in a list",
      { name: "x", list: [{ a: null }, { a: "y" }] },
      { name: "x", list: [{}, { a: "y" }] },
    ],
    ["of each optional member", { name: "x", note: null, nested: null }, { name: "x" }],
    [
      "that the schema allows",
      { name: "x", nullable: null, any: null },
      { name: "x", nullable: null, any: null },
    ],
    [
      "that the schema allows, beside another",
      { name: "x", nullable: null, note: null },
      { name: "x", nullable: null },
    ],
  ])("%s", (_what, value, read) => {
    const sent = structuredClone(value);
    expect(checkWithoutNulls(check, value)).toEqual({ value: read });
    expect(value).toEqual(sent);
  });

  test.each<[what: string, value: object]>([
    ["required", { name: null }],
    ["required, in an object", { name: "x", nested: { a: null } }],
    ["beside something else that is wrong", { name: "x", note: null, either: {} }],
    ["which is an item of a list", { name: "x", names: [null] }],
    ["which is the whole", [null]],
  ])("%s is refused", (_what, value) => {
    const { value: same, issues } = checkWithoutNulls(check, value);
    expect(same).toBe(value);
    expect(issues).toEqual(check(value));
    expect(issues).not.toHaveLength(0);
  });

  test("is left where nothing checks", () => {
    expect(checkWithoutNulls(undefined, { a: null })).toEqual({ value: { a: null } });
  });
});

describe("a JSON text", () => {
  const check = checkOf(SCHEMA, { name: "schema" });

  test.each<[what: string, value: object, read: object]>([
    ["for a list", { name: "x", names: '["a"]' }, { name: "x", names: ["a"] }],
    ["for an object", { name: "x", nested: ' {"a": "y"}' }, { name: "x", nested: { a: "y" } }],
    ["in a list", { name: "x", list: ['{"a": "y"}'] }, { name: "x", list: [{ a: "y" }] }],
    ["for a text", { name: '["a"]' }, { name: '["a"]' }],
    ["beside null", { name: "x", note: null, names: "[]" }, { name: "x", names: [] }],
  ])("%s is what it stands for", (_what, value, read) => {
    expect(checkWithoutNulls(check, value)).toEqual({ value: read });
  });

  test.each<[what: string, value: object]>([
    ["of what does not fit", { name: "x", names: "[1]" }],
    ["of a number", { name: "x", either: {}, names: "1" }],
    ["that is cut off", { name: "x", names: '["a"' }],
  ])("%s is refused", (_what, value) => {
    expect(checkWithoutNulls(check, value)).toEqual({ value, issues: check(value) });
  });
});

describe("null for an argument of a tool", () => {
  test("that is optional is left out", async () => {
    const { result } = await callTool("told", { text: '{"content":[]}', through: null });
    expect(result).toMatchObject({ content: [] });
    expect(result).not.toHaveProperty("isError");
  });

  test("that is required is refused", async () => {
    const { result } = await callTool("greet", { name: null });
    expect(result).toMatchObject({ isError: true });
  });

  test("that no schema speaks of is passed on", async () => {
    const { result } = await callTool("echo_input", { a: null });
    const input = JSON.parse(result?.["content"][0].text);
    expect(input.request.arguments).toEqual({ a: null });
  });

  test("is left out for every optional argument of the bundle's tools", () => {
    for (const { lists } of bundle.servlets) {
      for (const { name, inputSchema } of lists?.tools ?? []) {
        const { properties = {}, required = [] } = inputSchema;
        const optional = Object.keys(properties).filter((key) => !required.includes(key));
        const nulls = Object.fromEntries(optional.map((key) => [key, null]));
        const check = checkOf(inputSchema, { name });
        // Only that required ones are missing may be wrong.
        const isFit = checkWithoutNulls(check, nulls).issues === undefined;
        expect({ name, isFit }).toEqual({ name, isFit: check({}) === undefined });
      }
    }
  });
});
