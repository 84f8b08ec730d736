import { describe, expect, test } from "vitest";
import type { Json } from "../../../src/server/kernel/core/model.ts";
import { Schema, StepsExceeded } from "../../../src/server/kernel/schema/schema.ts";
import { Steps } from "../../../src/server/kernel/schema/steps.ts";

describe("a check ends within its steps", () => {
  const repeat = <T>(count: number, make: (at: number) => T) =>
    Array.from({ length: count }, (_, at) => make(at));
  const nested = (depth: number, leaf: unknown): unknown =>
    repeat(depth, () => 0).reduce<unknown>((inner) => [inner], leaf);

  /** Linear in the value: twice the value takes about twice the steps. */
  test.each<[string, object, (size: number) => unknown]>([
    ["unique objects", { uniqueItems: true }, (size) => repeat(size, (at) => ({ at, a: [1] }))],
    [
      "unevaluated members",
      { allOf: [{ patternProperties: { "^(a+)+$": {} } }], unevaluatedProperties: false },
      (size) => Object.fromEntries(repeat(size, (at) => ["a".repeat(1 + (at % 50)), at])),
    ],
    ["contains", { contains: { const: 1 }, maxContains: 1e9 }, (size) => repeat(size, () => 1)],
    [
      "many members",
      { additionalProperties: { type: "number" } },
      (size) => Object.fromEntries(repeat(size, (at) => [`k${at}`, at])),
    ],
    ["a long text", { pattern: "^(a|b|ab)*$", maxLength: 1e9 }, (size) => "ab".repeat(size)],
    [
      "deep values",
      {
        $defs: { n: { anyOf: [{ type: "string" }, { items: { $ref: "#/$defs/n" } }] } },
        $ref: "#/$defs/n",
      },
      () => nested(200, "a"),
    ],
  ])("%s", (_, schema, valueOf) => {
    expect(new Schema(schema).issues(valueOf(50_000), new Steps(50 * 50_000))).toBeUndefined();
  });

  const doubled = { allOf: [{ $ref: "#" }, { $ref: "#" }] };
  const $defs = Object.fromEntries(
    repeat(40, (at) => [`d${at}`, { anyOf: repeat(3, () => ({ $ref: `#/$defs/d${at + 1}` })) }]),
  );
  test.each<[string, object, unknown]>([
    ["a schema that applies itself", doubled, 1],
    ["a schema that is itself", { $ref: "#" }, 1],
    ["a dynamic one", { $dynamicAnchor: "a", not: { $dynamicRef: "#a" } }, 1],
    [
      "references that triple",
      { $ref: "#/$defs/d0", $defs: { ...$defs, d40: { type: "string" } } },
      1,
    ],
    [
      "many schemas for many items",
      { items: { allOf: repeat(1000, () => ({ minimum: 0 })) } },
      repeat(100_000, () => 1),
    ],
    [
      "many members for many items",
      { items: { properties: Object.fromEntries(repeat(1000, (at) => [`p${at}`, {}])) } },
      repeat(100_000, () => ({})),
    ],
  ])("or is given up: %s", (_, schema, value) => {
    const ready = new Schema(schema);
    expect(() => ready.issues(value)).toThrow(StepsExceeded);
  });

  test("schemas that lead into each other by the thousand are made ready without recursion", () => {
    const chain = Object.fromEntries(
      repeat(20_000, (at) => [`d${at}`, at === 19_999 ? {} : { $ref: `#/$defs/d${at + 1}` }]),
    );
    const ready = new Schema({ $defs: chain, $ref: "#/$defs/d19000" });
    expect(ready.issues(1)).toBeUndefined();
    expect(() => new Schema({ $defs: chain, $ref: "#/$defs/d0" }).issues(1)).toThrow(StepsExceeded);
  });
});

/** An object with so many members. */
const wideObject = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]));

test.each<[string, Json]>([
  // Each entry has as many members as the value, but for the last of them.
  ["enum", { enum: Array.from({ length: 20 }, () => ({ ...wideObject(999), k999: -1 })) }],
  ["propertyNames", { propertyNames: true }],
  ["patternProperties", { patternProperties: { x: true } }],
  ["uniqueItems", { propertyNames: {}, not: { uniqueItems: true, type: "array" } }],
])("a value's members are counted each time that they are listed: %s", (_what, schema) => {
  expect(() => new Schema(schema).issues(wideObject(1000), new Steps(900))).toThrow(StepsExceeded);
});
