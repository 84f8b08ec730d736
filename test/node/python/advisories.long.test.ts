import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { loadServlet } from "../../../src/tools/testing/index.ts";

/** What was published on CPython 3.14 since 3.14.0, in a servlet. */
const servlet = await loadServlet("test/node/python/servlets/advisories");
const { result } = await servlet.callTool("names");
const names = (result.structuredContent as { result: string[] }).result;

test.each(names)("%s", async (name) => {
  // Files in archives are not older than 1980.
  const now = Date.UTC(2026, 10, 26);
  const called = await servlet.callTool("run", { name }, { now });
  expect([called.result.content, called.logs]).toEqual([[{ type: "text", text: "ok" }], []]);
});

test("CVE-2026-3276: a call ends that normalises a text for too long", async () => {
  const { result: ended } = await servlet.callTool("normalise");
  expect(ended).toMatchObject({
    isError: true,
    content: [{ text: "The servlet computed for too long and was stopped." }],
  });
});

test("docs/python.md names the advisories that are tested", async () => {
  const documented = await readFile("docs/python.md", "utf8");
  const advisories = names.flatMap((name) => name.match(/CVE-\d+-\d+|gh-\d+/g) ?? []);
  expect(advisories.filter((one) => !documented.includes(one))).toEqual([]);
});
