import { expect, test } from "vitest";
import { loadServlet, type ServletUnderTest } from "../../../src/tools/testing/index.ts";

/** Chance of the library and of packages: no caller may know what another's call draws. */
const servlet = await loadServlet("test/node/python/servlets/chance");
/** One in which nothing has loaded `random` before a call. */
const late = await loadServlet("test/node/python/servlets/late_chance");

const accepted = {
  "elicitation/create": () => ({ action: "accept" as const, content: { value: "yes" } }),
};
const declined = { "elicitation/create": () => ({ action: "decline" as const }) };

async function drawn(
  of: ServletUnderTest,
  tool: string,
  args: object,
  script: object = { answers: accepted },
) {
  const { result, recorded } = await of.callTool(tool, { ...args }, script);
  return { values: (result.structuredContent as { result: string[] }).result, recorded };
}

/** What a tool draws, before a question and after it: also in another call, in a replay, and after another answer. */
async function runsOf(of: ServletUnderTest, tool: string, args: object) {
  const one = await drawn(of, tool, args);
  const other = await drawn(of, tool, args);
  const again = await drawn(of, tool, args, { recorded: one.recorded });
  const at = one.recorded!.entries.findIndex(({ what }) => what.includes("elicitation"));
  const cut = { ...one.recorded!, entries: one.recorded!.entries.slice(0, at) };
  const forked = await drawn(of, tool, args, { recorded: cut, answers: declined });
  return { one, other, again, forked };
}

const sources: [source: string, of: ServletUnderTest][] = [];
for (const of of [servlet, late])
  for (const source of (await drawn(of, "sources", {})).values) sources.push([source, of]);

test.each(sources)("%s differs from call to call, and not in a replay", async (source, of) => {
  const { one, other, again, forked } = await runsOf(of, "draws", { source });
  expect(other.values[0]).not.toBe(one.values[0]);
  expect(again.values).toEqual(one.values);
  expect(forked.values[0]).toBe(one.values[0]);
  // The address that `getnode` makes up is kept.
  expect(forked.values[1] === one.values[1]).toBe(source === "getnode");
});

test("a generator that a call has created does not predict the numbers after an answer", async () => {
  const { one, again, forked } = await runsOf(servlet, "keeps_generator", {});
  expect(again.values).toEqual(one.values);
  expect(forked.values[0]).toBe(one.values[0]);
  expect(forked.values[1]).not.toBe(one.values[1]);
});

test("a seeded generator draws the same numbers in each call", async () => {
  const [one, other] = [await servlet.callTool("seeded"), await servlet.callTool("seeded")];
  expect(other.result.structuredContent).toEqual(one.result.structuredContent);
});

test("log lines have their level if the call itself imports logging", async () => {
  expect((await late.callTool("logs")).logs).toEqual(["error: told"]);
});
