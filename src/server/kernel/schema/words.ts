/** The constraints of a schema in words, for tables and forms. */
import type { Json } from "../core/model.ts";

/** How many values of an enum are listed. */
const VALUES = 12;

/** Constraints in words, with `…` for their value. */
const RULES = {
  format: "format …",
  pattern: "pattern …",
  minimum: "at least …",
  exclusiveMinimum: "more than …",
  maximum: "at most …",
  exclusiveMaximum: "less than …",
  multipleOf: "multiple of …",
  minLength: "at least … characters",
  maxLength: "at most … characters",
  minItems: "at least … items",
  maxItems: "at most … items",
  const: "value …",
  default: "default …",
} as const;

export function rulesOf(schema: Json): string[] {
  const { enum: values } = schema;
  const listed = Array.isArray(values)
    ? [values.slice(0, VALUES).map(text).join(", ") + (values.length > VALUES ? ", …" : "")]
    : [];
  const others = Object.entries(RULES).flatMap(([key, rule]) =>
    schema[key] === undefined ? [] : [numbered(rule.replace("…", () => text(schema[key])))],
  );
  return [...listed, ...others];
}

const text = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

const numbered = (rule: string): string => rule.replace(/( 1 (?:item|character))s$/, "$1");
