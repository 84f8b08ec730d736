/** Which view a tool's calls have, and what it may do: opened below the tool's form, one at a time. */
import type { CallToolResult } from "@modelcontextprotocol/client";
import { isObject, type Json } from "../../core/model.ts";
import { printableText } from "../../core/text.ts";
import type { Listener } from "./mcp.ts";
import { connectionFor, reasonOf, type Target } from "./targets.ts";

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
    said.textContent = "";
    const { signal } = (closing = new AbortController());
    const before = last;
    const show = async () => {
      await before;
      try {
        await shown(call, { place, target, address, signal });
      } catch (error) {
        if (signal.aborted) return;
        const why = `${reasonOf(error)} The result is shown without its view.`;
        said.textContent = printableText(why.slice(0, 2000));
      }
    };
    last = show();
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
  const mcp = await connectionFor(target, address);
  const tool = await mcp.tool(target.name);
  const { resourceUri: uri } = uiOf(tool);
  if (tool === undefined || typeof uri !== "string" || signal.aborted) return;
  const isOwn = entriesAround(place);
  if (!isOwn("resource", uri)) throw new Error(`The view ${uri} is no resource of this servlet.`);
  const [{ hostView }, content] = await Promise.all([
    import("./view-host.ts"),
    mcp.view(uri, listener, signal).catch((error: unknown) => {
      throw new Error(`The view ${uri} could not be loaded: ${reasonOf(error)}`);
    }),
  ]);
  const view = {
    address: `/console/view?${new URLSearchParams({ uri })}`,
    title: `View of ${tool.title ?? tool.name}`,
    ...{ meta: uiOf(content), tool, input },
    outcome: outcome.then(
      (result) => ({ result: result as CallToolResult }),
      (error: unknown) => ({ reason: reasonOf(error) }),
    ),
    onMessage: listener.onMessage,
    onLog: listener.onLog,
    async call(name: string, given: Json, until: AbortSignal) {
      const called = isOwn("tool", name) ? await mcp.tool(name) : undefined;
      const { visibility } = uiOf(called);
      if (called === undefined || (Array.isArray(visibility) && !visibility.includes("app")))
        throw new Error(`This view may not call ${name}: only its servlet's tools for views.`);
      return mcp.call(name, given, listener, { signal: until, onprogress() {} });
    },
    async read(named: string, until: AbortSignal) {
      if (!isOwn("resource", named))
        throw new Error(`This view may not read ${named}: only what its servlet lists.`);
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

/**
 * True for an entry of the servlet in whose section a place is. For MCP the whole server is one, and a view may call all its
 * tools; here, it is its servlet's alone. The server says whose each name is; a URI that is not listed may be another's.
 */
function entriesAround(place: HTMLElement) {
  const servlet = place.closest(".servlet");
  return (kind: Target["kind"], name: string): boolean =>
    Boolean(servlet?.querySelector(`.entry[data-kind="${kind}"][data-name="${CSS.escape(name)}"]`));
}
