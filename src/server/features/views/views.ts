/** The views of servlets: the resources, and the tools' references to them. */
import { Fault, noResource } from "../../kernel/core/errors.ts";
import { limits } from "../../kernel/core/limits.ts";
import {
  isObject,
  type Json,
  type Lists,
  type ReadResourceResult,
  type Resource,
  type Tool,
} from "../../kernel/core/model.ts";
import { oncePer } from "../../kernel/core/once-per.ts";
import {
  asksByViews,
  isForModels,
  showsViews,
  VIEW_TYPE,
  VIEWS_EXTENSION,
  viewUri,
} from "../../kernel/core/views.ts";
import type { PreparedServlet, StoredPart } from "../../kernel/servlets/bundle.ts";
import type { Contributor } from "../../kernel/servlets/catalog.ts";
import type { Manifest } from "../../kernel/servlets/manifest.ts";

/** Views in the catalog. */
export const viewsContributor: Contributor = {
  resources: (servlet) =>
    viewResources(servlet).map((resource) => ({
      kind: "views",
      resource,
      read: (stored) => readView(servlet, resource, stored),
    })),
  tool(entry, { mayName }) {
    const tool = withView(entry.tool, entry);
    const view = viewOfTool(tool);
    // A tool must not show its results on another servlet's view.
    const isOther = view !== undefined && !mayName(view);
    return isOther || tool !== entry.tool
      ? { ...entry, tool: isOther ? toolWithoutView(tool) : tool }
      : entry;
  },
  listsFor: (lists, client) => (showsViews(client) ? lists : withoutViews(lists)),
  extensions({ lists }, client) {
    if (!showsViews(client) || withoutViews(lists) === lists) return {};
    const settings = { mimeTypes: [VIEW_TYPE], ...(asksByViews(client) && { elicitation: {} }) };
    return { [VIEWS_EXTENSION]: settings };
  },
};

type View = NonNullable<Manifest["views"]>[string];

/** The resources that are a servlet's views. */
export const viewResources = ({ name, manifest: { views = {} } }: PreparedServlet): Resource[] =>
  Object.entries(views).map(([own, view]) => ({
    uri: viewUri(name, own),
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
function withView(
  tool: Tool,
  { servlet: { name, manifest }, own: ownName }: { servlet: PreparedServlet; own: string },
): Tool {
  const view = Object.entries(manifest.views ?? {}).find(([, { tools = [] }]) =>
    tools.includes(ownName),
  );
  const { visibility } = manifest.tools?.[ownName] ?? {};
  if (view === undefined && visibility === undefined) return tool;
  const own = tool._meta?.["ui"];
  const ui = {
    ...(isObject(own) && own),
    ...(view && { resourceUri: viewUri(name, view[0]) }),
    ...(visibility && { visibility }),
  };
  return { ...tool, _meta: { ...tool._meta, ui } };
}

/** The view that a tool names, as hosts read it: under the current key or that of the extension's first revision. */
function viewOfTool({ _meta }: Tool): unknown {
  const ui = _meta?.["ui"];
  return (isObject(ui) ? ui["resourceUri"] : undefined) ?? _meta?.[FLAT_KEY];
}

const FLAT_KEY = "ui/resourceUri";

/** The tool without the view that it names. */
function toolWithoutView(tool: Tool): Tool {
  const { ui, [FLAT_KEY]: _, ...meta } = tool._meta ?? {};
  if (!isObject(ui)) return { ...tool, _meta: meta };
  const { resourceUri: __, ...others } = ui;
  return { ...tool, _meta: { ...meta, ui: others } };
}

async function readView(
  { views = {}, parts }: PreparedServlet,
  { name, uri, mimeType, _meta }: Resource,
  stored: StoredPart | undefined,
): Promise<ReadResourceResult> {
  const digest = parts?.views?.[name];
  const html = views[name] ?? (digest === undefined ? undefined : await stored?.(digest));
  if (html === undefined) throw noResource(uri);
  // The bundle step checks this, but an installed servlet may not have gone through it.
  if (html.byteLength > limits.viewBytes) {
    const size = `${html.byteLength} bytes (limit ${limits.viewBytes})`;
    throw new Fault("servlet_failed", `The view ${uri} has ${size}. Report this to its author.`);
  }
  const text = new TextDecoder().decode(html);
  return { contents: [{ uri, mimeType, text, ...(_meta && { _meta }) }] };
}

/** The lists for a client that shows no views; the same object if they have no views. */
const withoutViews = oncePer((lists: Lists): Lists => {
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
