/** Shows a servlet's view in a frame by the official host library of MCP Apps. Loaded when a view is opened. */
import {
  AppBridge,
  buildAllowAttribute,
  McpUiResourceMetaSchema,
  PostMessageTransport,
  type McpUiHostContext,
} from "@modelcontextprotocol/ext-apps/app-bridge";
import type {
  CallToolResult,
  ElicitResult,
  EmbeddedResource,
  ReadResourceResult,
  ResourceLink,
  Tool,
} from "@modelcontextprotocol/client";
import { ElicitResultSchema } from "@modelcontextprotocol/core";
import { config } from "zod";
import { isObject, type Json } from "../server/kernel/core/model.ts";
import { printable } from "../server/kernel/core/text.ts";
import type { TimedMessage } from "./mcp.ts";

// Without `jitless`, zod compiles checks by `eval`, which the content security policy forbids.
config({ jitless: true });

/** Timeout for the user's answer to a question, in ms. */
const ANSWER_MS = 7 * 24 * 3_600_000;
/** Timeout for the start of a view, in ms. */
const START_MS = 10_000;
/** Timeout for the end of a view, in ms. */
const END_MS = 1000;
/** Maximum height of a view in the page, in pixels. */
const HEIGHT = 800;
/** Maximum number of a view's concurrent calls and reads. */
const RUNNING = 4;
/** Maximum number of a view's messages per second. */
const MESSAGES = 1000;
/** Maximum size of a message: the number of characters, and 8 for each other value. */
const MESSAGE_SIZE = 4_000_000;
/** Maximum size of a message that is recorded. */
const KEPT_SIZE = 100_000;
const LINK_CHARACTERS = 2000;

/** A view, its input, and its permissions. */
export interface FramedView {
  /** The address of its document. */
  address: string;
  title: string;
  /** The `ui` metadata of its resource, as its servlet gave it. */
  meta: unknown;
  /** The call whose result it shows. The outcome is the result, or the reason why there is none. */
  call?: {
    tool: Tool;
    input: Json;
    outcome: Promise<{ result: CallToolResult } | { reason: string }>;
  };
  /** The elicitation that it answers, if any. */
  question?: { params: Json; answer(result: ElicitResult): void };
  /** Calls a tool or reads a resource for the view. Throws an error if the view may not. Absent without any access. */
  uses?: {
    callTool(name: string, given: Json, signal: AbortSignal): Promise<CallToolResult>;
    readResource(uri: string, signal: AbortSignal): Promise<ReadResourceResult>;
  };
  onMessage?(message: TimedMessage): void;
  onLog?(params: Json): void;
}

/**
 * Shows a view until `closing` aborts, then tells the view and removes it. Throws an error for the user if the view
 * does not start, sends too many messages, navigates away, or does not answer its question.
 */
export async function hostView(
  place: HTMLElement,
  view: FramedView,
  closing: AbortSignal,
): Promise<void> {
  const { csp, permissions, prefersBorder } =
    McpUiResourceMetaSchema.safeParse(view.meta).data ?? {};
  const { frame, dialog, leave } = framed(view, buildAllowAttribute(permissions));
  if (prefersBorder === false) frame.className = "plain";
  const failed = Promise.withResolvers<never>();
  const fail = (why: string) => failed.reject(new Error(why));
  const over = new AbortController();
  const { signal } = over;
  const context = contextFor(view, dialog);
  const bridge = new AppBridge(
    null,
    { name: "edge-servlets-console", version: "1.0.0" },
    {
      openLinks: {},
      downloadFile: {},
      logging: {},
      ...(view.uses && { serverTools: {}, serverResources: {} }),
      ...(view.question && { elicitation: {} }),
      message: { text: {} },
      updateModelContext: { text: {}, structuredContent: {} },
      sandbox: { ...(csp && { csp }), ...(permissions && { permissions }) },
    },
    { hostContext: context() },
  );
  const tellContext = () => bridge.setHostContext(context());

  let running = 0;
  const bounded = async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= RUNNING)
      throw new Error(`This view has ${RUNNING} calls running, which is the limit. Wait for one.`);
    running++;
    try {
      return await work();
    } finally {
      running--;
    }
  };
  if (view.uses) {
    const { callTool, readResource } = view.uses;
    bridge.oncalltool = ({ name, arguments: given = {} }, { mcpReq }) =>
      bounded(() => callTool(name, given, AbortSignal.any([mcpReq.signal, signal])));
    bridge.onreadresource = ({ uri }, { mcpReq }) =>
      bounded(() => readResource(uri, AbortSignal.any([mcpReq.signal, signal])));
  }
  // There is no model to receive these. They are shown in the list of messages.
  const taken = async () => ({});
  Object.assign(bridge, { onmessage: taken, onupdatemodelcontext: taken });
  bridge.onloggingmessage = (params) => view.onLog?.(params);
  bridge.onsizechange = ({ height = 0 }) => {
    frame.style.height = `${Math.min(Math.max(height, 0), HEIGHT)}px`;
  };
  bridge.onopenlink = async ({ url }) => ({ isError: !(await isAgreed(dialog, linkTo(url))) });
  bridge.ondownloadfile = async ({ contents }) => {
    for (const one of contents)
      if (!(await isAgreed(dialog, savingOf(one, signal)))) return { isError: true };
    return {};
  };
  bridge.onrequestdisplaymode = async ({ mode }) => {
    const { availableDisplayModes: known = [mode] } = bridge.getAppCapabilities() ?? {};
    // Only after user activation may a view take the whole window.
    const mayEnter = known.includes(mode) && navigator.userActivation.isActive;
    if (mode === "fullscreen" && !dialog.open && mayEnter) {
      dialog.showModal();
      leave.focus();
    }
    if (mode === "inline" && dialog.open) dialog.close();
    tellContext();
    return { mode: dialog.open ? "fullscreen" : "inline" };
  };
  leave.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", tellContext);

  const start = setTimeout(
    () => fail(`The view did not start within ${START_MS / 1000} seconds.`),
    START_MS,
  );
  const tell = async ({ input, outcome }: NonNullable<FramedView["call"]>) => {
    await bridge.sendToolInput({ arguments: input });
    const ended = await outcome;
    if (signal.aborted) return;
    if ("result" in ended) await bridge.sendToolResult(ended.result);
    else await bridge.sendToolCancelled(ended);
  };
  const ask = async ({ params, answer }: NonNullable<FramedView["question"]>) => {
    if (!seen.answers) return fail("The view answers no questions.");
    const request = { method: "elicitation/create", params };
    const wait = { signal, timeout: ANSWER_MS };
    try {
      answer(await bridge.request(request, ElicitResultSchema, wait));
    } catch {
      fail("The view has given no answer to the question.");
    }
  };
  let hasStarted = false;
  bridge.oninitialized = () => {
    if (hasStarted) return;
    hasStarted = true;
    clearTimeout(start);
    if (view.call) void tell(view.call);
    if (view.question) void ask(view.question);
  };
  let loads = 0;
  frame.addEventListener("load", () => {
    if (++loads > 1) fail("The view has left its page, so it was closed.");
  });

  place.append(dialog);
  const { contentWindow } = frame;
  const guard = guardOf(contentWindow!, fail);
  addEventListener("message", guard, { signal });
  const transport = new PostMessageTransport(contentWindow!, contentWindow!);
  await bridge.connect(transport);
  const seen = record(transport, view.onMessage);
  const resized = new ResizeObserver(tellContext);
  resized.observe(frame);
  DARK.addEventListener("change", tellContext, { signal });

  const closed = new Promise<void>((resolve) => {
    if (closing.aborted) resolve();
    closing.addEventListener("abort", () => resolve());
  });
  try {
    await Promise.race([closed, failed.promise]);
    if (hasStarted) await bridge.teardownResource({}, { timeout: END_MS }).catch(() => undefined);
  } finally {
    clearTimeout(start);
    over.abort();
    resized.disconnect();
    await bridge.close();
    dialog.remove();
  }
}

const element = <K extends keyof HTMLElementTagNameMap>(
  name: K,
  made: Partial<HTMLElementTagNameMap[K]>,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] => {
  const one = Object.assign(document.createElement(name), made);
  one.append(...children);
  return one;
};

/** A dialog that contains the frame even while closed: moving a frame would reload it. */
function framed({ address, title }: FramedView, allow: string) {
  const frame = element("iframe", { title, src: address, allow, referrerPolicy: "no-referrer" });
  frame.setAttribute("sandbox", "allow-scripts");
  const leave = element("button", { type: "button", textContent: "Leave full screen" });
  const bar = element("p", { className: "acts" }, element("span", { textContent: title }), leave);
  const dialog = element("dialog", { className: "view", ariaLabel: title }, bar, frame);
  return { frame, dialog, leave };
}

const DARK = matchMedia("(prefers-color-scheme: dark)");

/** Returns a function that gives the view's current context. */
function contextFor({ call }: FramedView, dialog: HTMLDialogElement) {
  const style = getComputedStyle(document.documentElement);
  const variables = Object.fromEntries(
    Object.entries(VARIABLES).map(([name, own]) => [
      name,
      own.startsWith("--") ? style.getPropertyValue(own).trim() : own,
    ]),
  ) as NonNullable<NonNullable<McpUiHostContext["styles"]>["variables"]>;
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  const isTouched = matchMedia("(any-pointer: coarse)").matches;
  const hovers = matchMedia("(any-hover: hover)").matches;
  return (): McpUiHostContext => {
    const { clientWidth: width, clientHeight: height } = dialog.querySelector("iframe")!;
    return {
      ...(call && { toolInfo: { tool: call.tool } }),
      theme: DARK.matches ? "dark" : "light",
      styles: { variables },
      displayMode: dialog.open ? "fullscreen" : "inline",
      availableDisplayModes: ["inline", "fullscreen"],
      containerDimensions: dialog.open ? { width, height } : { width, maxHeight: HEIGHT },
      locale: navigator.language,
      timeZone,
      platform: "web",
      userAgent: "edge-servlets-console",
      deviceCapabilities: { touch: isTouched, hover: hovers },
    };
  };
}

/** The protocol's names of the page's colours and sizes, mapped to those in `src/server/kernel/http/style.ts`. */
const VARIABLES = {
  "--color-background-primary": "--paper",
  "--color-background-secondary": "--panel",
  "--color-background-inverse": "--ink",
  "--color-text-primary": "--ink",
  "--color-text-secondary": "--dim",
  "--color-text-inverse": "--paper",
  "--color-text-info": "--accent",
  "--color-text-danger": "--wrong",
  "--color-text-warning": "--warn",
  "--color-border-primary": "--edge",
  "--color-border-secondary": "--line",
  "--color-ring-primary": "--accent",
  "--font-sans": "system-ui, sans-serif",
  "--font-mono": "ui-monospace, monospace",
  "--border-radius-md": "0.375rem",
  "--border-width-regular": "1px",
};

/** Blocks messages that are too large or not from an opaque origin. Closes the view after too many messages. */
function guardOf(from: Window, fail: (why: string) => void) {
  let count = 0;
  return (event: MessageEvent) => {
    if (event.source !== from) return;
    if (count++ === 0) setTimeout(() => (count = 0), 1000);
    if (count > MESSAGES)
      fail(`The view sent more than ${MESSAGES} messages in a second, so it was closed.`);
    if (count > MESSAGES || event.origin !== "null" || !isWithin(event.data, MESSAGE_SIZE))
      event.stopImmediatePropagation();
  };
}

/** True for data of at most this size. Cyclic data exceeds every size. */
function isWithin(data: unknown, most: number): boolean {
  let left = most;
  const all: unknown[] = [data];
  while (left > 0 && all.length > 0) {
    const one = all.pop();
    left -= typeof one === "string" ? one.length : 8;
    // Messages are JSON: reject other objects, such as buffers.
    if (typeof one === "object" && one !== null) {
      if (!Array.isArray(one) && Object.getPrototypeOf(one) !== Object.prototype) return false;
      for (const [key, value] of Object.entries(one)) all.push(key, value);
    }
  }
  return left > 0;
}

/** Records a view's messages. `answers` is true once the view has declared that it answers questions. */
function record(transport: PostMessageTransport, onMessage: FramedView["onMessage"]) {
  const seen = { answers: false };
  const { onmessage } = transport;
  const send = transport.send.bind(transport);
  const note = (isSent: boolean, message: unknown) => {
    const json = isWithin(message, KEPT_SIZE) ? message : "It is too large to be kept here.";
    onMessage?.({ isSent, at: Date.now(), json, isOfView: true });
  };
  Object.assign(transport, {
    onmessage(...given: Parameters<NonNullable<typeof onmessage>>) {
      const [message] = given;
      note(false, message);
      // The library does not support this capability yet.
      if ("method" in message && message.method === "ui/initialize") {
        const { appCapabilities: known } = message.params ?? {};
        seen.answers = isObject(known) && isObject(known["elicitation"]);
      }
      onmessage?.(...given);
    },
    send(...given: Parameters<typeof send>) {
      note(true, given[0]);
      return send(...given);
    },
  });
  return seen;
}

/** A link to a web page; undefined for other schemes and for URLs with credentials. */
function linkTo(text: string) {
  const url = text.length > LINK_CHARACTERS ? null : URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username + url.password !== "")
    return undefined;
  const { href, host } = url;
  const link = element("a", { textContent: `Open ${host}`, href, target: "_blank" });
  link.rel = "noopener noreferrer";
  return { link, asks: `The view asks to open a page at ${host}:`, what: href };
}

/** A link that saves a file; undefined if the view has not sent its content. The file is deleted when `over` aborts. */
function savingOf(item: EmbeddedResource | ResourceLink, over: AbortSignal) {
  if (item.type !== "resource") return undefined;
  const { uri } = item.resource;
  const content =
    "text" in item.resource ? item.resource.text : Uint8Array.fromBase64(item.resource.blob);
  // A type that browsers do not render: the view's HTML would run with this page's origin.
  const file = new Blob([content], { type: "application/octet-stream" });
  const href = URL.createObjectURL(file);
  over.addEventListener("abort", () => URL.revokeObjectURL(href));
  const name = decodeURIComponent(/[^/]*$/.exec(uri)![0]);
  const link = element("a", { textContent: "Save", href, download: name });
  return { link, asks: `The view asks to save a file of ${file.size} bytes:`, what: name };
}

/** Asks the user whether to follow a link. False if there is no link, or if another question is open. */
async function isAgreed(
  dialog: HTMLElement,
  question: { link: HTMLAnchorElement; asks: string; what: string } | undefined,
): Promise<boolean> {
  if (question === undefined || dialog.querySelector(".asked") !== null) return false;
  const { link, asks, what } = question;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const deny = element("button", { type: "button", textContent: "Deny" });
  link.className = "button";
  link.addEventListener("click", () => resolve(true));
  deny.addEventListener("click", () => resolve(false));
  const shown = element(
    "section",
    { className: "notice asked", ariaLabel: "The view asks" },
    element("p", { textContent: asks }),
    element("p", {}, element("code", { textContent: printable(what) })),
    element("p", { className: "acts" }, link, deny),
  );
  dialog.querySelector("iframe")!.before(shown);
  const isWanted = await promise;
  shown.remove();
  return isWanted;
}
