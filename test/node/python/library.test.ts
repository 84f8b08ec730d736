import { expect, test } from "vitest";
import { loadServlet } from "../../../src/tools/testing/index.ts";

/** The language and the standard library, in a call: what lacks its C code, sockets or threads is not among the cases. */
const servlet = await loadServlet("test/node/python/servlets/library");
const { result: names } = await servlet.callTool("names");

test.each((names.structuredContent as { result: string[] }).result)("%s", async (name) => {
  // Files in archives are not older than 1980.
  const now = Date.UTC(2026, 10, 26);
  const { result, logs } = await servlet.callTool("run", { name }, { now });
  expect([result.content, logs]).toEqual([[{ type: "text", text: "ok" }], []]);
});
