// @module-tag state
// @module-tag tool-calls
// @module-tag people
import { expect, test } from "vitest";
import { call, failureOf, serverOf } from "./client.ts";
import { prepare } from "../../worker/calls/client.ts";

/** The servlet 'code' over Open Tool Calling. */

prepare();

test("a script's question is put by a page", { timeout: 60_000 }, async () => {
  const code = 'await tools.delete_note({ id: (await tools.add_note({ text: "a" })).id })';
  const answer = await call("code.run_code", { code }, {}, serverOf());
  expect(JSON.stringify(failureOf(answer))).toMatch(/open http.*code wants to call.*delete_note/);
});
