import { env } from "cloudflare:workers";
import { readSettings } from "../../../../src/server/kernel/settings/env.ts";
import { sealerOf } from "../../../../src/server/kernel/storage/vault.ts";
import { post, URL_OF_MCP } from "../../server.ts";
import { ABLE, server as usual, type Json } from "../../calls/client.ts";

/** A raw client of a session: what it sends and reads is on the wire as it is here. */

export const LATEST = "2025-11-25";

/** One event of a stream. */
export interface SessionEvent {
  id?: string;
  /** In ms. */
  retry?: number;
  /** Absent in one that has no data, such as the priming event. */
  message?: Json;
}

/** A stream that is read event by event; comments are left out. */
export class Events {
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = "";

  /** Takes the response, which must be a stream. */
  constructor(response: Response) {
    const type = response.headers.get("content-type") ?? "";
    if (response.body === null || !type.startsWith("text/event-stream")) {
      throw new Error(`this is no stream: ${response.status} ${type}`);
    }
    this.#reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** Undefined when it has ended; throws where it breaks off. */
  async next(): Promise<SessionEvent | undefined> {
    const end = this.#text.indexOf("\n\n");
    if (end < 0) {
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#text += value;
      return this.next();
    }
    const event = eventIn(this.#text.slice(0, end));
    this.#text = this.#text.slice(end + 2);
    return event ?? this.next();
  }

  /** The next message. Throws where the stream ends before one comes. */
  async message(): Promise<Json> {
    const event = await this.next();
    if (event === undefined) throw new Error("the stream has ended");
    return event.message ?? this.message();
  }

  /** All that comes until it ends. */
  async rest(): Promise<SessionEvent[]> {
    const events: SessionEvent[] = [];
    for (let event = await this.next(); event !== undefined; event = await this.next()) {
      events.push(event);
    }
    return events;
  }

  /** Goes away, as a client does that loses its connection. */
  async drop(): Promise<void> {
    await this.#reader.cancel().catch(() => {});
  }
}

/** Undefined for a comment. */
function eventIn(text: string): SessionEvent | undefined {
  const event: SessionEvent = {};
  const lines = text.split("\n").filter((line) => !line.startsWith(":"));
  if (lines.length === 0) return undefined;
  for (const line of lines) {
    const colon = line.indexOf(":");
    const [field, value] = [line.slice(0, colon), line.slice(colon + 1).trimStart()];
    if (field === "id") event.id = value;
    if (field === "retry") event.retry = Number(value);
    if (field === "data" && value !== "") event.message = JSON.parse(value) as Json;
  }
  return event;
}

export interface SessionOptions {
  version?: string;
  /** Capabilities that the client declares; by default all but tasks. */
  capabilities?: object;
  /** Whether it says that it is initialized; it does where nothing is said. */
  ready?: boolean;
  /** Where false, its id is no ticket: the client says too much of itself. */
  ticket?: false;
  /** Where false, its session has no object yet. */
  stored?: false;
  /** With each of its requests. */
  headers?: Record<string, string>;
  server?: typeof usual;
}

/** The id of the object of the session with this id. */
export async function objectIn(id: string): Promise<string> {
  if (!id.startsWith("~")) return id;
  const ticket = (await sealer.openText(id.slice(1), "session")) as { object: string };
  return ticket.object;
}

const sealer = sealerOf(readSettings(env), env)!;

export class SessionClient {
  /** The session's id. */
  readonly id: string;
  /** The id of the session's object. */
  readonly object: string;
  readonly version: string;
  /** The result of `initialize`. */
  readonly introduced: Json;
  readonly #headers: Record<string, string>;
  readonly #server: typeof usual;
  #requests = 0;

  private constructor(
    { id, object }: Pick<SessionClient, "id" | "object">,
    introduced: Json,
    { headers = {}, server }: SessionOptions,
  ) {
    this.id = id;
    this.object = object;
    this.introduced = introduced;
    this.version = String(introduced["protocolVersion"]);
    this.#headers = headers;
    this.#server = server ?? usual;
  }

  /** Begins a session. Throws where the server does not. */
  static async begin(options: SessionOptions = {}): Promise<SessionClient> {
    const { version = LATEST, capabilities = ABLE, headers = {}, server = usual } = options;
    const clientInfo = {
      name: options.ticket === false ? "raw".repeat(1000) : "raw",
      version: "1",
    };
    const params = { protocolVersion: version, capabilities, clientInfo };
    const body = { jsonrpc: "2.0", id: "initialize", method: "initialize", params };
    const response = await post(body, headers, server);
    const { result } = await messageIn(response);
    const id = response.headers.get("mcp-session-id");
    if (id === null || result === undefined) throw new Error(`no session: ${response.status}`);
    const client = new SessionClient({ id, object: await objectIn(id) }, result, options);
    if (options.ready !== false) await client.notify("notifications/initialized");
    if (options.ticket !== false && options.stored !== false) await client.store();
    return client;
  }

  /** A body as it is; `headers` stand in for the session's own. */
  post(body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return post(body, { ...this.#known, ...headers }, this.#server);
  }

  /** Has the session's object made, as whoever sets a log level does. */
  async store(): Promise<void> {
    const response = await this.request("logging/setLevel", { level: "debug" });
    if (response.status !== 200) throw new Error(await response.text());
    await response.text();
  }

  /** Sends a request under an id of its own, or this one. */
  request(method: string, params: Json = {}, id: unknown = this.newId()): Promise<Response> {
    return this.post({ jsonrpc: "2.0", id, method, params });
  }

  call(name: string, args: Json = {}, other: Json = {}, id?: unknown): Promise<Response> {
    return this.request("tools/call", { name, arguments: args, ...other }, id);
  }

  async notify(method: string, params: Json = {}): Promise<Response> {
    return this.post({ jsonrpc: "2.0", method, params });
  }

  /** Answers a request of the server. */
  answer(id: unknown, result: unknown): Promise<Response> {
    return this.post({ jsonrpc: "2.0", id, result });
  }

  refuse(id: unknown, error: { code: number; message: string }): Promise<Response> {
    return this.post({ jsonrpc: "2.0", id, error });
  }

  /** GET: the session's own stream, or the one of this event. */
  async listen(lastEventId?: string, headers: Record<string, string> = {}): Promise<Response> {
    const last = lastEventId === undefined ? undefined : { "last-event-id": lastEventId };
    const request = new Request(URL_OF_MCP, {
      headers: { ...this.#known, accept: "text/event-stream", ...last, ...headers },
    });
    return this.#server.fetch(request);
  }

  /** DELETE. */
  async end(): Promise<Response> {
    const request = new Request(URL_OF_MCP, { method: "DELETE", headers: this.#known });
    return this.#server.fetch(request);
  }

  newId(): number {
    return ++this.#requests;
  }

  get #known(): Record<string, string> {
    return { ...this.#headers, "mcp-session-id": this.id, "mcp-protocol-version": this.version };
  }
}

/** The one message of a response, whether it is JSON or the only one of a stream. */
export async function messageIn(response: Response): Promise<Json> {
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
    return new Events(response).message();
  }
  return response.json();
}

/** The message that answers a request, wherever in its response it is; others go to `heard`. */
export async function resultIn(
  response: Response,
  heard: (message: Json) => Promise<unknown> | void = () => {},
): Promise<Json> {
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
    return response.json();
  }
  const events = new Events(response);
  for (;;) {
    const message = await events.message();
    if ("result" in message || "error" in message) return message;
    await heard(message);
  }
}
