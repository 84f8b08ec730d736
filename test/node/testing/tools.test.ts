import { expect, test } from "vitest";
import { loadServlet } from "../../../src/tools/testing/index.ts";

const call = (tool: string, args = {}) => ({ do: "call", calls: [{ tool, args }], catches: true });

test("a script has the tools that a servlet calls", async () => {
  const durable = await loadServlet("test/guests/durable");
  const steps = [call("counting"), call("next"), call("spin"), call("other")];
  const { result } = await durable.callTool(
    "plan",
    { steps },
    {
      tools: {
        counting: "one",
        next: ({ by = 1 }) => ({ structuredContent: { by } }),
        spin: { content: [{ type: "text", text: "No." }], isError: true },
      },
    },
  );
  const { said } = result.structuredContent as { said: unknown[] };
  expect(said).toEqual([["one"], [{ by: 1 }], ["error: No."], "unknown-tool"]);
});

test("another servlet under test has a tool, and asks by the same script", async () => {
  const [durable, counting] = [
    await loadServlet("test/guests/durable"),
    await loadServlet("test/guests/counting"),
  ];
  const { result, asked } = await durable.callTool(
    "plan",
    { steps: [call("counting-next"), call("counting-note"), { do: "elicit" }] },
    {
      tools: { "counting-next": counting, "counting-note": counting },
      answers: { "elicitation/create": () => ({ action: "accept", content: { text: "hi" } }) },
    },
  );
  expect((result.structuredContent as { said: unknown[] }).said.slice(0, 2)).toEqual([
    ["1"],
    ["hi"],
  ]);
  expect(asked).toHaveLength(1);
});
