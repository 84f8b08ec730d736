import {
  PromptSchema,
  ResourceSchema,
  ResourceTemplateSchema,
  ToolSchema,
} from "@modelcontextprotocol/core";
import type { z } from "zod";
import type { Lists, Tool } from "../model.ts";
import { isObject } from "../model.ts";
import { listedName } from "../servlets/catalog.ts";
import { paramHeaders } from "../servlets/param-headers.ts";
import { compileCheck } from "./schemas.ts";

const SCHEMAS: Record<keyof Lists, z.ZodType> = {
  tools: ToolSchema,
  resources: ResourceSchema,
  resourceTemplates: ResourceTemplateSchema,
  prompts: PromptSchema,
};

export interface Inspected {
  lists: Lists;
  /** The code of the checks by tool: `input`, and `output` where there is an output schema. */
  checks: Map<string, { input?: string; output?: string }>;
  warnings: string[];
}

/** Looks at what a servlet lists: leaves out what clients would refuse, and says so. */
export function inspect(lists: Lists): Inspected {
  const warnings: string[] = [];
  const valid = <K extends keyof Lists>(kind: K): Lists[K] => {
    const kept = lists[kind].filter((entry) => {
      const read = SCHEMAS[kind].safeParse(entry);
      if (read.success) return true;
      const why = read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
      warnings.push(`${kind}: ${entry.name} is left out, it is not valid (${why.join("; ")})`);
      return false;
    });
    // A filtered list has the type of the list.
    return kept as Lists[K];
  };
  const checks: Inspected["checks"] = new Map();
  const tools = valid("tools").map((tool) => {
    const listed = listedName(tool.name, undefined);
    if (listed !== tool.name) {
      warnings.push(
        `the tool "${tool.name}" is listed as ${listed}: its name has other characters than A-Z a-z 0-9 _ . -`,
      );
    }
    if (checks.has(tool.name)) warnings.push(`the tool ${tool.name} is listed twice`);
    warnings.push(...headerWarnings(tool));
    return inspectSchemas(tool, checks, warnings);
  });
  return {
    lists: {
      tools,
      resources: valid("resources"),
      resourceTemplates: valid("resourceTemplates"),
      prompts: valid("prompts"),
    },
    checks,
    warnings,
  };
}

/** Compiles a tool's checks. One whose schema is not valid is served all the same, with an open one. */
function inspectSchemas(tool: Tool, checks: Inspected["checks"], warnings: string[]): Tool {
  const compile = (key: "inputSchema" | "outputSchema"): string | undefined => {
    const schema = tool[key];
    if (schema === undefined) return undefined;
    try {
      return compileCheck(schema);
    } catch (error) {
      const open = key === "inputSchema" ? "it takes any object" : "it is dropped";
      warnings.push(
        `the ${key} of ${tool.name} is not valid, so ${open}: ${(error as Error).message.split(", ")[0]}`,
      );
      return undefined;
    }
  };
  const input = compile("inputSchema");
  const output = compile("outputSchema");
  checks.set(tool.name, {
    ...(input === undefined ? {} : { input }),
    ...(output === undefined ? {} : { output }),
  });
  const { inputSchema, outputSchema, ...rest } = tool;
  return {
    ...rest,
    inputSchema: input === undefined ? { type: "object", properties: {} } : inputSchema,
    ...(output === undefined ? {} : { outputSchema }),
  };
}

/** https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header */
function headerWarnings(tool: Tool): string[] {
  const reachable = paramHeaders(tool);
  const wrong: string[] = [];
  if (count(tool.inputSchema) > reachable.length)
    wrong.push("it stands elsewhere than under properties");
  for (const { header, type } of reachable) {
    if (!/^mcp-param-[!#$%&'*+.^_`|~0-9a-z-]+$/.test(header))
      wrong.push(`${header} is no header name`);
    if (!["string", "integer", "boolean"].includes(String(type))) {
      wrong.push(`${header} is of type ${String(type)}, not string, integer or boolean`);
    }
  }
  if (new Set(reachable.map(({ header }) => header)).size < reachable.length)
    wrong.push("one name stands twice");
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
