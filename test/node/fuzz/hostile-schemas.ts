import { FORMATS } from "../../../src/server/kernel/schema/formats.ts";
import { Schema, SchemaError } from "../../../src/server/kernel/schema/schema.ts";
import type { Chance } from "./chance.ts";
import type { Json } from "./draft.ts";

/** Patterns and schemas that cost as much as possible to check. */

export const many = <T>(chance: Chance, most: number, make: (at: number) => T): T[] =>
  Array.from({ length: 1 + chance.below(most) }, (_, at) => make(at));

const ATOMS = [
  "a",
  ".",
  "\\w",
  "[a-z]",
  "[^b]",
  "\\p{L}",
  "(?=a)",
  "(?<!b)",
  "^",
  "$",
  "\\b",
  "ä",
  "😀",
];
const TIMES = ["*", "+", "?", "{2,}", "{0,200}", "{1000}", "{1,9999}", "*?", "{999999999}"];

/** Patterns in which a text can be found in many ways. */
export function pattern(chance: Chance, depth = 0): string {
  if (depth > chance.pick([2, 3, 5, 120])) return chance.pick(ATOMS);
  const inner = () => pattern(chance, depth + 1);
  switch (chance.below(7)) {
    case 0:
      return chance.pick(ATOMS) + chance.pick(TIMES);
    case 1:
      return `(${inner()})${chance.pick(TIMES)}`;
    case 2:
      return `(${inner()}|${inner()})${chance.pick(TIMES)}`;
    case 3:
      return `${inner()}${inner()}`;
    case 4:
      return `(?:${inner()})${chance.pick(TIMES)}${chance.pick(["$", "b", ""])}`;
    case 5:
      return chance.pick([
        "^(a+)+$",
        "^(a|a)*$",
        "(a*)*b",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(.*){9}x",
      ]);
    default:
      return chance.pick([
        `${"(".repeat(200)}a${")".repeat(200)}`,
        "a?".repeat(500),
        "\\1(a)",
        "(",
        "[",
        "(?=a*)*",
      ]);
  }
}

const LEAVES: readonly ((chance: Chance) => Json)[] = [
  (chance) => ({ type: "string", pattern: pattern(chance) }),
  (chance) => ({ uniqueItems: true, ...(chance.of(0.5) && { items: { uniqueItems: true } }) }),
  () => ({ $ref: "#" }),
  (chance) => ({ $ref: `#/$defs/d${chance.below(30)}` }),
  (chance) => ({
    $ref: chance.pick([
      "#/$defs/none",
      "https://a.example/s",
      "#anchor",
      "#/%",
      "d1",
      "#/properties/x",
    ]),
  }),
  () => ({ $dynamicRef: "#node" }),
  (chance) => ({ enum: many(chance, 2000, (at) => ({ at, of: "a".repeat(at % 7) })) }),
  (chance) => ({ const: nested(chance.pick([5, 15, 30])) }),
  (chance) => ({
    format: chance.pick([
      "email",
      "uri",
      "uri-template",
      "date-time",
      "regex",
      "idn-hostname",
      "none",
    ]),
  }),
  (chance) => ({
    multipleOf: chance.pick([1e-300, 0.1, 0, -1, 1e300]),
    minimum: chance.pick([-1e308, 1]),
  }),
  (chance) => ({ minLength: chance.pick([1e9, -1, 2.5]), maxLength: chance.pick([0, 1e300]) }),
  (chance) => ({ type: chance.pick(["none", [], ["string", "string"], 7, null]) }),
  (chance) => ({
    [chance.pick(KEYWORDS)]: chance.pick([null, 7, "x", [], {}, [null], { a: 1 }, true]),
  }),
  () => ({}),
];

const KEYWORDS = [
  "properties",
  "items",
  "allOf",
  "anyOf",
  "not",
  "if",
  "required",
  "pattern",
  "$ref",
  "$defs",
  "enum",
  "patternProperties",
  "additionalProperties",
  "unevaluatedProperties",
  "contains",
  "prefixItems",
  "propertyNames",
  "dependentSchemas",
  "dependentRequired",
  "$anchor",
  "$id",
  "type",
  "uniqueItems",
];

/** A schema that leads to others, or to itself. */
export function schema(chance: Chance, depth = 0): unknown {
  if (chance.of(0.03)) return chance.of(0.5);
  const most = chance.pick([1, 2, 3, 4]);
  if (depth >= most) return chance.pick(LEAVES)(chance);
  const inner = () => schema(chance, depth + 1);
  switch (chance.below(10)) {
    case 0:
      return {
        type: "object",
        properties: { x: inner(), y: inner() },
        additionalProperties: inner(),
      };
    case 1:
      return { type: "array", items: inner(), uniqueItems: chance.of(0.7), contains: inner() };
    case 2:
      return { [chance.pick(["allOf", "anyOf", "oneOf"])]: many(chance, 8, inner) };
    case 3:
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      return { if: inner(), then: inner(), else: inner(), not: inner() };
    case 4:
      return {
        patternProperties: Object.fromEntries(many(chance, 5, () => [pattern(chance), inner()])),
      };
    case 5:
      return { propertyNames: inner(), unevaluatedProperties: inner(), allOf: [inner()] };
    case 6:
      return { prefixItems: many(chance, 50, inner), unevaluatedItems: inner() };
    case 7:
      return { dependentSchemas: { x: inner() }, anyOf: [inner(), { $ref: "#" }] };
    case 8: {
      // Each leads to the next twice, or more often.
      const way = chance.pick(["allOf", "anyOf", "oneOf"]);
      const steps = many(chance, 30, (at): [string, Json] => [
        `d${at}`,
        {
          [way]: Array.from({ length: chance.pick([1, 2, 3]) }, () => ({
            $ref: `#/$defs/d${at + 1}`,
          })),
        },
      ]);
      return {
        $ref: "#/$defs/d0",
        $defs: { ...Object.fromEntries(steps), [`d${steps.length}`]: inner() },
      };
    }
    default: {
      let whole = inner();
      for (let left = chance.pick([5, 10, 20]); left > 0; left--) {
        whole = chance.of(0.7) ? { properties: { x: whole } } : { not: whole };
      }
      return whole;
    }
  }
}

/**
 * The same where it must be that of an object; `most` characters, for there are many in one list. Most are
 * valid: only those are evaluated.
 */
export function objectSchema(chance: Chance, most: number): Json {
  const wanted = chance.of(0.8);
  const fits = (one: unknown) => JSON.stringify(one).length <= most && (!wanted || isValid(one));
  let made = schema(chance);
  while (!fits(made)) made = schema(chance);
  const own = typeof made === "object" && made !== null ? (made as Json) : { not: {} };
  return chance.of(0.8) ? { ...own, type: "object" } : own;
}

function isValid(made: unknown): boolean {
  try {
    return Boolean(new Schema(made as Json, { formats: FORMATS }));
  } catch (error) {
    if (error instanceof SchemaError) return false;
    throw error;
  }
}

export function nested(levels: number): unknown {
  let whole: unknown = 1;
  for (let left = levels; left > 0; left--) whole = left % 2 === 0 ? { x: whole } : [whole];
  return whole;
}
