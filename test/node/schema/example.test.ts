import { expect, test } from "vitest";
import { exampleOf } from "../../../src/server/kernel/schema/example.ts";

/** A schema of an object with one required member. */
const of = (a: object | boolean, more = {}) => ({
  type: "object",
  properties: { a },
  required: ["a"],
  ...more,
});

test.each<[object, unknown]>([
  [{ type: "string" }, "example"],
  [{ type: "string", maxLength: 3 }, "exa"],
  [{ type: "string", minLength: 10 }, "exampleexa"],
  [{ type: "string", format: "date" }, "1999-12-31"],
  [{ type: "string", format: "uri", "x-mcp-file": {} }, "data:text/plain,example"],
  [{ type: "string", pattern: "^https?://" }, "https://example.com/"],
  [{ type: "string", pattern: "^[a-z]{2}$" }, "en"],
  [{ type: "string", enum: ["x", "y"] }, "x"],
  [{ type: "string", examples: ["Ada"], enum: ["Ada"] }, "Ada"],
  [{ type: "string", default: "d" }, "d"],
  [{ const: { b: 1 } }, { b: 1 }],
  [{ type: "integer" }, 1],
  [{ type: "integer", minimum: 5 }, 5],
  [{ type: "integer", exclusiveMinimum: 5 }, 6],
  [{ type: "integer", maximum: -4 }, -4],
  [{ type: "integer", minimum: 5, multipleOf: 4 }, 8],
  [{ type: "number", minimum: 0.5, maximum: 0.75 }, 0.75],
  [{ type: "boolean" }, true],
  [{ type: ["null", "integer"] }, 1],
  [{ type: "null" }, null],
  [{ type: "array", items: { type: "integer" } }, [1]],
  [{ type: "array", items: { type: "integer" }, minItems: 3 }, [1, 1, 1]],
  [{ type: "array", items: { enum: ["x", "y"] }, minItems: 3 }, ["x", "y", "x"]],
  [{ type: "array", items: { examples: ["y"], enum: ["x", "y"] }, minItems: 2 }, ["y", "x"]],
  [{ type: "array", prefixItems: [{ type: "boolean" }], items: { type: "integer" } }, [true]],
  [of({ type: "string" }), { a: "example" }],
  [{ properties: { b: { type: "string" } } }, {}],
  [{ anyOf: [{ type: "integer" }, { type: "string" }] }, 1],
  [{ allOf: [of({ type: "integer" }), { minProperties: 1 }] }, { a: 1 }],
  [
    {
      allOf: [of({ type: "integer" }), { properties: { b: { type: "boolean" } }, required: ["b"] }],
    },
    { a: 1, b: true },
  ],
])("a member with the schema %j", (member, expected) => {
  expect(exampleOf(of(member))).toEqual({ a: expected });
});

test("the schema's own example comes first", () => {
  expect(exampleOf(of({ type: "string" }, { examples: [{ a: "Ada" }] }))).toEqual({ a: "Ada" });
});

test("references lead to definitions", () => {
  const list = {
    type: "object",
    properties: { a: { type: "integer" }, next: { $ref: "#/$defs/list" } },
    required: ["a"],
  };
  expect(exampleOf(of({ $ref: "#/$defs/list" }, { $defs: { list } }))).toEqual({ a: { a: 1 } });
});

const endless = of({ $ref: "#/$defs/endless" });
const many = ["a", "b", "c", "d", "e"];
const wide = {
  type: "object",
  properties: Object.fromEntries(many.map((name) => [name, { $ref: "#/$defs/wide" }])),
  required: many,
};

test.each<Record<string, unknown>>([
  of(false),
  of({ type: "string", pattern: "^Ω{7}$" }),
  of({ $ref: "#/$defs/endless" }, { $defs: { endless } }),
  of({ $ref: "#/$defs/wide" }, { $defs: { wide } }),
  of({ $ref: "https://example.com/elsewhere" }, { $defs: {} }),
  of({ $ref: "#/$defs/%" }, { $defs: { "%": { type: "null" } } }),
  { type: "array" },
  { not: {} },
])("there is none for %j", (schema) => {
  expect(exampleOf(schema)).toBeUndefined();
});

test("a schema that refers to itself, and to itself again, has an end", () => {
  const $ref = "#/$defs/self";
  const self = { allOf: [{ $ref }, { $ref }, { $ref }], type: "integer" };
  expect(exampleOf(of({ $ref }, { $defs: { self } }))).toBeUndefined();
});

test("a whole example has the optional members, unless they contradict each other", () => {
  const schema = {
    type: "object",
    properties: {
      to: { type: "string", format: "idn-email" },
      site: { type: "string", format: "iri" },
      options: { type: "object", properties: { path: { type: "string", format: "json-pointer" } } },
      lines: { type: "array", items: { type: "object", properties: { n: { type: "integer" } } } },
    },
    required: ["to"],
  };
  const whole = {
    to: "ada@example.com",
    site: "https://example.com/",
    options: { path: "/a" },
    lines: [{ n: 1 }],
  };
  expect(exampleOf(schema, true)).toEqual(whole);
  expect(exampleOf(schema)).toEqual({ to: "ada@example.com" });
  expect(exampleOf({ ...schema, maxProperties: 1 }, true)).toEqual({ to: "ada@example.com" });
});
