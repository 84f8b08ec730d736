import { isObject, type Tool } from "../core/model.ts";
import { oncePer } from "../core/once-per.ts";

/** An argument that modern requests repeat in a header. */
interface ParamHeader {
  /** In lower case. */
  header: string;
  /** Property names from the root of the arguments. */
  path: string[];
  type: unknown;
}

/**
 * Arguments of a tool that are repeated in headers: properties with `x-mcp-header`, at any depth of `properties`.
 * https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header
 */
export const paramHeaders: (tool: Tool) => ParamHeader[] = oncePer((tool: Tool) =>
  inSchema(tool.inputSchema, []),
);

function inSchema(schema: unknown, path: string[]): ParamHeader[] {
  if (!isObject(schema) || !isObject(schema["properties"])) return [];
  return Object.entries(schema["properties"]).flatMap(([key, property]) => {
    const here = [...path, key];
    const name = isObject(property) ? property["x-mcp-header"] : undefined;
    const own =
      typeof name === "string" && isObject(property)
        ? [{ header: `mcp-param-${name.toLowerCase()}`, path: here, type: property["type"] }]
        : [];
    return [...own, ...inSchema(property, here)];
  });
}
