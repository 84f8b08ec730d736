import { describe, expect, test } from "vitest";
import {
  branchFor,
  contentIn,
  messagesAt,
  messagesElsewhere,
  formPartsOf,
  changeByFields,
  hasNoFields,
  isMarked,
  keptContent,
  keptText,
  listRowOf,
  withEntered,
  templateSchemaOf,
  typedFor,
  withoutSecretFields,
  wrongFrom,
  type FormPart,
} from "../../../../src/console/form.ts";

/** The forms of the console: which fields a schema has, and what is made of what was typed. */

const partsOf = (properties: object, required: string[] = [], more = {}) =>
  formPartsOf({ type: "object", properties, required, ...more });

const form = (typed: Record<string, string | string[]>) => {
  const data = new FormData();
  for (const [id, texts] of Object.entries(typed))
    for (const text of [texts].flat()) data.append(id, text);
  return data;
};

/** The texts that the fields of a part begin with, by id. */
const begunTexts = (part: FormPart): Record<string, string[]> => {
  const { field, members, item = part } = part;
  if (members) return Object.assign({}, ...members.map(begunTexts));
  return { [field.id]: typedFor(part, undefined).map((text) => keptText(item, text)) };
};

const fitsFields = (parts: readonly FormPart[], content: object) =>
  changeByFields(parts, { ...content }) === undefined;

/** The ids of all fields, in order. */
const idsIn = (parts: readonly FormPart[]): string[] =>
  parts.flatMap(({ field, members }) => (members ? idsIn(members) : [field.id]));

const ADDRESS = {
  type: "object",
  properties: {
    city: { type: "string" },
    country: { type: "string", default: "PL" },
    isHome: { type: "boolean" },
  },
  required: ["city", "isHome"],
};

describe("nested values", () => {
  test("are fields of their own where they are few", () => {
    const parts = partsOf({ name: { type: "string" }, address: ADDRESS }, ["address"]);
    expect(idsIn(parts)).toEqual(["f0", "f1.f0", "f1.f1", "f1.f2"]);
    const typed = form({ "f1.f0": "Lublin", "f1.f1": "PL", "f1.f2": "true" });
    expect(contentIn(parts, typed)).toEqual({
      content: { address: { city: "Lublin", country: "PL", isHome: true } },
      wrong: [],
    });
  });

  test("that are optional are left out until something is entered", () => {
    const parts = partsOf({ address: ADDRESS });
    const begun = { "f0.f0": "", "f0.f1": "PL" };
    expect(contentIn(parts, form(begun)).content).toEqual({});
    expect(contentIn(parts, form({ ...begun, "f0.f0": "Lublin" })).content).toEqual({
      address: { city: "Lublin", country: "PL", isHome: false },
    });
  });

  const boxed = { type: "object", properties: { on: { type: "boolean", default: true }, n: {} } };

  test("that are optional are sent with a box that was unticked", () => {
    const parts = partsOf({ a: boxed });
    expect(contentIn(parts, form({ "f0.f0": "true", "f0.f1": "" })).content).toEqual({});
    expect(contentIn(parts, form({ "f0.f1": "" })).content).toEqual({ a: { on: false } });
  });

  test("that are optional stay where the content has their defaults alone, until they are emptied", () => {
    const [part] = partsOf({
      a: { type: "object", properties: { n: { type: "number", default: 10 } } },
    });
    expect(
      [{ a: { n: 10 } }, { a: { n: 9 } }, {}, { a: {} }].map((one) => isMarked(part!, one)),
    ).toEqual([true, false, false, true]);
    expect(contentIn([part!], form({ f0: "", "f0.f0": "10" })).content).toEqual({ a: { n: 10 } });
    expect(contentIn([part!], form({ f0: "", "f0.f0": "" })).content).toEqual({});
  });

  test.each<[schema: object]>([
    [{ type: "string", format: "date-time", default: "2026-01-01T00:00:00+00:00" }],
    [{ type: "string", default: ",\n" }],
    [{ type: "string", format: "email", default: " a@b.example" }],
    [{ type: "boolean", default: false }],
    [{ type: "number", default: 10 }],
    [{ type: "array", items: { type: "number" }, default: [1, 2] }],
    [{ type: "object", properties: { b: { type: "string", default: "x" } } }],
    [{ enum: [1, 2], default: 2 }],
    [{ default: { b: [1] } }],
  ])("that are optional are left out with the default of %j as its field has it", (one) => {
    for (const required of [[], ["b"]]) {
      const [part] = partsOf({ a: { type: "object", properties: { b: one }, required } });
      expect(contentIn([part!], form(begunTexts(part!))).content).toEqual({});
    }
  });

  test("are JSON where they are many, deep, or of no known names", () => {
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`m${at}`, {}]));
    let deep: object = { type: "string" };
    for (let level = 0; level < 6; level++) deep = { type: "object", properties: { a: deep } };
    const parts = partsOf({
      many: { type: "object", properties: many },
      map: { type: "object", additionalProperties: { type: "string" } },
      rows: { type: "array", items: { type: "object" } },
      deep,
    });
    expect(idsIn(parts)).toEqual(["f0", "f1", "f2", "f3.f0.f0"]);
    const { content, wrong } = contentIn(parts, form({ f1: '{"a": "b"}', f2: "[{" }));
    expect(content).toEqual({ map: { a: "b" } });
    expect(wrong).toMatchObject([{ path: ["rows"] }]);
  });

  test("are rows of fields in a list of objects, in the order of their keys in the form", () => {
    const tags = { type: "array", items: { type: "string" } };
    const items = { ...ADDRESS, properties: { ...ADDRESS.properties, tags } };
    const parts = partsOf({ homes: { type: "array", items } });
    const typed = form({
      f0: ["4", "2"],
      "f0-2.f0": "Kielce",
      "f0-2.f2": "true",
      "f0-4.f0": "Lublin",
      "f0-4.f3": ["a", "b"],
    });
    expect(contentIn(parts, typed)).toEqual({
      content: {
        homes: [
          { city: "Lublin", isHome: false, tags: ["a", "b"] },
          { city: "Kielce", isHome: true },
        ],
      },
      wrong: [],
    });
    expect(contentIn(parts, form({})).content).toEqual({});
    const row = listRowOf(parts[0]!, "4", 1);
    expect(row).toMatchObject({ path: ["homes", "1"], field: { label: "homes 2" } });
    expect(idsIn([row])).toEqual(["f0-4.f0", "f0-4.f1", "f0-4.f2", "f0-4.f3"]);
    const wrong = [
      { path: ["homes", "1", "city"], message: "is required" },
      { path: ["homes", "1"], message: "is a twin" },
    ];
    expect(messagesAt(row.members![0]!, wrong)).toEqual(["is required"]);
    expect(messagesAt(parts[0]!, wrong)).toEqual(["2 is a twin"]);
    expect(messagesElsewhere(parts, wrong)).toEqual([]);
    const plain = withoutSecretFields(parts, { homes: [{ city: "x" }] });
    expect(plain).toEqual({ homes: [{ city: "x" }] });
  });

  test("have a choice of their kind where there are several", () => {
    const named = (kind: string, more: object) => ({
      type: "object",
      properties: { kind: { const: kind }, ...more },
      required: ["kind", ...Object.keys(more)],
    });
    const $defs = { mail: named("mail", { to: { type: "string" } }) };
    const sms = named("sms", { number: { type: "integer" } });
    const by = { oneOf: [{ $ref: "#/$defs/mail" }, sms] };
    const at = {
      anyOf: [{ type: "string", title: "A day" }, { type: "integer" }, { type: "null" }],
    };
    const parts = partsOf({ by, at }, ["by"], { $defs });
    const labels = parts.map(({ branches }) => branches!.map(({ field }) => field.label));
    expect(labels).toEqual([
      ["mail", "sms"],
      ["A day", "whole number"],
    ]);
    const [mail, text] = parts.map(({ branches }) => branches![0]!);
    expect(idsIn([mail!, text!])).toEqual(["f0~0.f0.f0", "f0~0.f0.f1", "f1~0.f0"]);
    const sent = form({
      f0: "1",
      "f0~1.f0.f0": "0",
      "f0~1.f0.f1": "5",
      f1: "0",
      "f1~0.f0": "today",
    });
    const { content } = contentIn(parts, sent);
    expect(content).toEqual({ by: { kind: "sms", number: 5 }, at: "today" });
    expect(parts.map((part) => branchFor(part, content))).toEqual([1, 0]);
    expect(parts.map((part) => branchFor(part, undefined))).toEqual([0, undefined]);
    expect(fitsFields(parts, content)).toBe(true);
    expect(fitsFields(parts, { by: { kind: "fax" } })).toBe(false);
    expect(contentIn(parts, form({ f1: "" })).content).toEqual({});
    const wrong = [{ path: ["by", "number"], message: "must be an integer" }];
    expect(messagesElsewhere(parts, wrong)).toEqual([]);
    expect(messagesAt(parts[0]!, [{ path: ["by"], message: "is of no kind" }])).toHaveLength(1);
  });

  test("are as few as a page can show where kinds contain themselves", () => {
    const tree = {
      anyOf: [
        { type: "string" },
        { $ref: "#/$defs/tree" },
        { type: "array", items: { $ref: "#/$defs/node" } },
      ],
    };
    const node = {
      type: "object",
      properties: { left: { $ref: "#/$defs/tree" }, right: { $ref: "#/$defs/tree" } },
    };
    const parts = partsOf({ tree }, [], { $defs: { tree, node } });
    expect(JSON.stringify(parts.map(({ field }) => field)).length).toBeLessThan(1000);
    expect(contentIn(parts, form({ f0: "" })).content).toEqual({});
  });

  test("are found behind references, and where they may be null", () => {
    const parts = partsOf(
      {
        address: { anyOf: [{ $ref: "#/$defs/Address" }, { type: "null" }] },
        loop: { $ref: "#/$defs/Loop" },
      },
      [],
      { $defs: { Address: ADDRESS, Loop: { $ref: "#/$defs/Loop" } } },
    );
    expect(idsIn(parts)).toEqual(["f0.f0", "f0.f1", "f0.f2", "f1"]);
  });
});

describe("a value that may be null", () => {
  const orNull = (one: object) => ({ anyOf: [one, { type: "null" }] });
  const text = orNull({ type: "string" });

  test("is empty by default, not the text null", () => {
    const parts = partsOf({ a: { ...text, default: null }, b: { type: ["integer", "null"] } });
    expect(typedFor(parts[0]!, undefined)).toEqual([]);
    expect(parts.map((part) => typedFor(part, { a: null, b: null }))).toEqual([[], []]);
    expect(contentIn(parts, form({ f0: "", f1: "" })).content).toEqual({});
  });

  test("is null where it is required and left empty", () => {
    const list = orNull({ type: "array", items: { type: "string" } });
    const choice = { enum: ["a", null] };
    const parts = partsOf({ a: text, b: list, c: text, d: choice }, ["a", "b", "d"]);
    expect(parts.map(({ rules }) => rules)).toEqual([["empty for null"], [], [], []]);
    expect(contentIn(parts, form({ f0: "", f2: "", f3: "1" })).content).toEqual({
      a: null,
      b: [],
      d: null,
    });
    expect(contentIn(parts, form({ f0: "x" })).content).toEqual({ a: "x", b: [] });
  });

  test.each([
    ["a list", { type: "array", items: { type: "string" } }],
    ["a choice of several", { type: "array", items: { enum: ["a", "b"] } }],
    ["an object", ADDRESS],
  ])("stays JSON for %s, whose fields have no way to say null", (_what, schema) => {
    const parts = partsOf({ a: orNull(schema) }, ["a"]);
    expect(parts[0]).toMatchObject({ isNullable: false, rules: [] });
    expect(fitsFields(parts, { a: null })).toBe(false);
  });
});

test("a value of which there is one is a choice of it, made where it is required", () => {
  const kind = { type: "string", const: "mail" };
  const parts = partsOf({ kind, other: kind }, ["kind"]);
  expect(parts.map((part) => typedFor(part, undefined))).toEqual([["0"], []]);
  expect(contentIn(parts, form({ f0: "0", f1: "" })).content).toEqual({ kind: "mail" });
});

test("a default is typed where there is no content, and for a required value that the content lacks", () => {
  const text = { type: "string", default: "PL" };
  const list = { type: "array", items: { type: "number" }, default: [1, 2] };
  const parts = partsOf({ a: text, b: text, c: list, d: list }, ["b", "d"]);
  const typed = (content?: object) => parts.map((part) => typedFor(part, content));
  expect(typed()).toEqual([["PL"], ["PL"], ["1", "2"], ["1", "2"]]);
  expect(typed({})).toEqual([[], ["PL"], [], ["1", "2"]]);
  expect(typed({ a: "DE", c: [3] })).toEqual([["DE"], ["PL"], ["3"], ["1", "2"]]);
});

test("a choice finds its options by their values, also objects", () => {
  const [part] = partsOf({ a: { enum: [{ b: 1 }, { b: 2 }], default: { b: 2 } } });
  expect(typedFor(part!, undefined)).toEqual(["1"]);
});

test("a choice among lists has its default chosen", () => {
  const [part] = partsOf({ a: { enum: [[1, 2], [3]], default: [1, 2] } });
  expect(typedFor(part!, undefined)).toEqual(["0"]);
});

test("names that all objects have are names like others", () => {
  const parts = partsOf({ constructor: { type: "string" }, valueOf: ADDRESS });
  expect(contentIn(parts, form({ f0: "" })).content).toEqual({});
  expect(contentIn(parts, form({ f0: "x" })).content).toEqual({ constructor: "x" });
  expect(withoutSecretFields(parts, {})).toEqual({});
});

describe("content", () => {
  const schema = {
    properties: {
      city: ADDRESS,
      size: { enum: ["s", "l"] },
      tags: { type: "array", items: { enum: [1, 2] } },
    },
  };

  test.each([
    [{ city: { city: "Lublin" }, size: "s" }, true],
    [{ size: null, city: null }, false],
    [{ other: 1 }, false],
    [{ tags: [] }, false],
    [{ tags: [2] }, true],
    [{ city: { zip: 1 } }, false],
    [{ city: "Lublin" }, false],
    [{ size: "xl" }, false],
  ])("%j fits the fields: %s", (content, fits) => {
    expect(fitsFields(formPartsOf(schema), content)).toBe(fits);
  });

  const text = { type: "string" };
  const flag = { type: "boolean" };
  const list = (items: object) => ({ type: "array", items });
  const of = (format: string) => ({ type: "string", format });
  const orNull = (one: object) => ({ anyOf: [one, { type: "null" }] });
  const inner = { type: "object", properties: { a: text, b: flag } };
  const now = "2026-11-23T14:00:59Z";

  /** Values of an optional and of a required `a` of this schema: whether the fields keep them. */
  test.each<[schema: object, value: unknown, isKept: boolean, isKeptWhereRequired?: boolean]>([
    [text, "x", true],
    [text, "ünï 漢 👩‍👧 \u202e", true],
    [text, " x ", true],
    [text, "[1,2]", true],
    [text, "", false],
    [text, " ", false],
    [text, "a\nb", false],
    [text, "a\rb", false],
    [text, "half \ud83d", false],
    [text, 5, false],
    [text, null, false],
    [text, ["x"], false],
    [orNull(text), null, false, true],
    [orNull(text), " ", false],
    [{ ...text, default: "x\ny" }, "a\nb", true],
    [{ ...text, examples: ["x", "x\ny"] }, "a\nb", true],
    [{ type: "string", maxLength: 500 }, "a\nb\n", true],
    [{ type: "string", maxLength: 500 }, "a\r\nb", false],
    [{ ...text, default: "PL" }, "DE", true],
    [of("email"), "a@b.example", true],
    [of("email"), " a@b.example", false],
    [of("uri"), "https://a.example/\n", false],
    [of("password"), " x ", true],
    [of("date"), "2026-11-23", true],
    [of("date"), "2026-02-30", false],
    [of("date"), "0000-01-01", false],
    [of("date"), "tomorrow", false],
    [of("date-time"), now, true],
    [of("date-time"), "2026-11-23T14:00:59.5Z", false],
    [of("date-time"), "2026-11-23T14:00:59+02:00", false],
    [of("date-time"), "2026-11-23T14:00", false],
    [of("date-time"), "+012026-11-23T14:00:59Z", false],
    [of("date-time"), "tomorrow", false],
    [list(of("date-time")), [now], true],
    [list(of("date-time")), ["tomorrow"], false],
    [{ type: "number" }, 1.0, true],
    [{ type: "number" }, 1e21, true],
    [{ type: "number" }, -1.5e-7, true],
    [{ type: "number" }, -0, true],
    [{ type: "number" }, "5", false],
    [{ type: "number" }, "x", true],
    [{ type: "integer" }, Number.MAX_SAFE_INTEGER, true],
    [flag, true, true],
    [flag, false, false, true],
    [{ ...flag, default: true }, false, true],
    [flag, "true", false],
    [flag, null, false],
    [orNull(flag), null, false],
    [{ enum: ["x", null, 2] }, null, true],
    [{ enum: ["x", null, 2] }, "2", false],
    [{ enum: [[1, 2], { b: 1 }] }, [1, 2], true],
    [{ enum: [[1, 2], { b: 1 }] }, { b: 1 }, true],
    [list({ enum: ["x", "y"] }), ["x", "y"], true],
    [list({ enum: ["x", "y"] }), ["y", "x"], false],
    [list({ enum: ["x", "y"] }), ["x", "x"], false],
    [list({ enum: ["x", "y"] }), "x", false],
    [list({ enum: ["x", "y"] }), ["z"], false],
    [list({ enum: ["x", "y"] }), [], false, true],
    [list(text), ["a", "b"], true],
    [list(text), [], false, true],
    [list(text), ["a", ""], false],
    [list(text), ["a\nb"], false],
    [list(text), ["[1,2]"], false],
    [list(text), ["a", 1], false],
    [list(text), "a", false],
    [list(orNull(text)), ["a", null], false],
    [list(flag), [true, false], true],
    [list({ type: "number" }), [1, 1e21, -0], true],
    [list(list(text)), [["a", ""], []], true],
    [list(inner), [{ a: "x", b: true }, { a: "y" }], true],
    [list(inner), [], false, true],
    [list(inner), [{ a: "x", c: 1 }], false],
    [list(inner), [{ a: "x" }, 1], false],
    [list(inner), Array.from({ length: 51 }, () => ({ a: "x" })), false],
    [list(list(inner)), [[{ a: "", c: 1 }], []], true],
    [{ anyOf: [text, { type: "number" }] }, "x", true],
    [{ anyOf: [text, { type: "number" }] }, 5, true],
    [{ anyOf: [text, { type: "number" }] }, true, false],
    [{ type: ["string", "number"] }, 5, true],
    [{ oneOf: [inner, list(text)] }, { a: "x" }, true],
    [{ oneOf: [inner, list(text)] }, ["x"], true],
    [{ oneOf: [inner, list(text)] }, [1], false],
    [inner, { a: "x", b: true }, true],
    [inner, { a: "x" }, true],
    [inner, { b: false }, false],
    [inner, {}, false, true],
    [inner, { a: "x", c: 1 }, false],
    [{ ...inner, properties: { on: { ...flag, default: true } } }, { on: false }, true],
    [{ ...inner, properties: { n: { type: "integer", default: 10 } } }, { n: 10 }, true],
    [
      { ...inner, properties: { b: { ...inner, properties: { n: { default: 1 } } } } },
      { b: { n: 1 } },
      true,
    ],
    [inner, null, false],
    [{}, "", true],
    [{}, null, true],
    [{}, { b: [" \r\n", "\ud83d", -0, 1e21, {}] }, true],
  ])("%j keeps %j in its fields: %s", (a, value, isKept, isKeptWhereRequired = isKept) => {
    expect(fitsFields(partsOf({ a }), { a: value })).toBe(isKept);
    expect(fitsFields(partsOf({ a }, ["a"]), { a: value })).toBe(isKeptWhereRequired);
  });

  test.each<[content: object, change: string]>([
    [{ z: "z" }, "`on` would become false"],
    [{ on: true, city: { city: "Gent", isHome: true, zip: 1 } }, "`city.zip` would be left out"],
    [{ on: true, line: "a\nb" }, '`line` would become "ab"'],
    [{ on: true, list: ["a", ""] }, '`list` would become ["a"]'],
  ])("%j is changed by the fields: %s", (content, change) => {
    const properties = { on: { ...flag, default: true }, city: ADDRESS, line: text, z: text };
    expect(changeByFields(partsOf({ ...properties, list: list(text) }), { ...content })).toBe(
      change,
    );
  });

  test.each<[what: string, properties: object, required: string[], fits: boolean]>([
    ["that has a default", { a: { ...text, default: "PL" } }, [], true],
    ["that is ticked by default", { a: { ...flag, default: true } }, [], false],
    [
      "that is still to be entered",
      { a: text, b: flag, c: list(text), d: inner },
      ["a", "b", "c", "d"],
      true,
    ],
  ])("fits the fields without a value %s: %s", (_what, properties, required, fits) => {
    expect(fitsFields(partsOf({ ...properties, z: text }, required), { z: "z" })).toBe(fits);
  });

  test.each([
    [{ type: "object" }, false],
    [{ type: "object", additionalProperties: true }, true],
    [{ type: "object", oneOf: [{ required: ["a"] }, { required: ["b"] }] }, true],
    [{ type: "object", patternProperties: { "^x-": {} } }, true],
    [{ type: "object", additionalProperties: false }, false],
    [schema, false],
  ])("of %j has no fields but JSON: %s", (given, has) => {
    expect(hasNoFields(given)).toBe(has);
  });

  test("of a form and an example are merged where the form has nothing", () => {
    const example = { a: { b: { c: "example" }, on: true }, list: ["example"] };
    expect(withEntered(example, { a: { b: {}, on: false }, list: [] })).toEqual({
      a: { b: { c: "example" }, on: false },
      list: ["example"],
    });
    expect(withEntered({ a: { b: 1 } }, { a: null, c: ["x"] })).toEqual({ a: null, c: ["x"] });
  });

  test("of JSON and an example are merged with the empty lists that were entered", () => {
    const example = { a: { list: ["example"] }, list: ["example"], b: 1 };
    const entered = { a: { list: [] }, list: [] };
    expect(withEntered(example, entered, { areEmptyKept: true })).toEqual({ ...entered, b: 1 });
  });
});

describe("a form of a schema that goes on without end, or is huge,", () => {
  const named = (count: number, one: () => object) =>
    Object.fromEntries(Array.from({ length: count }, (_, nth) => [`p${nth}`, one()]));
  const loop = () => ({ $ref: "#/$defs/Loop" });
  const large = Array.from({ length: 50_000 }, (_, nth) => `v${nth}`);

  test.each([
    ["lists of itself", { type: "array", items: loop() }],
    ["members of itself", { type: "object", properties: named(20, loop) }],
    [
      "itself and a choice",
      { type: "object", properties: { ...named(19, loop), e: { enum: large } } },
    ],
    ["a choice of very many", { enum: large }],
    ["a list of such a choice", { type: "array", items: { enum: large } }],
  ])("%s, is there within half a second, and made once", (_what, Loop) => {
    const schema = { type: "object", properties: named(200, loop), $defs: { Loop } };
    const began = performance.now();
    const parts = formPartsOf(schema);
    expect(performance.now() - began).toBeLessThan(500);
    expect(idsIn(parts).length).toBeGreaterThanOrEqual(200);
    expect(formPartsOf(schema)).toBe(parts);
  });
});

describe("a list of simple values", () => {
  const parts = partsOf({ sizes: { type: "array", items: { type: "number" } } }, ["sizes"]);

  test("has a row for each, of which empty ones are left out", () => {
    expect(contentIn(parts, form({ f0: ["1", "", "2.5", "x"] })).content).toEqual({
      sizes: [1, 2.5, "x"],
    });
    expect(contentIn(parts, form({})).content).toEqual({ sizes: [] });
    expect(typedFor(parts[0]!, { sizes: [1, 2] })).toEqual(["1", "2"]);
  });

  test("takes a list that is pasted into a row", () => {
    expect(contentIn(parts, form({ f0: ["1", "[2, 3]"] })).content).toEqual({ sizes: [1, 2, 3] });
  });
});

test("a box that is not ticked is false where a value is needed, and else left out", () => {
  const parts = partsOf(
    { a: { type: "boolean" }, b: { type: "boolean" }, c: { type: "boolean", default: true } },
    ["a"],
  );
  expect(contentIn(parts, form({})).content).toEqual({ a: false, c: false });
  expect(contentIn(parts, form({ b: "true", f1: "true" })).content).toMatchObject({ b: true });
});

test("a template needs its variables but those of a query", () => {
  const { properties, required } = templateSchemaOf("a://{host}{/path}{?q,lang*}{&page}");
  expect(Object.keys(properties as object)).toEqual(["host", "path", "q", "lang", "page"]);
  expect(required).toEqual(["host", "path"]);
  expect(templateSchemaOf("a://{id}{?id,q}")["required"]).toEqual(["id"]);
});

test("a point in time is sent with its zone", () => {
  const parts = partsOf({ at: { type: "string", format: "date-time" } });
  const { content } = contentIn(parts, form({ f0: "2026-11-23T14:00" }));
  const sent = new Date("2026-11-23T14:00").toISOString().replace(".000", "");
  expect(content).toEqual({ at: sent });
  expect(contentIn(parts, form({ f0: "2026-11-23T14:00:00+02:00" })).content).toEqual({
    at: "2026-11-23T14:00:00+02:00",
  });
  const list = partsOf({ all: { type: "array", items: { type: "string", format: "date-time" } } });
  expect(contentIn(list, form({ f0: ["2026-11-23T14:00", ""] })).content).toEqual({ all: [sent] });
});

test("a point in time that is chosen is sent as the schema has it", () => {
  const parts = partsOf({
    at: { type: "string", format: "date-time", enum: ["2026-11-23T14:00"] },
  });
  expect(contentIn(parts, form({ f0: "0" })).content).toEqual({ at: "2026-11-23T14:00" });
});

test("limits, formats and examples are said in words", () => {
  const [part] = partsOf({
    code: { type: "string", pattern: "^[A-Z]+$", minLength: 1, maxLength: 3, examples: ["PL"] },
  });
  expect(part!.rules).toEqual([
    "pattern ^[A-Z]+$",

    "at most 3 characters",
    "such as PL",
  ]);
  const [step] = partsOf({ a: { type: "number", multipleOf: 0.5 } });
  expect(step!.rules).toEqual(["multiple of 0.5"]);
});

test("limits that are rarely reached are shown only when exceeded", () => {
  const parts = partsOf({
    note: { type: "string", minLength: 1, maxLength: 2000 },
    code: { type: "string", maxLength: 6 },
    rows: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 500 },
    few: { type: "array", items: { type: "string" }, minItems: 2, maxItems: 5 },
  });
  expect(parts.map(({ rules }) => rules)).toEqual([
    [],
    ["at most 6 characters"],
    [],
    ["at least 2 items", "at most 5 items"],
  ]);
});

test("secrets are kept nowhere, however deep they are", () => {
  const secret = { type: "string", format: "password" };
  const parts = partsOf({
    user: { type: "string" },
    password: secret,
    keys: { type: "array", items: secret },
    account: { type: "object", properties: { token: { type: "string", writeOnly: true }, id: {} } },
    login: { type: "object", properties: { pin: secret } },
    rows: { type: "array", items: { type: "object", properties: { pin: secret } } },
    map: { type: "object", additionalProperties: { anyOf: [secret, { type: "null" }] } },
    plain: { type: "array", items: { type: "object", properties: { pin: {} } } },
  });
  const content = {
    user: "ada",
    password: "x",
    keys: ["y"],
    account: { token: "z", id: 1 },
    login: { pin: "z" },
    odd: 2,
    rows: [{ pin: "x" }],
    map: { any: "y" },
    plain: [{ pin: 1 }],
  };
  expect(withoutSecretFields(parts, content)).toEqual({
    user: "ada",
    account: { id: 1 },
    plain: [{ pin: 1 }],
  });
});

test("content without its secrets fits the fields, so that these can be entered again", () => {
  const pin = { type: "string", format: "password" };
  const user = { type: "string", default: "admin" };
  const login = { type: "object", properties: { user, pin } };
  for (const required of [[], ["login"]]) {
    const parts = partsOf({ login }, required);
    const kept = withoutSecretFields(parts, { login: { user: "admin", pin: "1234" } });
    expect(kept).toEqual({ login: { user: "admin" } });
    expect(fitsFields(parts, kept)).toBe(true);
  }
  // The default of a value that was left empty does not come back.
  const parts = partsOf({ login }, ["login"]);
  const kept = withoutSecretFields(parts, { login: { pin: "1234" } });
  expect(kept).toEqual({ login: {} });
  expect(fitsFields(parts, kept)).toBe(true);
});

test("content without a field is kept where the schema has no secrets", () => {
  const either = (...properties: object[]) => ({
    oneOf: properties.map((one) => ({ properties: one })),
  });
  const content = { a: 1, b: { c: 2 } };
  expect(keptContent(either({ a: {} }, { b: {} }), content)).toEqual(content);
  expect(keptContent(either({ a: {} }, { b: { writeOnly: true } }), content)).toEqual({});
});

describe("errors", () => {
  const parts = partsOf({ address: ADDRESS, rows: { type: "array", items: {} } });
  const [address, rows] = parts;

  test("stand at the field that they are about, also those of the server", () => {
    const text =
      "Tool arguments do not match the input schema of a: `address.city` is required; `rows.0.x` must be a string; `other` is unknown.";
    const wrong = wrongFrom(text);
    expect(messagesAt(address!.members![0]!, wrong)).toEqual(["is required"]);
    expect(messagesAt(address!, wrong)).toEqual([]);
    expect(messagesAt(rows!, wrong)).toEqual(["0.x must be a string"]);
    expect(messagesElsewhere(parts, wrong)).toEqual(["other is unknown"]);
  });

  test("number the rows of a list as its labels do", () => {
    const [list] = partsOf({ ids: { type: "array", items: { type: "integer" } } });
    const wrong = [{ path: ["ids", "0"], message: "must be an integer" }];
    expect(messagesAt(list!, wrong)).toEqual(["1 must be an integer"]);
    const other = [{ path: ["ids", "length"], message: "must be even" }];
    expect(messagesAt(list!, other)).toEqual(["length must be even"]);
  });

  test("of others are no errors of arguments", () => {
    expect(wrongFrom("The disk is full: `a` is required.")).toEqual([]);
  });
});

test("a form of thousands has fields for the first, and JSON for the others", () => {
  const many = Object.fromEntries(
    Array.from({ length: 4000 }, (_, at) => [`p${at}`, { type: "string" }]),
  );
  const parts = partsOf(many);
  expect(parts).toHaveLength(201);
  expect(contentIn(parts, form({ f0: "a", others: '{"p3999": "b"}' })).content).toEqual({
    p0: "a",
    p3999: "b",
  });
  expect(contentIn(parts, form({ others: "[]" })).wrong[0]!.message).toMatch("not an object");
});
