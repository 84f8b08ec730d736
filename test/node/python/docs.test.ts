import { beforeAll, expect, test } from "vitest";
import { loadServlet, type ServletUnderTest } from "../../../src/tools/testing/index.ts";

/** Descriptions from docstrings. */
let servlet: ServletUnderTest;
beforeAll(async () => {
  servlet = await loadServlet("test/node/python/servlets/docs");
});

test.each<[style: string, description: string | undefined, parameters: Record<string, string>]>([
  [
    "google",
    'Greets somebody.\n\nIt is polite.\n\nExample:\n    greet("Ada")',
    { name: "Whom to greet, on two lines.", times: "How often: one or more." },
  ],
  [
    "numpy",
    "Greets somebody.\n\nNotes\n-----\nIt is polite.",
    { name: "Whom to greet. In full.", times: "How often." },
  ],
  ["sphinx", "Greets somebody.", { name: "Whom to greet.", times: "How often." }],
  ["bullets", "Greets somebody.\n\nIt is polite.", { name: "Whom to greet.", times: "How often." }],
  ["markdown", "Greets somebody.", { name: "Whom to greet.", times: "How often." }],
  ["dashes", "Greets somebody.", { name: "Whom to greet.", times: "How often." }],
  ["nameless", "Greets somebody.\n\nArgs:\n    Somebody to greet, by their first name", {}],
  ["nobody", "Greets somebody.", {}],
  ["choices", "Greets somebody.", { name: "Whom: - first: a last - b", times: "How often." }],
  ["apart", "Greets somebody.\n\nIt is polite.", { name: "Whom.", times: "How often." }],
  ["plain", "Greets somebody.", {}],
  ["prose", "Options:\n    are not arguments.", {}],
  ["none", undefined, {}],
  ["annotated", "Greets somebody.", { name: "By its hint" }],
  ["overridden", "By its decorator", { name: "Whom to greet." }],
])("%s", async (style, description, parameters) => {
  const { tools } = await servlet.list();
  const tool = tools.find(({ name }) => name === style)!;
  const properties = tool.inputSchema["properties"] as Record<string, { description?: string }>;
  const found = Object.entries(properties).flatMap(([name, one]) =>
    one.description === undefined ? [] : [[name, one.description]],
  );
  expect(tool.description).toBe(description);
  expect(Object.fromEntries(found)).toEqual(parameters);
});
