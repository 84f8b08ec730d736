// @module-tag tool-calls
// @module-tag carried
// @module-tag state
import { expect, test } from "vitest";
import { profiled } from "../../worker/profiles.ts";
import { beginTool, newAddress, prepare, type Json } from "../../worker/calls/client.ts";

/** Scripts of the servlet 'code' at an endpoint whose tools are searched. */

prepare();

test("the question names the tool that is called by call_tool", { timeout: 60_000 }, async () => {
  const server = profiled({}, { "": { tools: "search", listed: ["*:run_code"] } });
  const headers = { "cf-connecting-ip": newAddress() };
  const code = 'await tools.call_tool({ name: "delete_note", arguments: { id: 1 } })';
  const round = await beginTool("run_code", { code }, { headers, server });
  const [asked] = Object.values<Json>(round.requests);
  expect(asked!["params"].message).toContain("- delete_note {");
});
