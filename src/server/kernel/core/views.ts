/**
 * Views: pages of servlets that clients show for tool results.
 * https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx
 */
import type { Ask } from "./asks.ts";
import { isObject, type Json, type Tool } from "./model.ts";

/** The extension by which clients and servers declare support for views. */
export const VIEWS_EXTENSION = "io.modelcontextprotocol/ui";
/** The media type of a view. */
export const VIEW_TYPE = "text/html;profile=mcp-app";

/** The URI of a servlet's view. */
export const viewUri = (servlet: string, view: string): string => `ui://${servlet}/${view}`;

/** True for a tool that a model may call: other tools are for the servlet's views. */
export const isForModels = (tool: Tool): boolean => isVisibleTo(tool, "model");

/** True for a tool that views of its servlet may call. */
export const isForViews = (tool: Tool): boolean => isVisibleTo(tool, "app");

function isVisibleTo({ _meta }: Tool, whom: "model" | "app"): boolean {
  const ui = _meta?.["ui"];
  const visibility = isObject(ui) ? ui["visibility"] : undefined;
  return !Array.isArray(visibility) || visibility.includes(whom);
}

/** True if a client with these capabilities shows views. */
export function showsViews({ extensions }: Json): boolean {
  const settings = isObject(extensions) ? extensions[VIEWS_EXTENSION] : undefined;
  const types = isObject(settings) ? settings["mimeTypes"] : undefined;
  return Array.isArray(types) && types.includes(VIEW_TYPE);
}

/**
 * True if a client with these capabilities lets views answer questions of servlets. Experimental:
 * https://github.com/modelcontextprotocol/modelcontextprotocol/pull/3118
 */
export function asksByViews(capabilities: Json): boolean {
  const { extensions } = capabilities;
  const settings = isObject(extensions) ? extensions[VIEWS_EXTENSION] : undefined;
  return showsViews(capabilities) && isObject(settings) && isObject(settings["elicitation"]);
}

/** The URI of the view that a question names; undefined if it names none. */
export function viewIn(params: Json): unknown {
  const { _meta: meta } = params;
  const ui = isObject(meta) ? meta["ui"] : undefined;
  return isObject(ui) ? ui["resourceUri"] : undefined;
}

/** A question that names the view with this URI. */
export function withViewAt(ask: Ask, uri: string): Ask {
  const { _meta: meta } = ask.params;
  const others = isObject(meta) ? meta : {};
  const ui = isObject(others["ui"]) ? others["ui"] : {};
  return {
    ...ask,
    params: { ...ask.params, _meta: { ...others, ui: { ...ui, resourceUri: uri } } },
  };
}

/** A question without the view that it names. */
export function withoutView(ask: Ask): Ask {
  const { _meta: meta, ...params } = ask.params;
  if (!isObject(meta) || meta["ui"] === undefined) return ask;
  const { ui: _, ...others } = meta;
  return {
    ...ask,
    params: Object.keys(others).length === 0 ? params : { ...params, _meta: others },
  };
}
