import {
  PromptSchema,
  ResourceSchema,
  ResourceTemplateSchema,
  ToolSchema,
} from "@modelcontextprotocol/core";
import type { z } from "zod";
import type { Lists, Tool } from "../../server/kernel/core/model.ts";
import { limits } from "../../server/kernel/core/limits.ts";
import { isObject } from "../../server/kernel/core/model.ts";
import { Schema, SchemaError } from "../../server/kernel/schema/schema.ts";
import { withPortable } from "../../server/kernel/servlets/catalog.ts";
import { paramHeaders } from "../../server/kernel/servlets/param-headers.ts";
import { Refusal } from "./refusal.ts";

const SCHEMAS: Record<keyof Lists, z.ZodType> = {
  tools: ToolSchema,
  resources: ResourceSchema,
  resourceTemplates: ResourceTemplateSchema,
  prompts: PromptSchema,
};

interface Inspected {
  lists: Lists;
  warnings: string[];
}

/**
 * Inspects a servlet's lists: leaves out entries that clients would reject, with a warning. Throws a `Refusal` for a
 * schema or template that cannot be checked or matched in linear time.
 */
export function inspectLists(lists: Lists, place: string): Inspected {
  const warnings: string[] = [];
  const valid = <K extends keyof Lists>(kind: K): Lists[K] => {
    const kept = lists[kind].filter((entry) => {
      const listed = "inputSchema" in entry ? withPortable(entry) : entry;
      const read = SCHEMAS[kind].safeParse(listed);
      if (read.success) return true;
      const why = read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
      warnings.push(`${kind}: ${entry.name} is left out, it is not valid (${why.join("; ")})`);
      return false;
    });
    // A filtered list has the type of the list.
    return kept as Lists[K];
  };
  const tools = valid("tools").map((tool) => {
    warnings.push(...headerWarnings(tool));
    return inspectSchemas(tool, place, warnings);
  });
  const resourceTemplates = valid("resourceTemplates");
  for (const { uriTemplate } of resourceTemplates) {
    if (uriTemplate.length <= limits.templateCharacters) continue;
    throw new Refusal(
      `${place}: the resource template ${uriTemplate.slice(0, 100)}… has more than ${limits.templateCharacters} characters; write a shorter one`,
    );
  }
  return {
    lists: {
      tools,
      resources: valid("resources"),
      resourceTemplates,
      prompts: valid("prompts"),
    },
    warnings,
  };
}

/**
 * Inspects a tool's schemas. An invalid schema is dropped with a warning, and the tool is still served. Throws a
 * `Refusal` for a schema that cannot be checked in linear time.
 */
function inspectSchemas(tool: Tool, place: string, warnings: string[]): Tool {
  const isValid = (key: "inputSchema" | "outputSchema"): boolean => {
    const schema = tool[key];
    if (schema === undefined) return false;
    try {
      demandDialect(schema["$schema"]);
      void new Schema(schema);
      return true;
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error;
      const { message, isUnsupported } = error;
      if (isUnsupported) {
        throw new Refusal(
          `${place}: the ${key} of ${tool.name} cannot be checked in linear time: ${message}; write it without that`,
        );
      }
      const open = key === "inputSchema" ? "it takes any object" : "it is dropped";
      warnings.push(`the ${key} of ${tool.name} is not valid, so ${open}: ${message}`);
      return false;
    }
  };
  const { inputSchema, outputSchema, ...rest } = tool;
  return {
    ...rest,
    inputSchema: isValid("inputSchema") ? inputSchema : { type: "object", properties: {} },
    ...(isValid("outputSchema") && { outputSchema }),
  };
}

function demandDialect(dialect: unknown): void {
  if (typeof dialect !== "string" || /2020-12|draft-07/.test(dialect)) return;
  throw new SchemaError(`its dialect ${dialect} is not known here: use 2020-12 or draft-07`);
}

/** https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header */
function headerWarnings(tool: Tool): string[] {
  const reachable = paramHeaders(tool);
  const wrong: string[] = [];
  if (count(tool.inputSchema) > reachable.length) wrong.push("it is outside of properties");
  for (const { header, type } of reachable) {
    if (!/^mcp-param-[!#$%&'*+.^_`|~0-9a-z-]+$/.test(header))
      wrong.push(`${header} is not a valid header name`);
    if (!["string", "integer", "boolean"].includes(String(type))) {
      wrong.push(`${header} is of type ${String(type)}, not string, integer or boolean`);
    }
  }
  if (new Set(reachable.map(({ header }) => header)).size < reachable.length)
    wrong.push("a name is repeated");
  return wrong.map(
    (why) => `x-mcp-header in ${tool.name}: ${why}; clients will leave the tool out`,
  );
}

function count(schema: unknown): number {
  if (Array.isArray(schema)) return schema.reduce<number>((sum, one) => sum + count(one), 0);
  if (!isObject(schema)) return 0;
  const own = "x-mcp-header" in schema ? 1 : 0;
  return Object.values(schema).reduce<number>((sum, one) => sum + count(one), own);
}
