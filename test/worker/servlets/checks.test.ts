import { describe, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { callOf, changed, prepare, serverOf, textIn, type Json } from "../calls/client.ts";
import { ALMOST, DOUBLING, object, PATTERN } from "../calls/hostile-forms.ts";
import { ask } from "../server.ts";

/** Schemas that servlets and their callers choose: no check may keep others waiting. */
prepare();

const ENDLESS = object({ $ref: "#/$defs/a" }, { $defs: { a: { allOf: [{ $ref: "#/$defs/a" }] } } });

/** Different from each other only in what comes last. */
const OBJECTS = Array.from({ length: 20_000 }, (_, at) => ({ a: [1, 2], b: { c: "c" }, at }));

/** A server on which the servlet `told` has such a schema. */
const toldWith = (schemas: object) =>
  serverOf(
    changed("told", ({ lists }) => ({
      lists: { ...lists!, tools: [{ ...lists!.tools[0]!, ...schemas }] },
    })),
  );

const structured = (value: unknown, outputSchema: object) =>
  callOf(
    "told",
    { text: JSON.stringify({ content: [], structuredContent: { value } }) },
    { server: toldWith({ outputSchema }) },
  );

describe("a result that is checked ends with the right outcome", () => {
  test.each<[string, object, unknown, RegExp]>([
    ["a pattern", object(PATTERN), ALMOST, /`value` must match the pattern \^\(a\+\)\+\$/],
    ["doubling references", DOUBLING, 1, /outputSchema of told is too complex.*steps/],
    ["endless references", ENDLESS, 1, /outputSchema of told is too complex.*schemas/],
    [
      "equal items",
      object({ uniqueItems: true }),
      [...OBJECTS, OBJECTS[7]],
      /7 and 20000 are equal/,
    ],
    ["an enumeration", object({ enum: [OBJECTS] }), [...OBJECTS, 1], /`value` must be/],
    [
      "a backreference",
      object({ pattern: "(a)\\1" }),
      "aa",
      /`properties.value.pattern` has a backref/,
    ],
  ])("%s", async (_, schema, value, message) => {
    expect((await structured(value, schema)).error?.message).toMatch(message);
  });

  test.each<[string, object, unknown]>([
    ["a pattern", object(PATTERN), "a".repeat(50_000)],
    ["items that are all different", object({ uniqueItems: true }), OBJECTS],
    ["an enumeration", object({ enum: [OBJECTS] }), OBJECTS],
  ])("%s that fits", async (_, schema, value) => {
    const { result } = await structured(value, schema);
    expect(result?.["structuredContent"]).toEqual({ value });
  });
});

describe("arguments", () => {
  const input = (schema: object, value: unknown) =>
    callOf("told", { value } as Json, { server: toldWith({ inputSchema: object(schema) }) });

  test("that do not match are reported", async () => {
    const { result } = await input(PATTERN, ALMOST);
    expect(result).toMatchObject({ isError: true });
    expect(result?.["content"][0].text).toMatch(/`value` must match the pattern/);
  });

  test("that are too large for their schema are their caller's fault", async () => {
    const schema = { items: { allOf: Array.from({ length: 200 }, () => ({ minimum: 1 })) } };
    const value = Array.from({ length: 60_000 }, () => 1);
    const { result } = await input(schema, value);
    expect(result).toMatchObject({ isError: true });
    expect(result?.["content"][0].text).toMatch(
      `the value takes more than ${limits.checkSteps} steps to check: send a smaller one`,
    );
  });

  test("that are as deep as a body may be are checked by a schema that refers to itself", async () => {
    const deep = (depth: number): unknown => (depth === 0 ? 1 : { next: deep(depth - 1) });
    const inputSchema = object(
      { $ref: "#/$defs/node" },
      {
        $defs: {
          node: { anyOf: [{ $ref: "#/$defs/link" }, { type: "string" }] },
          link: {
            type: "object",
            properties: { next: { allOf: [{ $ref: "#/$defs/node" }] } },
            required: ["next"],
          },
        },
      },
    );
    const { result } = await callOf("told", { value: deep(50) } as Json, {
      server: toldWith({ inputSchema }),
    });
    expect(result?.["content"][0].text).toMatch(/next` must be a string, not a number/);
  });
});

describe("lists that are known only at run time", () => {
  const pick = (shape: object, n: unknown) => {
    const server = serverOf(
      changed("seasonal", () => ({})),
      {
        SEASON: "plums",
        SHAPE: JSON.stringify(shape),
      },
    );
    return ask("tools/call", { name: "pick_plums", arguments: { n } }, {}, server);
  };

  test("are checked by patterns in linear time", async () => {
    const { result } = await pick(PATTERN, ALMOST);
    expect(result?.["content"][0].text).toMatch(/`n` must match the pattern/);
    expect((await pick(PATTERN, "aaa")).result?.["content"][0].text).toBe("picked");
  });

  test("have formats that are asserted", async () => {
    const { result } = await pick({ format: "email" }, "a@");
    expect(result?.["content"][0].text).toMatch(/`n` must have the format email/);
  });

  test("are the servlet's fault where a pattern cannot be matched in linear time", async () => {
    expect((await pick({ pattern: "^(a+)\\1$" }, "aa")).error?.message).toMatch(
      /inputSchema of pick_plums cannot be used: `properties.n.pattern` has a backreference/,
    );
  });

  test("let everything pass where a schema is not valid", async () => {
    const { result } = await pick({ type: "anything" }, 1);
    expect(result?.["content"][0].text).toBe("picked");
  });
});

describe("a user's answer to a form", () => {
  const form = (schema: object) => ({ do: "inputs", keys: ["a"], schema });
  test("is not asked with a backreference", async () => {
    const answer = await callOf("plan", { steps: [form(object({ pattern: "(a)\\1" }))] });
    expect(textIn(answer)).toMatch(/requestedSchema of a cannot be used: .*backreference/);
  });
});
