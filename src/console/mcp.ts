/** The page's MCP connection: the official client, with a record of its messages. */
import {
  Client,
  StreamableHTTPClientTransport,
  type CallToolResult,
  type Prompt,
  type Tool,
} from "@modelcontextprotocol/client";
import { config } from "zod";
import { SEND_SCRIPT_PATH, UPLOAD_FILE } from "../server/kernel/core/files.ts";
import type { Json } from "../server/kernel/core/model.ts";
import { printableLine } from "../server/kernel/core/text.ts";
import { uploadPathOf, type Sending } from "./files.ts";
import { paneAt } from "./panes.ts";
import { announce } from "./tabs.ts";
import { VIEW_TYPE, VIEWS_EXTENSION } from "../server/kernel/core/views.ts";

// Without `jitless`, zod compiles checks by `eval`, which the content security policy forbids.
config({ jitless: true });

/** A message that was sent or received, with its time in Unix ms. */
export interface TimedMessage {
  isSent: boolean;
  at: number;
  json: unknown;
  /** True for a message exchanged with a view instead of the server. */
  isOfView?: true;
}

/** A question for the user. */
export interface PendingAsk {
  method: string;
  params: Json;
  /** Aborts when the answer is no longer needed. */
  signal: AbortSignal;
  answer(result: Json): void;
}

/** Receives the events of a call. A connection has one listener: that of its latest call. */
export interface Listener {
  onMessage(message: TimedMessage): void;
  onLog(params: Json): void;
  onAsk(asked: PendingAsk): unknown;
}

interface Listening {
  by?: Listener;
  /** The name of the called entry. */
  name?: string;
}

/** Timeout of a call, in ms, with time for the user to answer questions. */
const CALL_MS = 60 * 60_000;

const META = "io.modelcontextprotocol/";

export class Mcp {
  readonly #client: Client;
  readonly #listening: Listening;
  readonly #tools: Promise<Map<string, Tool>>;
  readonly #searched = new Map<string, Tool>();

  private constructor(client: Client, listening: Listening) {
    this.#client = client;
    this.#listening = listening;
    this.#tools = client
      .listTools()
      .then(({ tools }) => new Map(tools.map((one) => [one.name, one])));
  }

  /** Throws if the server cannot be reached or the sign-in has expired. */
  static async connect(address: string): Promise<Mcp> {
    const client = new Client(
      { name: "edge-servlets-console", version: "1.0.0" },
      {
        capabilities: {
          elicitation: { form: {}, url: {} },
          sampling: {},
          extensions: { [VIEWS_EXTENSION]: { mimeTypes: [VIEW_TYPE], elicitation: {} } },
        },
        versionNegotiation: { mode: "auto" },
      },
    );
    const transport = new StreamableHTTPClientTransport(new URL(address, location.href));
    const listening: Listening = {};
    const record = (isSent: boolean, json: unknown) =>
      listening.by?.onMessage({ isSent, at: Date.now(), json });
    for (const method of ["elicitation/create", "sampling/createMessage"] as const) {
      client.setRequestHandler(method, ({ params }, { mcpReq: { signal } }) => {
        const { promise, resolve, reject } = Promise.withResolvers<Json>();
        signal.addEventListener("abort", () => reject(new Error("The call was cancelled.")));
        listening.by?.onAsk({ method, params, signal, answer: resolve });
        const question = "message" in params ? params.message : "A question for your model.";
        const [name, asks] = [listening.name ?? "", question].map(printableLine);
        announce({ name: name!, question: asks! }, promise);
        return promise as never;
      });
    }
    client.setNotificationHandler("notifications/message", ({ params }) =>
      listening.by?.onLog(params),
    );
    await client.connect(transport);
    const { onmessage } = transport;
    const send = transport.send.bind(transport);
    Object.assign(transport, {
      onmessage(...given: Parameters<NonNullable<typeof onmessage>>) {
        record(false, given[0]);
        onmessage?.(...given);
      },
      send(...given: Parameters<typeof send>) {
        record(true, given[0]);
        return send(...given);
      },
    });
    return new Mcp(client, listening);
  }

  /** The tool with this name; undefined if it is unavailable. */
  async tool(name: string): Promise<Tool | undefined> {
    return (await this.#tools).get(name) ?? this.#unlisted(name);
  }

  /** A tool that search finds but lists omit. It is read from the entry's page. */
  async #unlisted(name: string): Promise<Tool | undefined> {
    const known = this.#searched.get(name);
    if (known !== undefined) return known;
    const pane = await paneAt(`?${new URLSearchParams({ tool: name })}`);
    const text = pane?.dataset["tool"];
    if (text === undefined) return undefined;
    const tool = JSON.parse(text) as Tool;
    this.#searched.set(name, tool);
    return tool;
  }

  async prompt(name: string): Promise<Prompt | undefined> {
    const { prompts } = await this.#client.listPrompts();
    return prompts.find((one) => one.name === name);
  }

  async call(
    name: string,
    given: Json,
    listener: Listener,
    options: { signal: AbortSignal; onprogress(progress: CallProgress): void },
  ): Promise<CallToolResult> {
    Object.assign(this.#listening, { by: listener, name });
    const params = { name, arguments: given, _meta: { [`${META}logLevel`]: "debug" } };
    const unlisted = this.#searched.get(name);
    return this.#client.callTool(params, {
      ...options,
      timeout: CALL_MS,
      ...(unlisted && { toolDefinition: unlisted }),
    });
  }

  /** Sends a file to this server, and returns its URI. Throws if it is refused. */
  async send(file: File, how: Sending): Promise<string> {
    const { name, size, type } = file;
    const given = { name, size, ...(type && { mimeType: type }) };
    const unlisted = this.#searched.get(UPLOAD_FILE);
    const { structuredContent, content } = await this.#client.callTool(
      { name: UPLOAD_FILE, arguments: given },
      { signal: how.signal, ...(unlisted && { toolDefinition: unlisted }) },
    );
    const { file: made, transfer } = (structuredContent ?? {}) as Partial<Begun>;
    const [first] = content;
    if (made === undefined || transfer === undefined)
      throw new Error(first?.type === "text" ? first.text : "The server takes no files.");
    const url = uploadPathOf(transfer.url);
    const { sendInParts } = (await import(SEND_SCRIPT_PATH)) as SendScript;
    await sendInParts(file, { ...how, url });
    return made.uri;
  }

  get(name: string, given: Record<string, string>, listener: Listener, signal: AbortSignal) {
    Object.assign(this.#listening, { by: listener, name });
    return this.#client.getPrompt({ name, arguments: given }, { signal, timeout: CALL_MS });
  }

  read(uri: string, listener: Listener, signal: AbortSignal) {
    Object.assign(this.#listening, { by: listener, name: uri });
    return this.#client.readResource({ uri }, { signal, timeout: CALL_MS });
  }

  /** Reads a resource without replacing the listener of a running call. */
  readBeside(uri: string) {
    return this.#client.readResource({ uri }, { timeout: CALL_MS });
  }

  /** The view with this URI. Throws if there is none. */
  async view(uri: string, listener: Listener, signal: AbortSignal) {
    const { contents } = await this.read(uri, listener, signal);
    const view = contents.find(({ mimeType }) => mimeType === VIEW_TYPE);
    if (view === undefined) throw new Error(`The resource ${uri} is not a view.`);
    return view;
  }

  /** Completions of an argument; empty if the server has none. */
  async complete(
    ref: { type: "ref/prompt"; name: string } | { type: "ref/resource"; uri: string },
    argument: { name: string; value: string },
    others: Record<string, string>,
  ): Promise<string[]> {
    const context = { arguments: others };
    const found = await this.#client.complete({ ref, argument, context }).catch(() => undefined);
    return found?.completion.values ?? [];
  }
}

/** The structured result of `upload_file`. */
interface Begun {
  file: { uri: string };
  transfer: { url: string };
}

/** The script at `SEND_SCRIPT_PATH`. */
interface SendScript {
  sendInParts(file: File, how: Sending & { url: string }): Promise<void>;
}

/** The progress of a call, from `notifications/progress`. */
export interface CallProgress {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}
