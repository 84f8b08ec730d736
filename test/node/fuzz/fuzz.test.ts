import { expect, test } from "vitest";
import { list } from "../../../src/servlets/tidy.ts";
import { Fault } from "../../../src/errors.ts";
import { Chance } from "./chance.ts";
import { changedTree } from "./change.ts";
import { written } from "./odd.ts";
import { fuzz } from "./run.ts";

test("whatever is sent is answered as it should be, and nothing is let out", async () => {
  const { failures, answers } = await fuzz({ seed: 20260728, count: 3000, port: 8914 });
  expect(failures).toEqual([]);
  // It got through to the servlets, and to what they ask.
  expect(answers["200"]).toBeGreaterThan(500);
  expect(answers["200 stream"]).toBeGreaterThan(20);
});

const LISTS = {
  tools: { name: "a", inputSchema: { type: "object", properties: {} }, annotations: {}, _meta: {} },
  resources: { uri: "a:b", name: "a", mimeType: "text/plain", size: 1 },
  resourceTemplates: { uriTemplate: "a:{b}", name: "a" },
  prompts: { name: "a", arguments: [{ name: "b", required: true }] },
};

test.each(["tools", "resources", "resourceTemplates", "prompts"] as const)(
  "whatever a servlet lists as its %s is taken, or is its own fault",
  (kind) => {
    const chance = new Chance(7);
    const wrong: string[] = [];
    for (let round = 0; round < 2000; round++) {
      let value: unknown = [LISTS[kind], LISTS[kind]];
      for (let times = chance.below(4); times >= 0; times--) value = changedTree(value, chance);
      const text = written(value);
      try {
        list(kind, JSON.parse(text));
      } catch (error) {
        // Text that is no JSON is not what is tried here.
        if (!(error instanceof Fault || error instanceof SyntaxError))
          wrong.push(text.slice(0, 500));
      }
    }
    expect(wrong).toEqual([]);
  },
);
