import {
  Client,
  StreamableHTTPClientTransport,
  type CallToolResult,
  type Prompt,
  type Tool,
} from "@modelcontextprotocol/client";
import { config } from "zod";

/** The connection of this page to its server: the official client, whose messages are shown. */

// Compiling checks would need `eval`, which the policy of the page forbids.
config({ jitless: true });

export type Json = Record<string, unknown>;

/** A message as it was sent or came, with its time in Unix ms. */
export interface Message {
  isSent: boolean;
  at: number;
  json: unknown;
}

/** What the user is asked, and how the answer goes back. */
export interface Asked {
  method: string;
  params: Json;
  answer(result: Json): void;
}

/** Takes what happens during a call: the newest call's, as there is one user. */
export interface Listener {
  onMessage(message: Message): void;
  onLog(params: Json): void;
  onAsk(asked: Asked): void;
}

interface Heard {
  by?: Listener;
}

/** Milliseconds for a call; its user may take a while to answer. */
const CALL_MS = 60 * 60_000;

const META = "io.modelcontextprotocol/";

export class Mcp {
  readonly #client: Client;
  readonly #heard: Heard;
  readonly #tools: Promise<Map<string, Tool>>;

  private constructor(client: Client, heard: Heard) {
    this.#client = client;
    this.#heard = heard;
    this.#tools = client
      .listTools()
      .then(({ tools }) => new Map(tools.map((one) => [one.name, one])));
  }

  /** Throws where the server cannot be reached, or does not know who is calling. */
  static async connect(address: string): Promise<Mcp> {
    const client = new Client(
      { name: "edge-servlets-console", version: "1.0.0" },
      {
        capabilities: { elicitation: { form: {}, url: {} }, sampling: {} },
        versionNegotiation: { mode: "auto" },
      },
    );
    const transport = new StreamableHTTPClientTransport(new URL(address, location.href));
    const heard: Heard = {};
    const tell = (isSent: boolean, json: unknown) =>
      heard.by?.onMessage({ isSent, at: Date.now(), json });
    for (const method of ["elicitation/create", "sampling/createMessage"] as const) {
      client.setRequestHandler(method, ({ params }, { mcpReq: { signal } }) => {
        const { promise, resolve, reject } = Promise.withResolvers<Json>();
        signal.addEventListener("abort", () => reject(new Error("The call was cancelled.")));
        heard.by?.onAsk({ method, params, answer: resolve });
        return promise as never;
      });
    }
    client.setNotificationHandler("notifications/message", ({ params }) => heard.by?.onLog(params));
    await client.connect(transport);
    const { onmessage } = transport;
    const send = transport.send.bind(transport);
    Object.assign(transport, {
      onmessage(...given: Parameters<NonNullable<typeof onmessage>>) {
        tell(false, given[0]);
        onmessage?.(...given);
      },
      send(...given: Parameters<typeof send>) {
        tell(true, given[0]);
        return send(...given);
      },
    });
    return new Mcp(client, heard);
  }

  /** Undefined for one that is not offered (any more). */
  async tool(name: string): Promise<Tool | undefined> {
    return (await this.#tools).get(name);
  }

  async prompt(name: string): Promise<Prompt | undefined> {
    const { prompts } = await this.#client.listPrompts();
    return prompts.find((one) => one.name === name);
  }

  call(
    name: string,
    given: Json,
    listener: Listener,
    options: { signal: AbortSignal; onprogress(progress: Progress): void },
  ): Promise<CallToolResult> {
    this.#heard.by = listener;
    const params = { name, arguments: given, _meta: { [`${META}logLevel`]: "debug" } };
    return this.#client.callTool(params, { ...options, timeout: CALL_MS });
  }

  get(name: string, given: Record<string, string>, listener: Listener, signal: AbortSignal) {
    this.#heard.by = listener;
    return this.#client.getPrompt({ name, arguments: given }, { signal, timeout: CALL_MS });
  }

  read(uri: string, listener: Listener, signal: AbortSignal) {
    this.#heard.by = listener;
    return this.#client.readResource({ uri }, { signal, timeout: CALL_MS });
  }

  /** Values that an argument may have, or none where there are no completions. */
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

/** How far a call has got. */
export interface Progress {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}
