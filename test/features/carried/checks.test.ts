import { describe, expect, test } from "vitest";
import { accept, goOn, prepare } from "../../worker/calls/client.ts";
import { planned } from "../../worker/calls/plans.ts";

/** Schemas of forms. */
prepare();

const object = (schema: object, more: object = {}) => ({
  type: "object",
  properties: { value: schema },
  required: ["value"],
  ...more,
});

/** Takes time that is exponential in the number of `a`, for engines that backtrack. */
const PATTERN = { type: "string", pattern: "^(a+)+$" };
const ALMOST = `${"a".repeat(50_000)}!`;

/** Each definition applies the next one twice. */
const DOUBLING = (() => {
  const $defs = Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => {
      const next = { $ref: `#/$defs/d${at + 1}` };
      return [`d${at}`, { allOf: [next, next] }];
    }),
  );
  return object({ $ref: "#/$defs/d0" }, { $defs: { ...$defs, d60: {} } });
})();

describe("a user's answer to a form", () => {
  const form = (schema: object) => ({ do: "inputs", keys: ["a"], schema });
  const refused: [string, object, RegExp][] = [
    ["with a pattern", object(PATTERN), /`value` must match the pattern/],
    ["with doubling references", DOUBLING, /requestedSchema is too complex/],
  ];

  test.each(refused)("%s, in a request", async (_, schema, message) => {
    const { error } = await goOn(await planned(form(schema)), { a: accept(ALMOST) });
    expect(error?.message).toMatch(message);
  });
});
