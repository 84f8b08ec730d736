import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { isObject, type Json } from "../../../src/server/kernel/core/model.ts";
import { Schema, SchemaError } from "../../../src/server/kernel/schema/schema.ts";
import { Chance } from "../fuzz/chance.ts";

/**
 * Schemas are checked as Ajv checks them. Left out are
 * `contains` and `unevaluated…`, where Ajv differs from the specification or generates code that fails.
 */
const NAMES = ["a", "b", "ab", "c"];

function valueBy(chance: Chance, depth: number): unknown {
  const kinds = depth === 0 ? 5 : 7;
  switch (chance.below(kinds)) {
    case 0:
      return chance.pick([0, 1, 2, 1.5, -1, 3, 10]);
    case 1:
      return chance.pick(["", "a", "ab", "abc", "😀", "b1"]);
    case 2:
      return chance.of(0.5);
    case 3:
      return null;
    case 4:
    case 5:
      return Object.fromEntries(
        NAMES.filter(() => chance.of(0.5)).map((name) => [
          name,
          valueBy(chance, Math.max(0, depth - 1)),
        ]),
      );
    default:
      return Array.from({ length: chance.below(4) }, () => valueBy(chance, depth - 1));
  }
}

/** One keyword with its value. */
function keywordBy(chance: Chance, depth: number): Json {
  const inner = () => schemaBy(chance, depth - 1);
  const some = () => Array.from({ length: 1 + chance.below(2) }, inner);
  const named = () =>
    Object.fromEntries(NAMES.filter(() => chance.of(0.4)).map((n) => [n, inner()]));
  const names = () => NAMES.filter(() => chance.of(0.3));
  const small = () => chance.below(4);
  const plain: (() => Json)[] = [
    () => ({ type: chance.pick(["object", "array", "string", "number", "integer", "null"]) }),
    () => ({ type: ["object", chance.pick(["string", "boolean", "array"])] }),
    () => ({ enum: [valueBy(chance, 1), valueBy(chance, 1), 1] }),
    () => ({ const: valueBy(chance, 1) }),
    () => ({
      [chance.pick(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"])]: small(),
    }),
    () => ({ multipleOf: chance.pick([1, 2, 0.5]) }),
    () => ({ [chance.pick(["minLength", "maxLength", "minItems", "maxItems"])]: small() }),
    () => ({ [chance.pick(["minProperties", "maxProperties"])]: small() }),
    () => ({ pattern: chance.pick(["^a", "b$", "^.$", "\\d", "^(?!ab)"]) }),
    () => ({ uniqueItems: true }),
    () => ({ required: names() }),
    () => ({ dependentRequired: { a: names() } }),
    () => ({ $ref: chance.pick(["#/$defs/a", "#/$defs/b", "#x", "#y"]) }),
  ];
  const parts: (() => Json)[] = [
    () => ({ properties: named() }),
    () => ({ properties: named(), additionalProperties: inner() }),
    () => ({ patternProperties: { "^a": inner() }, additionalProperties: chance.of(0.5) }),
    () => ({ propertyNames: inner() }),
    () => ({ dependentSchemas: { [chance.pick(NAMES)]: inner() } }),
    () => ({ items: inner() }),
    () => ({ prefixItems: some(), items: inner() }),
    () => ({ [chance.pick(["allOf", "anyOf", "oneOf"])]: some() }),
    () => ({ not: inner() }),
    () => Object.fromEntries(["if", "then", "else"].map((key) => [key, inner()])),
  ];
  return chance.pick(depth > 0 && chance.of(0.6) ? parts : plain)();
}

const schemaBy = (chance: Chance, depth: number): Json | boolean =>
  chance.of(0.1)
    ? chance.of(0.8)
    : Object.assign(
        {},
        ...Array.from({ length: 1 + chance.below(3) }, () => keywordBy(chance, depth)),
      );

/** References that lead to each other without end are no test of anything else. */
function documentBy(chance: Chance): Json {
  const leaf = (name: string) => {
    const schema = schemaBy(chance, 1);
    return { ...(isObject(schema) ? withoutReferences(schema) : {}), $anchor: name };
  };
  return { ...(schemaBy(chance, 3) as Json), $defs: { a: leaf("x"), b: leaf("y") } };
}

const withoutReferences = (schema: Json): Json =>
  JSON.parse(JSON.stringify(schema).replaceAll('"$ref":', '"$comment":')) as Json;

/** Its code is used ten times only. */
const OPTIONS = { strict: false, validateFormats: false, code: { optimize: false } };

test.each([1, 2, 3, 4])("random schemas mean the same as to Ajv, seed %j", (seed) => {
  const chance = new Chance(seed);
  let valid = 0;
  const differing: object[] = [];
  for (let count = 0; count < 100; count++) {
    const schema = documentBy(chance);
    const ajv = new Ajv2020(OPTIONS);
    const validate = ajv.compile(schema);
    const ours = new Schema(schema);
    for (let tries = 0; tries < 10; tries++) {
      const value = valueBy(chance, 3);
      const fits = validate(value);
      if (fits !== (ours.issues(value) === undefined)) differing.push({ schema, value, fits });
      if (fits) valid++;
    }
  }
  expect(differing).toEqual([]);
  expect(valid).toBeGreaterThan(100);
});

describe("an issue names its place, the expected and the actual value", () => {
  const person = {
    type: "object",
    properties: {
      name: { type: "string", minLength: 2 },
      age: { type: "integer", minimum: 0 },
      tags: { type: "array", items: { enum: ["x", "y"] }, uniqueItems: true },
      at: { properties: { city: {} }, required: ["city"] },
    },
    required: ["name"],
    additionalProperties: false,
  };
  test.each<[unknown, string[]]>([
    [{}, ["name is required"]],
    [[], [" must be an object, not an array"]],
    [undefined, [" must be an object, but is missing"]],
    [{ name: 1 }, ["name must be a string, not a number"]],
    [
      { name: "a", age: 1.5 },
      ["name must have at least 2 characters", "age must be an integer, not a fraction"],
    ],
    [{ name: "ab", age: -1 }, ["age must be at least 0"]],
    [
      { name: "ab", tags: ["x", "z", "x"] },
      ["tags must not have equal items: 0 and 2 are equal", 'tags.1 must be "x" or "y"'],
    ],
    [{ name: "ab", at: {} }, ["at.city is required"]],
    [{ name: "ab", more: 1 }, ["more is not expected; expected: `name`, `age`, `tags` or `at`"]],
  ])("%j", (value, told) => {
    const issues = new Schema(person).issues(value)!;
    expect(issues.map(({ path, message }) => `${path.join(".")} ${message}`)).toEqual(told);
  });

  test("at most so many times, and with short names", () => {
    const value = Object.fromEntries(
      Array.from({ length: 1000 }, (_, at) => [`${at}`.repeat(1000), 1]),
    );
    const issues = new Schema({ additionalProperties: false }).issues(value)!;
    expect(issues).toHaveLength(limits.checkIssues);
    expect(JSON.stringify(issues).length).toBeLessThan(20_000);
  });
});

describe("a value of a discriminated union is checked against the selected schema only", () => {
  const branch = (kind: unknown, name: string, others: object = {}) => ({
    type: "object",
    properties: { kind, [name]: { type: "number" } },
    required: ["kind", name],
    ...others,
  });
  const [a, b] = [branch({ const: "a" }, "x"), branch({ enum: ["b", 3] }, "y")];
  const $defs = { A: a, B: { $ref: "#/$defs/C" }, C: b };
  const choices = {
    oneOf: { oneOf: [a, b] },
    anyOf: { anyOf: [a, b] },
    "references and null": {
      oneOf: [{ $ref: "#/$defs/A" }, { type: "null" }, { $ref: "#/$defs/B" }],
      discriminator: { propertyName: "kind" },
      $defs,
    },
  };

  test.each(
    Object.entries(choices).flatMap(([name, schema]) =>
      (
        [
          [{ kind: "a", x: 1 }, undefined],
          [{ kind: 3, y: 1 }, undefined],
          [{ kind: "a", x: "1", y: "1" }, ["x must be a number, not a string"]],
          [{ kind: "b" }, ["y is required"]],
          [{ kind: "c", x: 1 }, ['kind must be "a", "b" or 3']],
          [{ x: "1" }, ["kind is required"]],
        ] as const
      ).map(([value, issues]) => [name, value, issues, schema] as const),
    ),
  )("%s: %j has %j", (_name, value, issues, schema) => {
    const found = new Schema(schema).issues(value);
    expect(found?.map(({ path, message }) => `${path.join(".")} ${message}`)).toEqual(issues);
    expect(found === undefined).toBe(new Ajv2020({ strict: false }).validate(schema, value));
  });

  test.each<[object, unknown, boolean]>([
    [
      { oneOf: [branch({ const: 1 }, "x"), branch({ const: 1 }, "y")] },
      { kind: 1, x: 1, y: 1 },
      false,
    ],
    [{ anyOf: [branch({ const: 1 }, "x"), branch({ const: 1 }, "y")] }, { kind: 1, y: 1 }, true],
    [{ oneOf: [branch({ const: 1 }, "x", { required: [] }), b] }, { x: 1 }, true],
    [{ oneOf: [branch({ const: 1 }, "x", { required: [] }), b] }, { kind: "b", x: 1 }, false],
    [{ oneOf: [a, b, { required: ["z"] }] }, { z: 1 }, true],
    [{ oneOf: [a, b, { required: ["z"] }] }, { kind: "c", z: 1 }, true],
    [{ oneOf: [branch({ const: {} }, "x"), branch({ const: [] }, "x")] }, { kind: {}, x: 1 }, true],
    [{ oneOf: [a, b, { type: "string" }] }, "c", true],
    [{ oneOf: [branch({ const: "constructor" }, "x"), b] }, {}, false],
  ])("%j takes %j: %j", (schema, value, fits) => {
    expect(new Schema(schema).issues(value) === undefined).toBe(fits);
    expect(new Ajv2020({ strict: false }).validate(schema, value)).toBe(fits);
  });
});

describe("a schema is not valid", () => {
  test.each<[unknown, string]>([
    [5, "the schema must be an object or a boolean"],
    [{ type: "any" }, "`type` must not be"],
    [
      { properties: { a: { required: "b" } } },
      "`properties.a.required` must be an array of strings",
    ],
    [{ items: { minimum: "1" } }, "`items.minimum` must be a number"],
    [{ anyOf: [{}, { maxLength: -1 }] }, "`anyOf.1.maxLength` must be a whole number"],
    [{ pattern: "(" }, "`pattern` is not a valid regular expression"],
    [{ $ref: "#/$defs/none" }, "`$ref` leads to #/$defs/none, which is not in the schema"],
    [{ $ref: "https://x.example/" }, "`$ref` leads to https://x.example/"],
    [{ $ref: "file:///etc/passwd" }, "nothing is fetched"],
    [{ multipleOf: 0 }, "`multipleOf` must be greater than 0"],
  ])("%j", (schema, message) => {
    expect(() => new Schema(schema)).toThrow(SchemaError);
    expect(() => new Schema(schema)).toThrow(message);
  });
});

test.each([
  [0.01, [0.07, 4.35, 19.99, 1.1, 1e9 + 0.07, 1_234_567.89, -0.07, 0], [0.075, 1.005, 1e-9]],
  [0.1, [0.3, 0.7, 1.1, 123456.7], [0.35, 0.30001]],
  [0.0001, [1.0001, 12.3456], [1.00005]],
  [1, [1e300, 7], [7.5, 1e15 + 0.25]],
  [3, [9], [10, 9.000000001]],
])("decimals are multiples of %j as people write them", (multipleOf, good, bad) => {
  const fitting = [...good, ...bad].filter((one) => !new Schema({ multipleOf }).issues(one));
  expect(fitting).toEqual(good);
});

test("an integer of the input that may have lost digits is refused", () => {
  const schema = { properties: { id: { type: "integer" }, any: { type: ["integer", "null"] } } };
  const check = new Schema(schema, { isInput: true });
  const [id] = check.issues(JSON.parse('{"id":1234567890123456789}'))!;
  expect(id!.message).toBe(
    "must be between -9007199254740991 and 9007199254740991, as larger numbers lose their last digits",
  );
  expect(check.issues({ any: 2 ** 60 })).toHaveLength(1);
  for (const fits of [{ id: 2 ** 53 - 1 }, { id: -(2 ** 53) + 1 }, { any: null }, { other: 1e300 }])
    expect(check.issues(fits)).toBeUndefined();
  expect(new Schema({ type: "number" }, { isInput: true }).issues(2 ** 60)).toBeUndefined();
  expect(new Schema(schema).issues({ id: 2 ** 60 })).toBeUndefined();
});

test("$dynamicRef leads to the outermost resource that the check has come through", () => {
  const tree = {
    $id: "https://x.example/tree",
    $dynamicAnchor: "node",
    type: "object",
    properties: { data: true, children: { type: "array", items: { $dynamicRef: "#node" } } },
  };
  const strict = {
    $id: "https://x.example/strict",
    $dynamicAnchor: "node",
    $ref: "tree",
    unevaluatedProperties: false,
    $defs: { tree },
  };
  const misspelled = { children: [{ daat: 1 }] };
  expect(new Schema(tree).issues(misspelled)).toBeUndefined();
  expect(new Schema(strict).issues({ children: [{ data: 1 }] })).toBeUndefined();
  expect(new Schema(strict).issues(misspelled)).toMatchObject([
    { path: ["children", "0", "daat"] },
  ]);
});

test.each<[object, unknown, unknown]>([
  [{ contains: { type: "string" }, unevaluatedItems: { type: "number" } }, ["a", 1], ["a", null]],
  [
    { anyOf: [{ prefixItems: [true], items: { minimum: 1 } }], unevaluatedItems: false },
    [1, 2],
    [1, 0],
  ],
  [{ oneOf: [{ prefixItems: [true] }, false], unevaluatedItems: false }, [1], [1, 2]],
  [{ contains: { const: 1 }, minContains: 1, maxContains: 2 }, [1, 1], []],
  [
    {
      properties: { a: {} },
      dependentSchemas: { b: { properties: { b: {} } } },
      unevaluatedProperties: false,
    },
    { a: 1, b: 1 },
    { a: 1, c: 1 },
  ],
])("what no other keyword is about: %j", (schema, good, bad) => {
  expect(new Schema(schema).issues(good)).toBeUndefined();
  expect(new Schema(schema).issues(bad)).toBeDefined();
});

describe("draft 7 has other words for some keywords", () => {
  test.each<[object, unknown, unknown]>([
    [{ items: [{ type: "string" }], additionalItems: { type: "number" } }, ["a", 1], ["a", "b"]],
    [{ dependencies: { a: ["b"], c: { required: ["d"] } } }, { a: 1, b: 1 }, { c: 1 }],
    [{ definitions: { a: { $id: "#a", type: "string" } }, $ref: "#a" }, "a", 1],
  ])("%j", (schema, good, bad) => {
    expect(new Schema(schema).issues(good)).toBeUndefined();
    expect(new Schema(schema).issues(bad)).toBeDefined();
  });
});
