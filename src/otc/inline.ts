import { limits } from "../limits.ts";
import { isObject, type Json } from "../model.ts";

/**
 * Schemas without references, as Open Tool Calling has them.
 * https://json-schema.org/draft/2020-12/json-schema-core#section-8
 */

/** Why a schema has no form without references. */
export class NotInlinable extends Error {}

/** Keywords whose value is a schema, or a list of them. */
const SCHEMAS = new Set([
  "additionalItems",
  "additionalProperties",
  "allOf",
  "anyOf",
  "contains",
  "contentSchema",
  "else",
  "if",
  "items",
  "not",
  "oneOf",
  "prefixItems",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

/** Keywords whose value has schemas by name. */
const NAMED = new Set(["dependencies", "dependentSchemas", "patternProperties", "properties"]);

/** What only references need. */
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

/** What says nothing of which values fit: beside a reference, it stands for what the other says. */
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
 * The schema with what it refers to in place.
 *
 * Throws `NotInlinable` where it refers to itself or to what is not in it, or would become too large.
 */
export function inlined(root: Json): Json {
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
    return joined(own, walk(target(root, refers), [...within, refers]));
  };
  const member = (key: string, value: unknown, within: readonly string[]): unknown => {
    if (SCHEMAS.has(key)) {
      return Array.isArray(value) ? value.map((one) => walk(one, within)) : walk(value, within);
    }
    if (!NAMED.has(key) || !isObject(value)) return value;
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

/** Where a reference leads: to the schema itself, by a pointer into it, or to an anchor. */
function target(root: Json, reference: string): unknown {
  const [outside, fragment = ""] = reference.split("#");
  if (outside !== "" && outside !== root["$id"]) {
    throw new NotInlinable(`it refers to ${reference}, which is elsewhere`);
  }
  const found =
    fragment === "" || fragment.startsWith("/")
      ? pointed(root, fragment)
      : anchored(root, fragment);
  if (found === undefined) throw new NotInlinable(`it refers to ${reference}, which is not there`);
  return found;
}

/** https://www.rfc-editor.org/rfc/rfc6901#section-6 */
function pointed(root: Json, pointer: string): unknown {
  let at: unknown = root;
  for (const segment of pointer.split("/").slice(1)) {
    const key = decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Json)[key];
  }
  return at;
}

function anchored(part: unknown, name: string): unknown {
  if (typeof part !== "object" || part === null) return undefined;
  if (isObject(part) && (part["$anchor"] === name || part["$dynamicAnchor"] === name)) return part;
  for (const one of Object.values(part)) {
    const found = anchored(one, name);
    if (found !== undefined) return found;
  }
  return undefined;
}
