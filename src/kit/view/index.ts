/**
 * `edge-servlets/view`: the functions for the page of a view. They run in the frame in which a client shows the view, and
 * communicate with the client by messages.
 * https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx
 */
import type { InputOf, OutputOf } from "../infer.ts";
import type { TypedServlet } from "../servlet.ts";
import type { ContentBlock, LoggingLevel, ResourceContents } from "../types.ts";

const VERSION = "2026-01-26";

/** The manifest's `prefix`, which precedes the names of the servlet's tools; set when the page is built. */
declare const EDGE_SERVLETS_TOOL_PREFIX: string;

type Json = Record<string, unknown>;
type Member<T, K> = K extends keyof T ? T[K] : unknown;
type InputsOf<S> = S extends TypedServlet<infer I, infer _> ? I : Record<string, unknown>;
type OutputsOf<S> = S extends TypedServlet<infer _, infer O> ? O : unknown;

/**
 * The names of a servlet's tools.
 *
 * @example
 * type Poll = TypedServlet<{ vote: { type: "object" } }, {}>;
 * const tool: ToolsOf<Poll> = "vote";
 */
export type ToolsOf<S> = Extract<keyof InputsOf<S> | keyof OutputsOf<S>, string>;

/**
 * The type of a tool's arguments, as its caller gives them.
 *
 * @example
 * type Poll = TypedServlet<{ vote: { type: "object"; properties: { for: { type: "string" } } } }, {}>;
 * const args: ArgumentsOf<Poll, "vote"> = { for: "yes" };
 */
export type ArgumentsOf<S, K> =
  unknown extends Member<InputsOf<S>, K>
    ? Record<string, unknown>
    : InputOf<Member<InputsOf<S>, K>> & Record<string, unknown>;

/**
 * The result of a tool. `structuredContent` has the shape of the tool's output schema, if it has one and the call succeeded.
 *
 * @example
 * view.show(({ result }) => {
 *   if (result?.isError) document.body.textContent = "It did not work";
 * });
 */
export interface Result<T = unknown> {
  content: ContentBlock[];
  structuredContent?: T;
  isError?: boolean;
  _meta?: Record<string, unknown>;
}

type ResultOf<S, K> = Result<
  unknown extends Member<OutputsOf<S>, K> ? unknown : OutputOf<Member<OutputsOf<S>, K>>
>;

/**
 * A question to the user that this view answers, in place of a form. `schema` is the JSON Schema of an answer.
 *
 * @example
 * view.show(({ question }) => {
 *   const asked: ViewQuestion | undefined = question;
 *   document.body.textContent = asked?.message ?? "";
 * });
 */
export interface ViewQuestion {
  message: string;
  schema: Record<string, unknown>;
}

/**
 * How and where the client shows the view. `locale` is a BCP 47 tag, such as `de-CH`.
 *
 * @example
 * const frame: ViewFrame = view.state.frame;
 * document.body.textContent = new Date().toLocaleString(frame.locale);
 */
export interface ViewFrame {
  theme?: "light" | "dark";
  locale?: string;
  timeZone?: string;
  displayMode?: "inline" | "fullscreen" | "pip";
  availableDisplayModes?: ("inline" | "fullscreen" | "pip")[];
  platform?: "web" | "desktop" | "mobile";
  [other: string]: unknown;
}

/**
 * Everything that the client has sent to the view so far; `input` and `result` are undefined before there is a call.
 *
 * @example
 * const state: ViewState = view.state;
 * if (state.isPartial) document.title = "…";
 */
export interface ViewState<S = unknown, K = ToolsOf<S>> {
  frame: ViewFrame;
  /** The arguments of the call; while `isPartial`, only those that the model has written so far. */
  input?: Partial<ArgumentsOf<S, K>>;
  isPartial?: boolean;
  result?: ResultOf<S, K>;
  /** The reason why the call was cancelled; empty if none was given. */
  cancelled?: string;
  question?: ViewQuestion;
}

/**
 * The functions of a view. Those that send a request to the client reject with an `Error` whose message says what is wrong;
 * `call` also rejects if the tool's result is an error.
 *
 * @example
 * const connected: ConnectedView = view;
 * await connected.call("vote", { for: "yes" });
 * await connected.display("fullscreen");
 */
export interface ConnectedView<S = unknown, K = ToolsOf<S>> {
  readonly state: ViewState<S, K>;
  /** Calls a function with the state, now and after each change. */
  show(draw: (state: ViewState<S, K>) => void): void;
  /** Calls a tool of the servlet. */
  call<T extends ToolsOf<S>>(tool: T, args?: ArgumentsOf<S, T>): Promise<ResultOf<S, T>>;
  /** Reads a resource of the servlet. */
  read(uri: string): Promise<ResourceContents[]>;
  /** Answers the question; without `content`, the user declines. */
  answer(content?: Record<string, unknown>): void;
  /** The client's capabilities, by their names in the specification, such as `openLinks` and `downloadFile`. */
  readonly capabilities: Record<string, unknown>;
  /** Saves bytes or text as a file for the user; the client may ask the user first. */
  save(file: string, mimeType: string, content: Uint8Array | string): Promise<void>;
  /** Opens a page in the user's browser; the client may ask the user first. */
  open(url: string): Promise<void>;
  /** Adds a message of the user to the conversation. */
  say(text: string): Promise<void>;
  /** Gives the model context for its next answer; it replaces earlier context from the view. */
  tell(context: { text?: string; structuredContent?: Record<string, unknown> }): Promise<void>;
  /** Asks for a display mode; resolves with the mode that the client has chosen. */
  display(mode: "inline" | "fullscreen" | "pip"): Promise<string>;
  /** Writes to the client's log. */
  log(level: LoggingLevel, data: unknown): void;
}

/**
 * Options of a view. `resize: false` leaves the size to the client; by default the frame becomes as high as the page.
 *
 * @example
 * const options: ConnectOptions = { name: "poll", resize: false };
 * await connect(options);
 */
export interface ConnectOptions {
  name?: string;
  resize?: boolean;
}

interface Message {
  id?: string | number;
  method?: string;
  params?: Json;
  result?: Json;
  error?: { message?: string };
}

/**
 * Connects the page with the client that shows it; resolves when the client has answered. The page gets the client's colours:
 * `color-scheme` is set, and the custom properties that the client names.
 *
 * Type parameters: `S` is the servlet, whose tools give calls and results their types; `K` is the tool whose results are shown.
 *
 * @example
 * const view = await connect();
 * view.show(({ result, isPartial }) => {
 *   const [text] = result?.content ?? [];
 *   document.body.textContent = text?.type === "text" ? text.text : isPartial ? "…" : "";
 * });
 */
export async function connect<S = unknown, K extends string = ToolsOf<S>>({
  name = document.title || "view",
  resize = true,
}: ConnectOptions = {}): Promise<ConnectedView<S, K>> {
  const host = window.parent;
  if (host === window) throw new Error("This page is a view: a client shows it in a frame.");
  const waiting = new Map<unknown, { resolve(result: Json): void; reject(error: Error): void }>();
  const drawings: ((state: ViewState<S, K>) => void)[] = [];
  let asked: Message["id"];
  let last = 0;

  const send = (message: Json) => host.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const request = (method: string, params: object): Promise<Json> =>
    new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject });
      send({ id: last, method, params });
    });
  const done = async (method: string, params: object) => {
    const { isError } = await request(method, params);
    if (isError) throw new Error("The client, or its user, has refused it");
  };
  /** Answers the open question, if there is one. */
  const reply = (result: Json) => {
    if (asked !== undefined) send({ id: asked, result });
    asked = undefined;
  };
  const change = (changes: Partial<ViewState<S, K>>) => {
    view.state = { ...view.state, ...changes };
    for (const draw of drawings) draw(view.state);
  };

  /** Handlers by method. A handler that returns an object answers a request. */
  const handlers: Record<string, (params: Json, id: Message["id"]) => object | void> = {
    ping: () => ({}),
    "ui/resource-teardown": () => ({}),
    "ui/notifications/tool-input-partial": ({ arguments: input = {} }) =>
      change({ input, isPartial: true } as Partial<ViewState<S, K>>),
    "ui/notifications/tool-input": ({ arguments: input = {} }) =>
      change({ input, isPartial: false } as Partial<ViewState<S, K>>),
    "ui/notifications/tool-result": (result) => change({ result: result as never }),
    "ui/notifications/tool-cancelled": ({ reason = "" }) => change({ cancelled: String(reason) }),
    "ui/notifications/host-context-changed": (changes) => {
      const frame = { ...view.state.frame, ...changes };
      dress(frame);
      change({ frame });
    },
    "notifications/cancelled": ({ requestId }) => {
      if (requestId !== asked) return;
      asked = undefined;
      const { question: _, ...others } = view.state;
      view.state = others;
      change({});
    },
    // A new question replaces an open question.
    "elicitation/create": ({ message, requestedSchema }, id) => {
      reply({ action: "cancel" });
      asked = id;
      change({ question: { message: String(message), schema: requestedSchema as Json } });
    },
  };

  const view = {
    state: { frame: {} } as ViewState<S, K>,
    show(draw: (state: ViewState<S, K>) => void) {
      drawings.push(draw);
      draw(view.state);
    },
    async call(tool: string, args: Json = {}) {
      const result = (await request("tools/call", {
        name: EDGE_SERVLETS_TOOL_PREFIX + tool,
        arguments: args,
      })) as never;
      const { isError, content = [] } = result as Partial<Result>;
      if (!isError) return result;
      const texts = content.map((block) => (block.type === "text" ? block.text : ""));
      throw new Error(texts.join("\n") || `${tool} has failed`);
    },
    read: async (uri: string) => (await request("resources/read", { uri }))["contents"] as never,
    answer: (content?: Json) =>
      reply(content ? { action: "accept", content } : { action: "decline" }),
    capabilities: {},
    save: (file: string, mimeType: string, content: Uint8Array | string) => {
      const inside = typeof content === "string" ? { text: content } : { blob: base64(content) };
      const resource = { uri: `file:///${encodeURIComponent(file)}`, mimeType, ...inside };
      return done("ui/download-file", { contents: [{ type: "resource", resource }] });
    },
    open: (url: string) => done("ui/open-link", { url }),
    say: (text: string) => done("ui/message", { role: "user", content: [{ type: "text", text }] }),
    async tell({ text, ...context }: { text?: string; structuredContent?: Json }) {
      const content = text === undefined ? {} : { content: [{ type: "text", text }] };
      await request("ui/update-model-context", { ...content, ...context });
    },
    async display(mode: string) {
      const { mode: displayMode } = await request("ui/request-display-mode", { mode });
      change({ frame: { ...view.state.frame, displayMode } as ViewFrame });
      return String(displayMode);
    },
    log: (level: LoggingLevel, data: unknown) =>
      send({ method: "notifications/message", params: { level, data, logger: name } }),
  };

  window.addEventListener("message", ({ source, data }: MessageEvent<Message>) => {
    // Other windows may send messages as well.
    if (source !== host || typeof data !== "object" || data === null) return;
    const { id, method, params = {}, result, error } = data;
    if (method === undefined) {
      const call = waiting.get(id);
      waiting.delete(id);
      if (result) call?.resolve(result);
      else call?.reject(new Error(error?.message ?? "The client has refused it"));
      return;
    }
    const known = Object.hasOwn(handlers, method) ? handlers[method] : undefined;
    const answer = known?.(params, id);
    if (id === undefined) return;
    if (answer) send({ id, result: answer });
    else if (!known) send({ id, error: { code: -32601, message: `There is no ${method}.` } });
  });

  const { hostContext = {}, hostCapabilities = {} } = await request("ui/initialize", {
    protocolVersion: VERSION,
    appInfo: { name, version: "1" },
    appCapabilities: { availableDisplayModes: ["inline", "fullscreen"], elicitation: {} },
  });
  view.state.frame = { ...view.state.frame, ...(hostContext as ViewFrame) };
  view.capabilities = hostCapabilities as Json;
  dress(view.state.frame);
  send({ method: "ui/notifications/initialized", params: {} });
  if (resize) watchSize((params) => send({ method: "ui/notifications/size-changed", params }));
  return view;
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** Gives the page the client's colours, fonts and sizes. */
function dress({ theme, styles }: ViewFrame): void {
  const root = document.documentElement;
  if (theme) {
    root.dataset["theme"] = theme;
    root.style.colorScheme = theme;
  }
  const { variables = {}, css } = (styles ?? {}) as {
    variables?: Record<string, string>;
    css?: { fonts?: string };
  };
  for (const [name, value] of Object.entries(variables)) {
    if (name.startsWith("--") && value) root.style.setProperty(name, value);
  }
  if (!css?.fonts) return;
  const sheet = document.getElementById("host-fonts") ?? document.createElement("style");
  sheet.id = "host-fonts";
  sheet.textContent = css.fonts;
  document.head.append(sheet);
}

/** Reports the size of the page in CSS pixels, now and after each change. */
function watchSize(tell: (size: { width: number; height: number }) => void): void {
  let known = "";
  new ResizeObserver(() => {
    const { width, height } = document.documentElement.getBoundingClientRect();
    const size = { width: Math.ceil(width), height: Math.ceil(height) };
    if (known === JSON.stringify(size)) return;
    known = JSON.stringify(size);
    tell(size);
  }).observe(document.documentElement);
}
