import { isObject, type Json, type Lists, type Requirements } from "../core/model.ts";
import type { Tool, ToolDefinition } from "../core/model.ts";
import { wholeMatch, withPortable } from "../servlets/catalog.ts";
import type { Manifest } from "../servlets/manifest.ts";
import { folded, toolkitOf, versionOf } from "../servlets/toolkit.ts";
import { inlined, NotInlinable } from "./inline.ts";

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
    if (isSkipped(tool.name)) return [];
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

type Given = NonNullable<NonNullable<Manifest["requirements"]>["authorization"]>[number];

const authorized = ({ id, oauth2 }: Given) => ({
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
  const parameters = Object.entries(properties).map(([name, one]) => [name, parameter(name, one)]);
  return { ...whole, properties: Object.fromEntries(parameters) as Json };
}

function parameter(name: string, schema: unknown): Json {
  if (!isObject(schema)) return { ...(schema === false && { not: {} }), description: name };
  const { description, title } = schema;
  if (typeof description === "string" && description !== "") return schema;
  return { ...schema, description: typeof title === "string" && title !== "" ? title : name };
}
