import { describe, expect, test } from "vitest";
import * as z from "zod";
import { inspectLists } from "../../../src/tools/bundle/inspect.ts";
import type { Json } from "../../../src/server/kernel/core/model.ts";
import { bundling } from "./bundling.ts";
import { lists } from "./modules.ts";

const { bundle } = bundling();

describe("schemas and patterns that cannot be evaluated in linear time", () => {
  const inspected = (schema: object, uriTemplate = "x:y") =>
    inspectLists(
      {
        tools: [{ name: "t", inputSchema: { type: "object" }, outputSchema: schema as Json }],
        resourceTemplates: [{ name: "r", uriTemplate }],
        resources: [],
        prompts: [],
      },
      "plugins/a",
    );
  const withPattern = (pattern: string) => ({ properties: { a: { pattern } } });

  test.each<[string, object, RegExp]>([
    ["a backreference", withPattern("(a)\\1"), /`properties.a.pattern` has a backreference/],
    ["a named one", withPattern("(?<b>a)\\k<b>"), /`properties.a.pattern` has a backreference/],
    ["modifiers", withPattern("(?i:a)"), /`properties.a.pattern` has a group with modifiers/],
    ["the name of members", { patternProperties: { "(a)\\1": {} } }, /`patternProperties` has a/],
    ["a pattern that is too long", withPattern("a".repeat(5000)), /has more than 4000 characters/],
    ["deep groups", withPattern("(".repeat(200) + ")".repeat(200)), /nested more than 100 deep/],
    ["repetitions", withPattern("(a{1000}){1000}"), /needs more than 10000 states/],
  ])("is refused: %s", (_, schema, message) => {
    expect(() => inspected(schema)).toThrow(message);
    expect(() => inspected(schema)).toThrow(/^plugins\/a: the outputSchema of t cannot be checked/);
  });

  test("is refused: a template that is too long", () => {
    expect(() => inspected({}, `x:${"y".repeat(3000)}`)).toThrow(
      /^plugins\/a: the resource template x:y.*more than 2000 characters/,
    );
  });

  test("is refused: a backreference in a manifest", async () => {
    const files = { "a/a.wat": lists("t"), "a/servlet.json": '{"skip_tools":["(a)\\\\1"]}' };
    await expect(bundle(files)).rejects.toThrow(/skip_tools\.0: has a backreference/);
  });

  test("is not the pattern with lookahead that zod writes for an e-mail address", () => {
    const schema = z.toJSONSchema(z.object({ a: z.email(), b: z.iso.datetime(), c: z.ipv6() }));
    expect(inspected(schema)).toMatchObject({
      warnings: [],
      lists: { tools: [{ outputSchema: schema }] },
    });
  });
});
