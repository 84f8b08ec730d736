/**
 * Views: pages of servlets that clients show for results of their tools.
 * https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx
 */
import { isObject, type Json } from "./model.ts";

/** The extension by which clients and server say that they know views. */
export const VIEWS_EXTENSION = "io.modelcontextprotocol/ui";
/** The media type of a view. */
export const VIEW_TYPE = "text/html;profile=mcp-app";

/** True for a client with these capabilities that shows views. */
export function showsViews({ extensions }: Json): boolean {
  const settings = isObject(extensions) ? extensions[VIEWS_EXTENSION] : undefined;
  const types = isObject(settings) ? settings["mimeTypes"] : undefined;
  return Array.isArray(types) && types.includes(VIEW_TYPE);
}
