/** Merges schemas of 2020-12 into one that accepts what all of them accept. */
import { isObject, type Json } from "../core/model.ts";
import type { Steps } from "./steps.ts";
import { isEqual, memberNames } from "./values.ts";

/** Thrown if no such schema exists without `allOf`, or none was found. */
export class Unmergeable extends Error {}

/**
 * One schema for the first, whose `unevaluated…` keywords apply to all, and the others. Annotations take precedence in
 * this order. Throws `Unmergeable`, `StepsExceeded`.
 */
export function merged([first, ...others]: readonly unknown[], steps: Steps): Json {
  const own = isObject(first) ? first : {};
  const late = Object.entries(own).filter(([key]) => LATE.includes(key));
  const early = Object.entries(own).filter(([key]) => !LATE.includes(key));
  const seed: unknown = others.length > 0 ? Object.fromEntries(early) : own;
  const whole = others.reduce((all, one) => both(all, one, steps), seed);
  if (!isObject(whole)) throw new Unmergeable();
  for (const [key, value] of late) {
    if (Object.hasOwn(whole, key)) throw new Unmergeable();
    whole[key] = value;
  }
  return whole;
}

/** Keywords that depend on what other keywords have evaluated. */
const LATE = ["unevaluatedItems", "unevaluatedProperties"];

/** Keywords that apply to members or items. */
const LOOKING = new Set([
  "$ref",
  "additionalProperties",
  "allOf",
  "anyOf",
  "contains",
  "dependentSchemas",
  "else",
  "if",
  "items",
  "oneOf",
  "patternProperties",
  "prefixItems",
  "properties",
  "then",
  ...LATE,
]);

const looks = (schema: Json): boolean =>
  Object.entries(schema).some(
    ([key, value]) => LOOKING.has(key) && !(isObject(value) && Object.keys(value).length === 0),
  );

/** Keywords that depend on each other, and are merged together. */
const GROUPS: readonly (readonly [
  keywords: readonly string[],
  merge: (a: Json, b: Json, steps: Steps) => Json,
])[] = [
  [["properties", "patternProperties", "additionalProperties"], members],
  [["prefixItems", "items"], items],
  [["contains", "minContains", "maxContains"], same],
  [["if", "then", "else"], same],
];
const GROUPED = new Set(GROUPS.flatMap(([keywords]) => keywords));

type Rule = (a: unknown, b: unknown, steps: Steps) => unknown;

const ofNumbers =
  (choose: (a: number, b: number) => number): Rule =>
  (a, b) => {
    if (typeof a !== "number" || typeof b !== "number") throw new Unmergeable();
    return choose(a, b);
  };
const rules = (keywords: readonly string[], rule: Rule) =>
  keywords.map((keyword): [string, Rule] => [keyword, rule]);

const equal: Rule = (a, b, steps) => {
  if (!isEqual(a, b, steps)) throw new Unmergeable();
  return a;
};
const union = (a: unknown, b: unknown): unknown[] => [...new Set([...list(a), ...list(b)])];

/** Rules for keywords that both schemas have; of keywords without a rule, which are annotations, the first wins. */
const RULES = new Map<string, Rule>([
  ...rules(["minimum", "exclusiveMinimum"], ofNumbers(Math.max)),
  ...rules(["minLength", "minItems", "minProperties"], ofNumbers(Math.max)),
  ...rules(["maximum", "exclusiveMaximum"], ofNumbers(Math.min)),
  ...rules(["maxLength", "maxItems", "maxProperties"], ofNumbers(Math.min)),
  ...rules(["$ref", "allOf", "anyOf", "oneOf", "not", "dependentSchemas", ...LATE], equal),
  ...rules(["const", "format", "multipleOf", "pattern"], equal),
  ["required", union],
  ["dependentRequired", (a, b) => perName(object(a), object(b), union)],
  ["propertyNames", both],
  ["uniqueItems", (a, b) => a === true || b === true],
  [
    "enum",
    (a, b, steps) => {
      const other = list(b);
      return some(list(a).filter((one) => other.some((two) => isEqual(one, two, steps))));
    },
  ],
  [
    "type",
    (a, b) => {
      const [these, those] = [list([a].flat()), list([b].flat())];
      const has = (all: unknown[], type: unknown) =>
        all.includes(type) || (type === "integer" && all.includes("number"));
      const types = [
        ...these.filter((type) => has(those, type)),
        ...those.filter((type) => has(these, type)),
      ];
      const [type, ...more] = new Set(some(types));
      return more.length === 0 ? type : [type, ...more];
    },
  ],
]);

function both(a: unknown, b: unknown, steps: Steps): unknown {
  if (a === false || b === false) return false;
  if (a === true) return b;
  if (b === true) return a;
  if (!isObject(a) || !isObject(b)) throw new Unmergeable();
  if (LATE.some((key) => (key in a && looks(b)) || (key in b && looks(a)))) throw new Unmergeable();
  const whole: Json = Object.fromEntries([
    ...memberNames(a, steps).map((key) => [key, a[key]] as const),
    ...memberNames(b, steps).flatMap((key) =>
      Object.hasOwn(a, key) ? [] : [[key, b[key]] as const],
    ),
  ]);
  for (const key of Object.keys(a)) {
    const rule = Object.hasOwn(b, key) && !GROUPED.has(key) ? RULES.get(key) : undefined;
    if (rule !== undefined) whole[key] = rule(a[key], b[key], steps);
  }
  for (const [keywords, merge] of GROUPS) {
    const [these, those] = [picked(a, keywords), picked(b, keywords)];
    if (Object.keys(these).length > 0 && Object.keys(those).length > 0) {
      for (const key of keywords) delete whole[key];
      Object.assign(whole, merge(these, those, steps));
    }
  }
  return whole;
}

function members(a: Json, b: Json, steps: Steps): Json {
  const [ours, theirs] = [a["additionalProperties"], b["additionalProperties"]];
  const patterns = [a, b].map((one) => object(one["patternProperties"] ?? {}));
  const [these, those] = [object(a["properties"] ?? {}), object(b["properties"] ?? {})];
  const isClosed = !isAnything(ours) || !isAnything(theirs);
  // Whether a pattern matches any of them is not checked here.
  if (isClosed && patterns.some((one) => Object.keys(one).length > 0)) return same(a, b, steps);
  const rest =
    ours === undefined ? theirs : theirs === undefined ? ours : both(ours, theirs, steps);
  const names = new Set([...memberNames(these, steps), ...memberNames(those, steps)]);
  const known = [...names].flatMap((name) => {
    const [one, other] = [
      Object.hasOwn(these, name) ? these[name] : ours,
      Object.hasOwn(those, name) ? those[name] : theirs,
    ];
    const member = both(one ?? true, other ?? true, steps);
    return member === false && rest === false ? [] : [[name, member] as const];
  });
  const patterned = perName(patterns[0]!, patterns[1]!, (one, other) => both(one, other, steps));
  return {
    ...(("properties" in a || "properties" in b) && { properties: Object.fromEntries(known) }),
    ...(Object.keys(patterned).length > 0 && { patternProperties: patterned }),
    ...(rest !== undefined && { additionalProperties: rest }),
  };
}

function items(a: Json, b: Json, steps: Steps): Json {
  if ("prefixItems" in a || "prefixItems" in b) return same(a, b, steps);
  return { items: both(a["items"], b["items"], steps) };
}

function same(a: Json, b: Json, steps: Steps): Json {
  equal(a, b, steps);
  return a;
}

const isAnything = (schema: unknown): boolean =>
  schema === undefined || schema === true || (isObject(schema) && Object.keys(schema).length === 0);

const picked = (schema: Json, keywords: readonly string[]): Json =>
  Object.fromEntries(Object.entries(schema).filter(([key]) => keywords.includes(key)));

const perName = (a: Json, b: Json, merge: (one: unknown, other: unknown) => unknown): Json =>
  Object.fromEntries([
    ...Object.entries(a).map(([name, one]) => [
      name,
      Object.hasOwn(b, name) ? merge(one, b[name]) : one,
    ]),
    ...Object.entries(b).filter(([name]) => !Object.hasOwn(a, name)),
  ]);

function list(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new Unmergeable();
  return value;
}

/** Nothing fits an empty list, and it is not valid in a schema. */
function some(all: unknown[]): unknown[] {
  if (all.length === 0) throw new Unmergeable();
  return all;
}

function object(value: unknown): Json {
  if (!isObject(value)) throw new Unmergeable();
  return value;
}
