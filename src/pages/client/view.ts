/** Which view a tool's calls have, and what it may do: opened below the tool's form, one at a time. */
import { UriTemplate, type CallToolResult } from "@modelcontextprotocol/client";
import { isObject, type Json } from "../../core/model.ts";
import { printableText } from "../../core/text.ts";
import { VIEW_TYPE, type Listener, type Mcp } from "./mcp.ts";
import { connected, reasonOf, type Target } from "./targets.ts";

/** A call whose view is shown. */
interface Shown {
  input: Json;
  outcome: Promise<object>;
  listener: Listener;
}

/** Shows the views of a tool's calls in `place`, which is within the servlet's section of the page. */
export function viewsIn(place: HTMLElement, { target, address }: Opened) {
  const said = document.createElement("p");
  said.setAttribute("role", "status");
  place.append(said);
  let closing = new AbortController();
  let last = Promise.resolve();
  return (call: Shown) => {
    closing.abort();
    const { signal } = (closing = new AbortController());
    last = last
      .then(() => shown(call, { place, target, address, signal }))
      .then(
        () => "",
        (error: unknown) => `${reasonOf(error)} The result is shown without its view.`,
      )
      .then((why) => {
        said.textContent = signal.aborted ? "" : printableText(why.slice(0, 2000));
      });
  };
}

interface Opened {
  target: Target;
  /** Where this page calls its server. */
  address: string;
}

async function shown(
  { input, outcome, listener }: Shown,
  { place, target, address, signal }: Opened & { place: HTMLElement; signal: AbortSignal },
): Promise<void> {
  const mcp = await connected(target, address);
  const tool = await mcp.tool(target.name);
  const { resourceUri: uri } = uiOf(tool);
  if (tool === undefined || typeof uri !== "string" || signal.aborted) return;
  const [{ hostView }, { contents }] = await Promise.all([
    import("./view-host.ts"),
    mcp.read(uri, listener, signal).catch((error: unknown) => {
      throw new Error(`The view ${uri} could not be loaded: ${reasonOf(error)}`);
    }),
  ]);
  const content = contents.find(({ mimeType }) => mimeType === VIEW_TYPE);
  if (content === undefined) throw new Error(`The resource ${uri} is not a view.`);
  const own = place.closest<HTMLElement>(".servlet");
  const view = {
    address: `/console/view?${new URLSearchParams({ uri })}`,
    title: `View of ${tool.title ?? tool.name}`,
    ...{ ui: uiOf(content), tool, input },
    outcome: outcome.then(
      (result) => ({ result: result as CallToolResult }),
      (error: unknown) => ({ reason: reasonOf(error) }),
    ),
    onMessage: listener.onMessage,
    onLog: listener.onLog,
    async call(name: string, given: Json, until: AbortSignal) {
      await demandTool(name, mcp, own);
      return mcp.call(name, given, listener, { signal: until, onprogress() {} });
    },
    async read(named: string, until: AbortSignal) {
      demandResource(named, own);
      return mcp.read(named, listener, until);
    },
  };
  await hostView(place, view, signal);
}

/** What an entry says about views. */
function uiOf(entry: { _meta?: Json | undefined } | undefined): Json {
  const ui = entry?._meta?.["ui"];
  return isObject(ui) ? ui : {};
}

/** The names of a servlet's entries on this page. */
const namesIn = (servlet: HTMLElement | null, kind: Target["kind"]): string[] =>
  [...(servlet?.querySelectorAll<HTMLElement>(`.entry[data-kind="${kind}"]`) ?? [])].map(
    ({ dataset }) => dataset["name"] ?? "",
  );

/** A server is the whole of MCP's servers here: a view calls the tools of its own servlet alone. */
async function demandTool(name: string, mcp: Mcp, servlet: HTMLElement | null): Promise<void> {
  const tool = namesIn(servlet, "tool").includes(name) ? await mcp.tool(name) : undefined;
  const { visibility } = uiOf(tool);
  if (tool === undefined || (Array.isArray(visibility) && !visibility.includes("app")))
    throw new Error(
      `This view may not call ${name}: only tools of its own servlet that are for views.`,
    );
}

function demandResource(uri: string, servlet: HTMLElement | null): void {
  const isOwn =
    namesIn(servlet, "resource").includes(uri) ||
    namesIn(servlet, "template").some((one) => new UriTemplate(one).match(uri) !== null);
  if (!isOwn) throw new Error(`This view may not read ${uri}: only resources of its own servlet.`);
}
