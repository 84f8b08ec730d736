import {
  isObject,
  type Json,
  type Lists,
  type Requirements,
  type Tool,
  type ToolDefinition,
} from "../../kernel/core/model.ts";
import { wholeMatch, withPortable } from "../../kernel/servlets/catalog.ts";
import type { Manifest } from "../../kernel/servlets/manifest.ts";
import { folded, toolkitOf, versionOf } from "../../kernel/servlets/toolkit.ts";
import { isForModels } from "../../kernel/core/views.ts";
import { limits } from "../../kernel/core/limits.ts";
import { mapValues } from "../../kernel/core/values.ts";
import {
  NAMED_SCHEMA_KEYWORDS,
  References,
  SCHEMA_KEYWORDS,
} from "../../kernel/schema/references.ts";

/** Nesting of inlined references: each level takes stack. */
const INLINED_DEPTH = 200;

/** The servlet whose tools are described. */
interface Owner {
  name: string;
  manifest: Manifest;
}

interface Defined {
  /** By the tools' own names. */
  definitions: Record<string, ToolDefinition>;
  /** The reason for each tool that is left out. */
  warnings: string[];
}

/**
 * A servlet's tools, as Open Tool Calling describes them.
 * https://github.com/OpenToolCalling/Specification/blob/a35d61f/RFC.md#41-tool-definition-schema
 */
export function define(owner: Owner, { tools }: Pick<Lists, "tools">): Defined {
  const isSkipped = wholeMatch(owner.manifest.skip_tools);
  const warnings: string[] = [];
  const defined = tools.flatMap((tool): [string, ToolDefinition][] => {
    const { visibility } = owner.manifest.tools?.[tool.name] ?? {};
    const mayCall = visibility?.includes("model") ?? isForModels(tool);
    if (isSkipped(tool.name) || !mayCall) return [];
    try {
      return [[tool.name, definitionOf(owner, tool)]];
    } catch (error) {
      if (!(error instanceof NotInlinable)) throw error;
      const why = `one of its schemas cannot be written without references: ${error.message}`;
      warnings.push(`the tool ${tool.name} is left out of Open Tool Calling: ${why}`);
      return [];
    }
  });
  return { definitions: Object.fromEntries(defined), warnings };
}

/** Throws `NotInlinable`. */
export function definitionOf(owner: Owner, tool: Tool): ToolDefinition {
  const { name, title, description, inputSchema, outputSchema = {} } = withPortable(tool);
  const of = owner.manifest.tools?.[name];
  const [toolkit, version] = [folded(toolkitOf(owner)), versionOf(owner)];
  const requirements = stated(of?.requirements ?? owner.manifest.requirements);
  return {
    id: `${toolkit}.${folded(name)}@${version}`,
    name: `${toolkit}_${folded(name)}`.slice(0, 64),
    description: description || title || name,
    version,
    input_schema: { parameters: described(inlined(inputSchema)) },
    output_schema: of?.output === null ? null : inlined(outputSchema),
    ...(requirements && { requirements }),
  };
}

/** The non-empty requirements, if any. */
function stated(given: Manifest["requirements"] = {}): Requirements | undefined {
  const { authorization = [], secrets = [], user_id } = given;
  const needed: Requirements = {
    ...(authorization.length > 0 && { authorization: authorization.map(authorized) }),
    ...(secrets.length > 0 && { secrets }),
    ...(user_id && { user_id }),
  };
  return Object.keys(needed).length > 0 ? needed : undefined;
}

type AuthorizationRequirement = NonNullable<
  NonNullable<Manifest["requirements"]>["authorization"]
>[number];

const authorized = ({ id, oauth2 }: AuthorizationRequirement) => ({
  id,
  ...(oauth2 && { oauth2: oauth2.scopes ? { scopes: oauth2.scopes } : {} }),
});

/** The schema with a description for each of its parameters. */
function described(schema: Json): Json {
  const { properties, ...rest } = schema;
  const parts = ["allOf", "anyOf", "oneOf"].flatMap((key) => {
    const all = rest[key];
    return Array.isArray(all)
      ? [[key, all.map((one) => (isObject(one) ? described(one) : one))]]
      : [];
  });
  const whole = { ...schema, ...(Object.fromEntries(parts) as Json) };
  if (!isObject(properties)) return whole;
  return { ...whole, properties: mapValues(properties, parameter) };
}

function parameter(schema: unknown, name: string): Json {
  if (!isObject(schema)) return { ...(schema === false && { not: {} }), description: name };
  const { description, title } = schema;
  if (typeof description === "string" && description !== "") return schema;
  return { ...schema, description: typeof title === "string" && title !== "" ? title : name };
}

/**
 * Schemas without references, as Open Tool Calling requires.
 * https://json-schema.org/draft/2020-12/json-schema-core#section-8
 */

/** The schema cannot be written without references; the message says why. */
class NotInlinable extends Error {}

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
    if (within.length > INLINED_DEPTH) throw new NotInlinable("its references go too deep");
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
    return mapValues(value, (schema) => walk(schema, within));
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
