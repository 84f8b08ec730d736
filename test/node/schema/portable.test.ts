import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { isObject, type Json } from "../../../src/server/kernel/core/model.ts";
import { portable } from "../../../src/server/kernel/schema/portable.ts";
import { Schema } from "../../../src/server/kernel/schema/schema.ts";
import { Chance } from "../fuzz/chance.ts";

const NAMES = ["a", "b", "c", "items", "definitions"];

function valueBy(chance: Chance, depth: number): unknown {
  switch (chance.below(depth === 0 ? 4 : 8)) {
    case 0:
      return chance.pick([0, 1, 2, 1.5, -1, 3]);
    case 1:
      return chance.pick(["", "a", "ab", "abc"]);
    case 2:
      return chance.of(0.5);
    case 3:
      return null;
    case 4:
      return Array.from({ length: chance.below(4) }, () => valueBy(chance, depth - 1));
    default:
      return objectBy(chance, depth);
  }
}

const objectBy = (chance: Chance, depth: number): Json =>
  Object.fromEntries(
    NAMES.filter(() => chance.of(0.4)).map((name) => [name, valueBy(chance, depth - 1)]),
  );

/** The draft of a schema; with marks, which Ajv gets wrong: see `schema.test.ts`. */
type Era = 7 | 2020 | "2020 with marks";

/** Keywords as generators of schemas write them, and as no generator does. */
function keywordBy(chance: Chance, era: Era, depth: number): Json {
  const inner = () => schemaBy(chance, era, depth - 1);
  const some = () => Array.from({ length: 1 + chance.below(2) }, inner);
  const named = () =>
    Object.fromEntries(NAMES.filter(() => chance.of(0.5)).map((name) => [name, inner()]));
  const names = () => NAMES.filter(() => chance.of(0.3));
  const small = () => chance.below(4);
  const reference = (): Json => {
    const home = era === 7 ? "definitions" : "$defs";
    return { $ref: chance.pick([`#/${home}/a`, `#/${home}/b`, `#/${home}/a`, "#x"]) };
  };
  const kinds = ["object", "array", "string", "number", "integer", "boolean", "null"];
  const plain: (() => Json)[] = [
    () => ({ type: chance.pick(kinds) }),
    () => ({ type: "object" }),
    () => ({ type: "array" }),
    () => ({ type: [chance.pick(["object", "array"]), chance.pick(["string", "integer"])] }),
    () => ({ enum: ["a", ...["b", 1, null, { a: 1 }, []].filter(() => chance.of(0.5))] }),
    () => ({ const: valueBy(chance, 1) }),
    () => ({ [chance.pick(["minimum", "maximum", "exclusiveMinimum"])]: small() }),
    () => ({ multipleOf: chance.pick([1, 2, 0.5]) }),
    () => ({ [chance.pick(["minLength", "maxLength", "minItems", "maxItems"])]: small() }),
    () => ({ [chance.pick(["minProperties", "maxProperties"])]: small() }),
    () => ({ pattern: chance.pick(["^a", "b$"]) }),
    () => ({ uniqueItems: chance.of(0.5) }),
    () => ({ required: names() }),
    () => ({ propertyNames: { type: "string" } }),
    () => ({ description: chance.pick(["x", "y"]), default: valueBy(chance, 1) }),
    reference,
  ];
  const shared: (() => Json)[] = [
    () => ({ type: "object", properties: named(), required: names() }),
    () => ({ properties: named(), additionalProperties: chance.of(0.5) ? false : inner() }),
    () => ({ patternProperties: { "^a": inner() }, additionalProperties: chance.of(0.5) }),
    () => ({ propertyNames: inner() }),
    () => ({ items: inner() }),
    () => ({ allOf: some() }),
    () => ({ allOf: [reference(), inner()] }),
    () => ({ allOf: [{ properties: named() }, { properties: named(), required: names() }] }),
    () => ({ [chance.pick(["anyOf", "oneOf"])]: some() }),
    () => ({ not: inner() }),
    () => Object.fromEntries(["if", "then", "else"].map((key) => [key, inner()])),
  ];
  const marking: (() => Json)[] = [
    () => ({ unevaluatedProperties: chance.of(0.5) ? false : inner() }),
    () => ({ allOf: some(), unevaluatedProperties: false }),
    () => ({ unevaluatedItems: chance.of(0.5) ? false : inner() }),
    () => ({ contains: inner() }),
  ];
  const own: (() => Json)[] =
    era === 7
      ? [
          () => ({ items: some(), ...(chance.of(0.7) && { additionalItems: inner() }) }),
          () => ({ items: inner(), additionalItems: inner() }),
          () => ({ dependencies: { a: names(), b: inner() } }),
        ]
      : [
          () => ({ prefixItems: some(), ...(chance.of(0.7) && { items: inner() }) }),
          () => ({ dependentRequired: { a: names() }, dependentSchemas: { b: inner() } }),
          ...(era === 2020 ? [] : marking),
        ];
  if (depth === 0 || chance.of(0.4)) return chance.pick(plain)();
  return chance.pick(chance.of(0.25) ? own : shared)();
}

function schemaBy(chance: Chance, era: Era, depth: number): Json | boolean {
  if (chance.of(0.12)) return chance.of(0.8);
  const keywords = Array.from({ length: 1 + chance.below(3) }, () => keywordBy(chance, era, depth));
  return Object.assign({}, ...keywords) as Json;
}

/** References that lead to each other without end are no test of anything else. */
const withoutReferences = (schema: Json): Json =>
  JSON.parse(JSON.stringify(schema).replaceAll('"$ref":', '"$comment":')) as Json;

function documentBy(chance: Chance, era: Era): Json {
  const leaf = (anchor: Json) => {
    const schema = schemaBy(chance, era, 2);
    return { ...(isObject(schema) && withoutReferences(schema)), ...anchor };
  };
  const root = schemaBy(chance, era, 3);
  return {
    ...(era === 7 && chance.of(0.3) && { $schema: "http://json-schema.org/draft-07/schema#" }),
    ...(isObject(root) ? root : {}),
    [era === 7 ? "definitions" : "$defs"]: {
      a: leaf({}),
      b: leaf(era === 7 ? { $id: "#x" } : { $anchor: "x" }),
    },
  };
}

const OPTIONS = { strict: false, validateFormats: false, code: { optimize: false } };
const [draft7, newest] = [new Ajv(OPTIONS), new Ajv2020(OPTIONS)];

test.each([1, 2, 3, 4, 5, 6])(
  "random schemas accept the same values when they are written anew, seed %j",
  (seed) => {
    const chance = new Chance(seed);
    const differing: object[] = [];
    let [changed, fitting] = [0, 0];
    for (let count = 0; count < 60; count++) {
      const era = chance.pick<Era>([7, 2020, "2020 with marks"]);
      const schema = documentBy(chance, era);
      const before = JSON.stringify(schema);
      const written = portable(schema);
      expect(JSON.stringify(schema)).toBe(before);
      if (written === schema) continue;
      changed++;
      expect(oldIn(written)).toEqual([]);
      const checks = [schema, written].map((one) => {
        const ours = new Schema(one);
        return (value: unknown) => ours.issues(value) === undefined;
      });
      if (era === 7 || era === 2020) {
        checks.push((era === 7 ? draft7 : newest).compile(schema), newest.compile(written));
      }
      for (let tries = 0; tries < 12; tries++) {
        const value = chance.of(0.7) ? objectBy(chance, 3) : valueBy(chance, 3);
        const found = checks.map((fits) => fits(value));
        if (found[0] === true) fitting++;
        if (new Set(found).size > 1) differing.push({ schema, written, value, found });
      }
    }
    expect(differing.slice(0, 2)).toEqual([]);
    // Many of them are changed, and many of the values fit.
    expect(changed).toBeGreaterThan(20);
    expect(fitting).toBeGreaterThan(changed);
  },
);

/** Keywords of draft 7 that are left in a schema, and `true` where a schema is. */
function oldIn(schema: unknown): string[] {
  if (!isObject(schema)) return schema === true ? ["true"] : [];
  const own = ["definitions", "additionalItems", "dependencies"].filter((key) => key in schema);
  const { properties, $defs, items, allOf, anyOf, $schema } = schema;
  const inner = [properties, $defs].filter(isObject).flatMap((one) => Object.values(one));
  return [
    ...own,
    ...(Array.isArray(items) || /draft-0/.test(JSON.stringify($schema) ?? "") ? ["old"] : []),
    ...[items, ...inner, ...[allOf, anyOf].filter(Array.isArray).flat()].flatMap(oldIn),
  ];
}

describe("is written anew", () => {
  const D7 = "http://json-schema.org/draft-07/schema#";
  const size = { enum: ["s", "m"] };
  test.each<[what: string, given: Json, written: Json]>([
    [
      "a reference at the root",
      { $ref: "#/definitions/Args", definitions: { Args: { type: "object" } } },
      { type: "object" },
    ],
    [
      "a reference at the root that leads to another, and to itself",
      {
        type: "object",
        properties: {},
        $ref: "#/$defs/A",
        $defs: { A: { $ref: "#/$defs/B" }, B: { properties: { b: { $ref: "#/$defs/B" } } } },
      },
      {
        type: "object",
        properties: { b: { $ref: "#/$defs/B" } },
        $defs: { B: { properties: { b: { $ref: "#/$defs/B" } } } },
      },
    ],
    [
      "an inheritance",
      {
        allOf: [
          { $ref: "#/$defs/Base" },
          { properties: { b: size }, required: ["b"], description: "Mine" },
        ],
        $defs: { Base: { type: "object", properties: { a: {} }, required: ["a"] } },
      },
      {
        type: "object",
        properties: { a: {}, b: size },
        required: ["a", "b"],
        description: "Mine",
      },
    ],
    [
      "an intersection that is closed as a whole",
      {
        allOf: [{ properties: { a: size } }, { properties: { b: size } }],
        unevaluatedProperties: false,
      },
      { properties: { a: size, b: size }, unevaluatedProperties: false },
    ],
    [
      "a reference with a description, as older generators write it",
      {
        properties: { a: { allOf: [{ $ref: "#/definitions/Size" }], description: "How large" } },
        definitions: { Size: size },
      },
      {
        properties: { a: { description: "How large", $ref: "#/$defs/Size" } },
        $defs: { Size: size },
      },
    ],
    [
      "bounds of one value",
      {
        allOf: [
          { minimum: 1, maximum: 9 },
          { minimum: 2, type: "integer" },
        ],
        type: "number",
      },
      { type: "integer", minimum: 2, maximum: 9 },
    ],
    [
      "names of its own, of draft 4 and of the newest",
      {
        $id: "https://a.example/b",
        properties: { a: { id: "#a", $ref: "https://a.example/b#x" }, id: { $id: "c" } },
        $defs: { x: { $anchor: "x", enum: ["s", "m"] } },
      },
      { properties: { a: { $ref: "#/$defs/x" }, id: {} }, $defs: { x: size } },
    ],
    [
      "what the metaschema refuses although no value depends on it",
      {
        properties: {
          a: { description: 5, title: null, examples: "x", readOnly: "no", default: 5 },
        },
        required: ["a", "b", "a"],
      },
      { properties: { a: { default: 5 } }, required: ["a", "b"] },
    ],
    [
      "that names of properties are texts",
      { propertyNames: { type: "string" }, additionalProperties: size },
      { additionalProperties: size },
    ],
    [
      "a tuple",
      { $schema: D7, properties: { a: { items: [size, true], additionalItems: size } } },
      { properties: { a: { prefixItems: [size, {}], items: size } } },
    ],
    [
      "a tuple without items, as Python's is",
      { properties: { a: { type: "array", prefixItems: [size, size], maxItems: 2 } } },
      { properties: { a: { type: "array", prefixItems: [size, size], maxItems: 2, items: size } } },
    ],
    [
      "a tuple of named parts, some of which may be left out",
      {
        type: ["array", "null"],
        prefixItems: [
          { title: "x", type: "number" },
          { title: "y", type: "number", default: 0 },
        ],
        minItems: 1,
        maxItems: 2,
      },
      {
        type: ["array", "null"],
        prefixItems: [
          { title: "x", type: "number" },
          { title: "y", type: "number", default: 0 },
        ],
        minItems: 1,
        maxItems: 2,
        items: { type: "number" },
      },
    ],
    [
      "a tuple with no more items, as zod's is",
      { type: "array", prefixItems: [size, {}], items: false },
      { type: "array", prefixItems: [size, {}], maxItems: 2, items: {} },
    ],
    [
      "a tuple with any others",
      { type: "array", prefixItems: [size, size] },
      { type: "array", prefixItems: [size, size], items: {} },
    ],
    [
      "a tuple of draft 7 with no more items",
      { $schema: D7, type: "array", items: [size, size], additionalItems: false },
      { type: "array", prefixItems: [size, size], maxItems: 2, items: size },
    ],
    [
      "a list that may be null",
      { properties: { a: { type: ["array", "null"] } } },
      { properties: { a: { type: ["array", "null"], items: {} } } },
    ],
    [
      "dependencies",
      { dependencies: { a: ["b"], c: { required: ["d"] } } },
      { dependentRequired: { a: ["b"] }, dependentSchemas: { c: { required: ["d"] } } },
    ],
    [
      "references by anchors of draft 7, to other places, and to names that are no part of a URI",
      {
        properties: {
          a: { $ref: "#size" },
          b: { $ref: "#/properties/a" },
          c: { $ref: "#/definitions/Page%3CA%7E1B%3E" },
        },
        definitions: { x: { $id: "#size", ...size }, "Page<A/B>": size },
      },
      {
        properties: {
          a: { $ref: "#/$defs/size" },
          b: { $ref: "#/$defs/a" },
          c: { $ref: "#/$defs/Page_3CA_7E1B_3E" },
        },
        $defs: { size, a: { $ref: "#/$defs/size" }, Page_3CA_7E1B_3E: size },
      },
    ],
    [
      "two targets of one name",
      {
        properties: { a: { $ref: "#/definitions/x" }, b: { $ref: "#/$defs/x" } },
        definitions: { x: { const: 1 } },
        $defs: { x: { const: 2 } },
      },
      {
        properties: { a: { $ref: "#/$defs/x" }, b: { $ref: "#/$defs/x_2" } },
        $defs: { x: { const: 1 }, x_2: { const: 2 } },
      },
    ],
    [
      "true for a schema, and a list of anything",
      { properties: { a: true, default: true, l: { type: "array" } }, additionalProperties: true },
      {
        properties: { a: {}, default: {}, l: { type: "array", items: {} } },
        additionalProperties: true,
      },
    ],
  ])("%s", (_, given, written) => {
    const found = portable(given);
    expect(found).toEqual(written);
    expect(portable(given)).toBe(found);
    expect(portable(found)).toEqual(found);
  });

  test.each<[what: string, schema: Json]>([
    [
      "a schema of 2020-12",
      { $schema: "https://json-schema.org/draft/2020-12/schema", $defs: { a: size } },
    ],
    ["a choice among parts", { allOf: [{ anyOf: [{ required: ["a"] }, { required: ["b"] }] }] }],
    ["parts that do not fit together", { allOf: [{ type: "string" }, { type: "object" }] }],
    ["patterns", { allOf: [{ pattern: "a" }, { pattern: "b" }] }],
    ["a reference to nowhere", { $ref: "#/definitions/none", definitions: {} }],
    ["a reference to the root itself", { $ref: "#" }],
    [
      "references in a circle",
      { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } },
    ],
    [
      "a part that is closed to the other",
      {
        allOf: [{ properties: { a: {} }, unevaluatedProperties: false }, { properties: { b: {} } }],
      },
    ],
    [
      "dynamic references",
      { $dynamicAnchor: "a", properties: { a: { $dynamicRef: "#a" }, b: true } },
    ],
  ])("but not %s", (_, schema) => {
    expect(portable(schema)).toBe(schema);
  });

  test("closed objects keep what both allow", () => {
    const closed = (...names: string[]) => ({
      properties: Object.fromEntries(names.map((name) => [name, {}])),
      additionalProperties: false,
    });
    expect(portable({ allOf: [closed("a", "b"), closed("b", "c")] })).toEqual(closed("b"));
  });
});

describe("a schema that would grow without end stays as it is", () => {
  const LINKS = Array.from({ length: 40 }, (_, at) => `d${at}`);
  const chain = (link: (next: string) => Json): Json => ({
    $ref: "#/$defs/d0",
    $defs: Object.fromEntries(
      LINKS.map((name, at) => [name, at === 39 ? {} : link(`#/$defs/d${at + 1}`)]),
    ),
  });
  test.each<[what: string, schema: Json]>([
    [
      "by parts in two members",
      chain(($ref) => {
        const member = { allOf: [{ $ref }, { description: "one" }] };
        return { properties: { a: member, b: member } };
      }),
    ],
    [
      "by parts of parts",
      chain(($ref) => ({
        allOf: [{ $ref }, { properties: { a: { allOf: [{ $ref }, { $ref }] } } }],
      })),
    ],
    [
      "by a long text that many members share",
      {
        properties: Object.fromEntries(
          Array.from({ length: 300 }, (__, at) => [
            `p${at}`,
            { allOf: [{ $ref: "#/$defs/e" }, { minLength: 1 }] },
          ]),
        ),
        $defs: { e: { type: "string", description: "x".repeat(100_000) } },
      },
    ],
    [
      "or that is deeper than the stack",
      Array.from({ length: 50_000 }).reduce<Json>((inner) => ({ allOf: [inner] }), {
        type: "object",
      }),
    ],
    [
      "or whose list of references is",
      Object.assign(
        { $ref: "#/$defs/d0" },
        {
          $defs: Object.fromEntries(
            Array.from({ length: 4000 }, (__, at) => [
              `d${at}`,
              { allOf: [{ $ref: `#/$defs/d${(at + 1) % 4000}` }, { title: "x" }] },
            ]),
          ),
        },
      ),
    ],
  ])("%s", (_, schema) => {
    // Printing it would take as long as the test is about.
    expect(portable(schema) === schema).toBe(true);
  });
});
