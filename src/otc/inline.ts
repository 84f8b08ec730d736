import { limits } from "../core/limits.ts";
import { isObject, type Json } from "../core/model.ts";
import { NAMED_SCHEMA_KEYWORDS, References, SCHEMA_KEYWORDS } from "../schema/references.ts";

/**
 * Schemas without references, as Open Tool Calling requires.
 * https://json-schema.org/draft/2020-12/json-schema-core#section-8
 */

/** The schema cannot be written without references; the message says why. */
export class NotInlinable extends Error {}

/** Keywords that only references need. */
const DROPPED = new Set([
  "$anchor",
  "$defs",
  "$dynamicAnchor",
  "$dynamicRef",
  "$id",
  "$recursiveAnchor",
  "$recursiveRef",
  "$ref",
  "definitions",
]);

/** Annotations; beside a reference they override those of its target. */
const ANNOTATIONS = new Set([
  "$comment",
  "$schema",
  "default",
  "deprecated",
  "description",
  "examples",
  "readOnly",
  "title",
  "writeOnly",
]);

/**
 * The schema with its references replaced by their targets.
 *
 * Throws `NotInlinable` if it refers to itself or to something outside, or would become too large.
 */
export function inlined(root: Json): Json {
  const references = new References(root);
  let parts = 0;
  /** `within` are the references that this schema is part of. */
  const walk = (schema: unknown, within: readonly string[]): unknown => {
    if (!isObject(schema)) return schema;
    if (++parts > limits.inlinedParts) {
      throw new NotInlinable("it is too large without references");
    }
    const own = Object.fromEntries(
      Object.entries(schema)
        .filter(([key]) => !DROPPED.has(key))
        .map(([key, value]) => [key, member(key, value, within)]),
    );
    const refers = schema["$ref"] ?? schema["$dynamicRef"] ?? schema["$recursiveRef"];
    if (typeof refers !== "string") return own;
    if (within.includes(refers)) throw new NotInlinable(`it refers to itself (${refers})`);
    if (within.length > limits.inlinedDepth) throw new NotInlinable("its references go too deep");
    const found = references.resolve(refers, references.root);
    if (found === undefined) {
      throw new NotInlinable(`it refers to ${refers}, which is not in it`);
    }
    return joined(own, walk(found.schema, [...within, refers]));
  };
  const member = (key: string, value: unknown, within: readonly string[]): unknown => {
    if (SCHEMA_KEYWORDS.has(key)) {
      return Array.isArray(value) ? value.map((one) => walk(one, within)) : walk(value, within);
    }
    if (!NAMED_SCHEMA_KEYWORDS.has(key) || !isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, schema]) => [name, walk(schema, within)]),
    );
  };
  const whole = walk(root, ["#"]);
  return isObject(whole) ? whole : {};
}

/** A schema together with the one that it refers to. */
function joined(own: Json, other: unknown): unknown {
  const keys = Object.keys(own);
  if (keys.length === 0) return other;
  const addsNothing = (key: string) =>
    ANNOTATIONS.has(key) || (isObject(other) && own[key] === other[key]);
  if (isObject(other) && keys.every(addsNothing)) return { ...other, ...own };
  const { allOf = [], ...rest } = own;
  return { ...rest, allOf: [...(Array.isArray(allOf) ? allOf : []), other] };
}
