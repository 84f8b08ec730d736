/** Schemas that servlets choose so that a check of a value takes long. */

/** The schema of an object with one member, `value`. */
export const object = (schema: object, more: object = {}) => ({
  type: "object",
  properties: { value: schema },
  required: ["value"],
  ...more,
});

/** Takes time that is exponential in the number of `a`, for engines that backtrack. */
export const PATTERN = { type: "string", pattern: "^(a+)+$" };
export const ALMOST = `${"a".repeat(50_000)}!`;

/** Each definition applies the next one twice. */
export const DOUBLING = (() => {
  const $defs = Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => {
      const next = { $ref: `#/$defs/d${at + 1}` };
      return [`d${at}`, { allOf: [next, next] }];
    }),
  );
  return object({ $ref: "#/$defs/d0" }, { $defs: { ...$defs, d60: {} } });
})();

export const form = (schema: object) => ({ do: "inputs", keys: ["a"], schema });

/** Forms with the reason for which their answer, `ALMOST`, is refused. */
export const refusedForms: [string, object, RegExp][] = [
  ["with a pattern", object(PATTERN), /`value` must match the pattern/],
  ["with doubling references", DOUBLING, /requestedSchema is too complex/],
];
