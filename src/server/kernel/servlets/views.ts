/** The views of a servlet, as resources that the server serves and as its tools name them. */
import { isObject, type Json, type Lists, type Resource, type Tool } from "../core/model.ts";
import { oncePer } from "../core/once-per.ts";
import { VIEW_TYPE } from "../core/views.ts";
import type { PreparedServlet } from "./bundle.ts";
import type { Manifest } from "./manifest.ts";

/** The settings of the extension. */
export const VIEW_SETTINGS = { mimeTypes: [VIEW_TYPE] };

type View = NonNullable<Manifest["views"]>[string];

const uriOf = (servlet: string, view: string): string => `ui://${servlet}/${view}`;

/** The resources that are a servlet's views. */
export const viewResources = ({ name, manifest: { views = {} } }: PreparedServlet): Resource[] =>
  Object.entries(views).map(([own, view]) => ({
    uri: uriOf(name, own),
    name: own,
    ...(view.title !== undefined && { title: view.title }),
    ...(view.description !== undefined && { description: view.description }),
    mimeType: VIEW_TYPE,
    ...metaOf(view),
  }));

/** The origins and permissions that a host grants a view, and how it frames it. */
function metaOf({ csp, permissions = [], prefersBorder }: View): { _meta?: Json } {
  const ui = {
    ...(csp && { csp }),
    ...(permissions.length > 0 && {
      permissions: Object.fromEntries(permissions.map((one) => [one, {}])),
    }),
    ...(prefersBorder !== undefined && { prefersBorder }),
  };
  return Object.keys(ui).length === 0 ? {} : { _meta: { ui } };
}

/** A tool with the view that shows its results, and who may call it, as the manifest says. */
export function withView(
  tool: Tool,
  { name, manifest }: Pick<PreparedServlet, "name" | "manifest">,
): Tool {
  const view = Object.entries(manifest.views ?? {}).find(([, { tools = [] }]) =>
    tools.includes(tool.name),
  );
  const { visibility } = manifest.tools?.[tool.name] ?? {};
  if (view === undefined && visibility === undefined) return tool;
  const own = tool._meta?.["ui"];
  const ui = {
    ...(isObject(own) && own),
    ...(view && { resourceUri: uriOf(name, view[0]) }),
    ...(visibility && { visibility }),
  };
  return { ...tool, _meta: { ...tool._meta, ui } };
}

/** The view that a tool names, as hosts read it: also by the key of the extension's first revision. */
export function viewOfTool({ _meta }: Tool): unknown {
  const ui = _meta?.["ui"];
  return (isObject(ui) ? ui["resourceUri"] : undefined) ?? _meta?.[FLAT_KEY];
}

const FLAT_KEY = "ui/resourceUri";

/** The tool without the view that it names. */
export function toolWithoutView(tool: Tool): Tool {
  const { ui, [FLAT_KEY]: _, ...meta } = tool._meta ?? {};
  if (!isObject(ui)) return { ...tool, _meta: meta };
  const { resourceUri: __, ...others } = ui;
  return { ...tool, _meta: { ...meta, ui: others } };
}

/** The servlet's view with this URI: its document, or the digest of that where it is in the bucket of builds. */
export function viewAt(servlet: PreparedServlet, uri: string) {
  const resource = viewResources(servlet).find((view) => view.uri === uri);
  if (resource === undefined) return undefined;
  const { views = {}, parts } = servlet;
  return { resource, document: views[resource.name] ?? parts?.views?.[resource.name] };
}

const isVisibleTo = ({ _meta }: Tool, whom: "model" | "app"): boolean => {
  const ui = _meta?.["ui"];
  const visibility = isObject(ui) ? ui["visibility"] : undefined;
  return !Array.isArray(visibility) || visibility.includes(whom);
};

/** True for a tool that a model may call: others are for the servlet's views. */
export const isForModels = (tool: Tool): boolean => isVisibleTo(tool, "model");

/** True for a tool that views of its servlet may call. */
export const isForViews = (tool: Tool): boolean => isVisibleTo(tool, "app");

/** The lists for a client that shows no views: these where they have none. */
export const withoutViews = oncePer((lists: Lists): Lists => {
  const isView = ({ uri, mimeType }: Resource) => mimeType === VIEW_TYPE && uri.startsWith("ui://");
  if (!lists.resources.some(isView) && !lists.tools.some(({ _meta }) => _meta?.["ui"]))
    return lists;
  const tools = lists.tools.filter(isForModels).map(plain);
  return { ...lists, tools, resources: lists.resources.filter((one) => !isView(one)) };
});

function plain(tool: Tool): Tool {
  if (tool._meta?.["ui"] === undefined) return tool;
  const { ui: _, ...others } = tool._meta;
  const { _meta: __, ...rest } = tool;
  return Object.keys(others).length === 0 ? rest : { ...rest, _meta: others };
}
