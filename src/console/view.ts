/** Shows the view of a tool's calls below the tool's form, one view at a time, and limits what it may access. */
import type { CallToolResult } from "@modelcontextprotocol/client";
import { isObject, type Json } from "../server/kernel/core/model.ts";
import { printableText } from "../server/kernel/core/text.ts";
import { viewIn } from "../server/kernel/core/views.ts";
import { bringForward } from "./ask.tsx";
import type { Listener, PendingAsk } from "./mcp.ts";
import type { FramedView } from "./view-host.ts";
import { connectionFor, reasonOf, type Target } from "./targets.ts";

/** A call whose view is shown. */
interface ViewedCall {
  input: Json;
  outcome: Promise<object>;
  listener: Listener;
}

/** Shows the views of a tool's calls in `place`. */
export function viewsIn(place: HTMLElement, { target, address }: Opened) {
  const said = document.createElement("p");
  said.setAttribute("role", "status");
  place.append(said);
  let closing = new AbortController();
  let last = Promise.resolve();
  const show = (call: ViewedCall) => {
    closing.abort();
    said.textContent = "";
    const { signal } = (closing = new AbortController());
    const before = last;
    const next = async () => {
      await before;
      try {
        const saved = (one: string) => void whenSaved(one, signal).then((is) => is && show(call));
        await shown(call, { place, target, address, listener: call.listener, signal, saved });
      } catch (error) {
        if (signal.aborted) return;
        const why = `${reasonOf(error)} The result is shown without its view.`;
        said.textContent = printableText(why.slice(0, 2000));
      }
    };
    last = next();
  };
  const isAnswered = (asked: PendingAsk, listener: Listener) =>
    isAnsweredByView(asked, { place, target, address, listener });
  return { show, isAnswered };
}

interface Opened {
  target: Target;
  /** The URL of the MCP endpoint. */
  address: string;
}

interface ViewContext extends Opened {
  place: HTMLElement;
  listener: Listener;
  signal: AbortSignal;
  /** Called with the address of the view's document. */
  saved?(address: string): void;
}

/** Interval between checks whether the document of a view has changed, in ms. */
const SAVED_MS = 1000;
const LOCAL = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Resolves with true when a view's document has changed on a local server, and with false once `signal` aborts. */
async function whenSaved(address: string, signal: AbortSignal): Promise<boolean> {
  let first: string | undefined;
  while (LOCAL.has(location.hostname) && !signal.aborted) {
    // The server may be restarting.
    const response = await fetch(address, { signal }).catch(() => undefined);
    const text = response?.ok ? await response.text().catch(() => undefined) : undefined;
    first ??= text;
    if (text !== undefined && text !== first) return !signal.aborted;
    await new Promise((done) => setTimeout(done, SAVED_MS));
  }
  return false;
}

async function shown({ input, outcome }: ViewedCall, by: ViewContext): Promise<void> {
  const mcp = await connectionFor(by.target, by.address);
  const tool = await mcp.tool(by.target.name);
  const { resourceUri: uri } = uiOf(tool);
  if (tool === undefined || typeof uri !== "string" || by.signal.aborted) return;
  const ended = outcome.then(
    (result) => ({ result: result as CallToolResult }),
    (error: unknown) => ({ reason: reasonOf(error) }),
  );
  const title = `View of ${tool.title ?? tool.name}`;
  await hosted(uri, by, { title, call: { tool, input, outcome: ended } });
}

/**
 * Lets the view that a question names answer it. Resolves with false if the question names no view, the view cannot
 * answer, or the user prefers the form.
 */
async function isAnsweredByView(
  { params, signal: over, answer }: PendingAsk,
  { place, ...by }: Omit<ViewContext, "signal">,
): Promise<boolean> {
  const uri = viewIn(params);
  if (typeof uri !== "string") return false;
  const closing = new AbortController();
  let isAnswered = false;
  const form = document.createElement("button");
  Object.assign(form, { type: "button", textContent: "Use the form instead" });
  form.addEventListener("click", () => closing.abort());
  over.addEventListener("abort", () => closing.abort());
  const words = document.createElement("p");
  words.className = "text";
  words.textContent = printableText(String(params["message"]).slice(0, CHARACTERS));
  const section = document.createElement("section");
  section.className = "notice";
  section.ariaLabel = "A question";
  section.tabIndex = -1;
  const shownIn = document.createElement("div");
  section.append(words, shownIn, form);
  place.prepend(section);
  bringForward(section);
  const question = {
    params,
    answer(result: Json) {
      isAnswered = true;
      answer(result);
      closing.abort();
    },
  };
  try {
    const { signal } = closing;
    await hosted(uri, { ...by, place: shownIn, signal }, { title: "A question for you", question });
  } catch {
    // The question is answered in the form.
  }
  section.remove();
  return isAnswered;
}

/** Maximum length of a question shown above its view, in characters. */
const CHARACTERS = 10_000;

/** Shows a view of this servlet until `signal` aborts. Throws an error for the user if there is no view or it fails. */
async function hosted(
  uri: string,
  { place, target, address, listener, signal, saved }: ViewContext,
  what: Pick<FramedView, "title" | "call" | "question">,
): Promise<void> {
  const mcp = await connectionFor(target, address);
  const isOwn = entriesBeside(target);
  if (!isOwn("resource", uri)) throw new Error(`The view ${uri} is no resource of this servlet.`);
  const [{ hostView }, content] = await Promise.all([
    import("./view-host.ts"),
    mcp.view(uri, listener, signal).catch((error: unknown) => {
      throw new Error(`The view ${uri} could not be loaded: ${reasonOf(error)}`);
    }),
  ]);
  const uses: FramedView["uses"] = {
    async callTool(name, given, until) {
      const called = isOwn("tool", name) ? await mcp.tool(name) : undefined;
      const { visibility } = uiOf(called);
      if (called === undefined || (Array.isArray(visibility) && !visibility.includes("app")))
        throw new Error(`This view may not call ${name}: only its servlet's tools for views.`);
      return mcp.call(name, given, listener, { signal: until, onprogress() {} });
    },
    async readResource(named, until) {
      if (!isOwn("resource", named))
        throw new Error(`This view may not read ${named}: only what its servlet lists.`);
      return mcp.read(named, listener, until);
    },
  };
  const { onMessage, onLog } = listener;
  saved?.(addressOf(uri));
  const view = { ...what, address: addressOf(uri), meta: uiOf(content), uses, onMessage, onLog };
  await hostView(place, view, signal);
}

/** The address of a view's document, in the profile of this page. */
const addressOf = (uri: string): string => {
  const { profile } = document.querySelector<HTMLElement>("[data-profile]")?.dataset ?? {};
  return `/console/view?${new URLSearchParams({ uri, ...(profile && { profile }) })}`;
};

/** The `ui` member of an entry's metadata. */
function uiOf(entry: { _meta?: Json | undefined } | undefined): Json {
  const ui = entry?._meta?.["ui"];
  return isObject(ui) ? ui : {};
}

/**
 * Returns a check that an entry belongs to the target's servlet. MCP allows a view to call all tools of its server;
 * here, a view is limited to its servlet. The list on the page gives the servlet of each entry; an unlisted URI may be
 * another's.
 */
function entriesBeside(target: Target) {
  const rowOf = ({ kind, name }: Target) =>
    `.entry[data-kind="${kind}"][data-name="${CSS.escape(name)}"]`;
  const servlet = document.querySelector(`.list ${rowOf(target)}`)?.closest(".servlet");
  return (kind: Target["kind"], name: string): boolean =>
    Boolean(servlet?.querySelector(rowOf({ kind, name })));
}
