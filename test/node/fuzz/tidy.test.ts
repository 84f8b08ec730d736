import { describe, expect, test } from "vitest";
import { Fault } from "../../../src/server/kernel/core/errors.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { isObject, type Json, type Lists } from "../../../src/server/kernel/core/model.ts";
import { excessOf } from "../../../src/server/kernel/core/shape.ts";
import { validList } from "../../../src/server/kernel/servlets/tidy/lists.ts";
import * as tidy from "../../../src/server/kernel/servlets/tidy/results.ts";
import { Chance } from "./chance.ts";
import { changedTree } from "./change.ts";
import { RESULTS } from "./judge.ts";
import { written } from "./odd.ts";

const _meta = {};
const annotations = { audience: ["user"], priority: 1, lastModified: "2026-07-28T00:00:00Z" };
const icons = [{ src: "a", mimeType: "image/png", sizes: ["any"], theme: "dark" }];
const schema = { type: "object", properties: { a: {} }, required: ["a"], $schema: "a" };
const link = { name: "a", title: "a", mimeType: "text/plain", annotations, icons, _meta };
const hints = { title: "a", readOnlyHint: true };
const execution = { taskSupport: "optional" };
const tool = { name: "a", inputSchema: schema, outputSchema: schema, icons, execution, _meta };
const prompt = { name: "a", arguments: [{ name: "b", required: true }], icons };
const contents = [
  { uri: "a:b", text: "a", mimeType: "text/plain", _meta },
  { uri: "a:b", blob: "aGk=" },
];
const content = [
  { type: "text", text: "a", annotations, _meta },
  { type: "image", data: "aGk=", mimeType: "image/png" },
  { type: "audio", data: "aGk=", mimeType: "audio/wav" },
  { type: "resource_link", uri: "a:b", ...link },
  { type: "resource", resource: contents[0], annotations },
];
const messages = content.map((one) => ({ role: "user", content: one }));
const values = Array.from({ length: 100 }, String);

/** Output of a servlet for each method, and the function that reads it. */
const GIVEN: Record<string, { good: Json; read: (output: Json) => unknown }> = {
  "tools/list": listed("tools", { ...tool, annotations: hints }),
  "resources/list": listed("resources", { uri: "a:b", size: 1, ...link }),
  "resources/templates/list": listed("resourceTemplates", { uriTemplate: "a:{b}", ...link }),
  "prompts/list": listed("prompts", prompt),
  "tools/call": {
    good: { content, structuredContent: {}, isError: true, _meta },
    read: tidy.tidyToolResult,
  },
  "prompts/get": { good: { messages, description: "a" }, read: tidy.tidyPromptResult },
  "resources/read": { good: { contents }, read: (output) => tidy.tidyReadResult(output, "a:b") },
  "completion/complete": { good: { completion: { values, total: 200 } }, read: tidy.completion },
};

function listed(kind: keyof Lists, one: Json) {
  const read = (output: Json) => ({ [kind]: validList(kind, output[kind]) });
  return { good: { [kind]: [one, one] }, read };
}

describe.each(Object.entries(GIVEN))("what a servlet gives for %s", (method, { good, read }) => {
  test("is left as it is where it is good", () => {
    expect(RESULTS[method]?.safeParse(good).error).toBeUndefined();
    expect(read(good)).toEqual(good);
  });

  test("is made what clients take, or is its own fault", () => {
    const chance = new Chance(7);
    const wrong: string[] = [];
    for (let round = 0; round < 1000; round++) {
      let value: unknown = good;
      for (let times = chance.below(4); times >= 0; times--) value = changedTree(value, chance);
      const text = written(value);
      try {
        const given: unknown = JSON.parse(text);
        // Output that the host rejects is never read.
        if (!isObject(given) || excessOf(given, { depth: limits.outputDepth })) continue;
        const sent: unknown = JSON.parse(JSON.stringify(read(given)));
        const refused = RESULTS[method]?.safeParse(sent).error;
        if (refused) wrong.push(`${refused.message}: ${text.slice(0, 500)}`);
      } catch (error) {
        // Text that is no JSON is not what is tried here.
        if (!(error instanceof Fault || error instanceof SyntaxError))
          wrong.push(text.slice(0, 500));
      }
    }
    expect(wrong).toEqual([]);
  });
});
