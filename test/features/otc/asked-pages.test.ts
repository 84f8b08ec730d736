import { expect, test } from "vitest";
import { prepare } from "../../worker/calls/client.ts";
import { HOSTILE, PAGE } from "../../worker/calls/hostile-pages.ts";
import { call, failureOf } from "./client.ts";

prepare();

test.each(HOSTILE)("a page is not asked for: %s", async (_what, changes, said) => {
  const [member, why] = said.split(/: (.*)/s) as [string, string];
  const input = { through: "elicit", text: JSON.stringify({ ...PAGE, ...changes }) };
  expect(failureOf(await call("told.told", input))["message"]).toContain(
    `the ${member} of ask_1 cannot be used: ${why}.`,
  );
});
