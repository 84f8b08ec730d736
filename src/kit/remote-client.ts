/**
 * A client of MCP servers over Streamable HTTP, in the newest revision that both sides speak. It runs in servlets and in Node
 * (`servlets new --mcp`), and reaches the network by a `RemoteWire` alone.
 */
import { isObject } from "../server/kernel/core/model.ts";
import { textIn } from "../server/kernel/core/text.ts";

type Json = Record<string, unknown>;

/** A request to the server. */
export interface WireRequest {
  method: "POST" | "GET";
  headers: Record<string, string>;
  body?: string;
  /** True to open a stream whose events come with those of the next request. */
  beside?: boolean;
  /** True if it may be sent twice. */
  repeatable: boolean;
  /** A message that the server gets if the call is cancelled meanwhile. */
  whenCancelled?: Json;
}

/** The server's response; with `more`, its text are the first events of a stream. */
export interface WireResponse {
  status: number;
  header(name: string): string | null;
  text: string;
  more: boolean;
  /** True if these events are those of the stream beside it. */
  isBeside: boolean;
}

/** The connection to one server. Its functions throw an `Error` if the network fails. */
export interface RemoteWire {
  send(request: WireRequest): Promise<WireResponse>;
  /** The next events of the open stream, or of the one beside it; undefined at its end. */
  nextEvents(): Promise<{ text: string; isBeside: boolean } | undefined>;
  sleep(ms: number): Promise<void>;
  /** A text that no other call uses in its ids. */
  uniqueId(): string;
}

/** What the server says during a request, and whom its questions go to. */
export interface Hearing {
  capabilities: Json;
  progressToken?: unknown;
  meta: Json;
  heard(method: string, params: Json): void;
  /** Answers to requests of the server, by their keys: results, or errors. */
  ask(requests: Record<string, Json>): Promise<Record<string, Json>>;
}

/** The revision that the server speaks, and its session, if it has one. */
export interface RemoteConnection {
  version: string;
  session?: string | undefined;
  /** True if the server gives no stream to listen on. */
  isMute?: boolean | undefined;
}

/** An error of the server or of the way to it. */
export class RemoteFault extends Error {
  override name = "RemoteFault";
  /**
   * `refused`: a JSON-RPC error, which has `code` and `data`. `unauthorized`: it wants other credentials. `gone`: it does not
   * know the session. `unknown-outcome`: the connection was lost. `not-mcp`: its response is none of the protocol.
   * `unreachable`: the request failed.
   */
  readonly kind:
    | "refused"
    | "unauthorized"
    | "gone"
    | "unknown-outcome"
    | "not-mcp"
    | "unreachable";
  readonly code: number;
  readonly data: unknown;

  constructor(
    kind: RemoteFault["kind"],
    message: string,
    { code = 0, data }: { code?: number; data?: unknown } = {},
  ) {
    super(message);
    this.kind = kind;
    this.code = code;
    this.data = data;
  }
}

/** Revisions without sessions. */
const MODERN = "2026-07-28";
/** Revisions that begin with `initialize`, the newest first. */
export const OLDER_REVISIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
export const TASKS = "io.modelcontextprotocol/tasks";
const META = "io.modelcontextprotocol/";
/** Rounds of questions in one request, connections to one stream, and pages of one list. */
const [MOST_ROUNDS, MOST_RESUMES, MOST_PAGES] = [50, 50, 50];
/** Entries of one list. */
const MOST_ENTRIES = 2000;
/** Wait before a stream is resumed for which the server names none, and the longest, in ms. */
const [RESUME_MS, LONGEST_RESUME_MS] = [1000, 60_000];
/** Wait between two looks at a task, in ms: by default, at least and at most. */
const [POLL_MS, LEAST_POLL_MS, LONGEST_POLL_MS] = [2000, 250, 3_600_000];
/** Looks at one task: a call may make 500 requests. */
const MOST_POLLS = 400;
/** A look may come later than the server says by this part of the time that has passed, so that there are few in days. */
const LATER = 0.1;
/** Characters of a message of the server. */
const MOST_MESSAGE = 1000;
/** Visible ASCII, and half of the headers of a request at most. */
const SESSION_ID = /^[\x21-\x7e]{1,8192}$/;
/** Characters of a header's value that may be a key: shorter ones, such as a version, may be in any text. */
const LEAST_KEY = 8;
const UNSUPPORTED_VERSION = -32022;
/** Methods that change nothing, or nothing more the second time. */
const REPEATABLE =
  /^(?:server\/discover|initialize|notifications\/.*|ping|.*\/list|resources\/read|prompts\/get|completion\/complete|tasks\/.*)$/;
/** The param that the header `Mcp-Name` repeats. */
const NAMED_BY: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

interface ClientOptions {
  wire: RemoteWire;
  info: { name: string; version: string };
  /** Sent with every request. */
  headers: Record<string, string>;
}

/** A client of one server, for one call of a servlet. */
export class RemoteClient {
  connection: RemoteConnection;
  readonly #options: ClientOptions;
  #prefix: string | undefined;
  #count = 0;
  #hasBegun = false;

  constructor(connection: RemoteConnection, options: ClientOptions) {
    this.connection = connection;
    this.#options = options;
  }

  get isModern(): boolean {
    return this.connection.version >= MODERN;
  }

  /** Finds the newest revision that both speak, and begins with it. Returns what the server says of itself. */
  async begin(hearing: Hearing): Promise<Json> {
    this.connection = { version: MODERN };
    for (let isFirst = true; ; isFirst = false) {
      try {
        const found = await this.#send("server/discover", {}, hearing);
        if (hasModern(found["supportedVersions"])) return found;
        break;
      } catch (error) {
        if (!(error instanceof RemoteFault)) throw error;
        const { kind, code, data } = error;
        if (kind === "unauthorized" || kind === "unreachable") throw error;
        // An older server refuses a request that it does not know in any way that it likes.
        const isAgain =
          code === UNSUPPORTED_VERSION && isObject(data) && hasModern(data["supported"]);
        if (!isFirst || !isAgain) break;
      }
    }
    return this.initialize(hearing);
  }

  /** https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle */
  async initialize({ capabilities }: Hearing): Promise<Json> {
    const { version } = this.connection;
    const wanted = version >= MODERN ? OLDER_REVISIONS[0]! : version;
    this.connection = { version: wanted };
    this.#hasBegun = true;
    const params = { protocolVersion: wanted, capabilities, clientInfo: this.#options.info };
    const { result, session } = await this.#exchange("initialize", params, SILENT);
    const given = textIn(result["protocolVersion"]);
    if (!OLDER_REVISIONS.includes(given))
      throw new RemoteFault(
        "not-mcp",
        `speaks revision "${given.slice(0, 40)}" of MCP, and this client ${[MODERN, ...OLDER_REVISIONS].join(", ")}`,
      );
    this.connection = { version: given, session };
    await this.#post({ jsonrpc: "2.0", method: "notifications/initialized" }, { repeatable: true });
    return result;
  }

  /** Sends a request and answers the server's questions until there is a result. Throws a `RemoteFault`. */
  async request(method: string, params: Json, hearing: Hearing, tool?: Json): Promise<Json> {
    let given: Json = {};
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const result = await this.#renewed(method, { ...params, ...given }, hearing, tool);
      const { resultType = "complete", task } = result;
      if (isObject(task) && params["task"] !== undefined) return this.#olderTask(task, hearing);
      if (resultType === "complete") return result;
      if (resultType === "task" && method === "tools/call") return this.#task(result, hearing);
      if (resultType !== "input_required")
        throw new RemoteFault(
          "not-mcp",
          `gave a result of the unknown type "${textIn(resultType).slice(0, 40)}"`,
        );
      const { inputRequests, requestState } = result;
      const requests = requestsIn(inputRequests);
      // A server without questions has no room now.
      if (Object.keys(requests).length === 0) await this.#options.wire.sleep(RESUME_MS);
      given = {
        inputResponses: resultsIn(await hearing.ask(requests)),
        ...(requestState !== undefined && { requestState }),
      };
    }
    throw new RemoteFault("not-mcp", `asked more than ${MOST_ROUNDS} times in one call`);
  }

  /** All pages of a list, by its method and the member that has the entries. */
  async list(method: string, member: string, hearing: Hearing): Promise<Json[]> {
    const all: Json[] = [];
    const cursors = new Set<unknown>();
    let cursor: unknown;
    do {
      const page = await this.request(method, cursor === undefined ? {} : { cursor }, hearing);
      const entries = page[member];
      if (!Array.isArray(entries)) throw new RemoteFault("not-mcp", `gave no list of ${member}`);
      all.push(...entries.filter(isObject));
      cursor = page["nextCursor"] ?? undefined;
      if (cursor !== undefined && cursors.has(cursor))
        throw new RemoteFault("not-mcp", `gave the same page of ${method} again and again`);
      cursors.add(cursor);
      if (all.length > MOST_ENTRIES || cursors.size > MOST_PAGES)
        throw new RemoteFault(
          "not-mcp",
          `has a list of ${member} of more than ${all.length > MOST_ENTRIES ? `${MOST_ENTRIES} entries` : `${MOST_PAGES} pages`}`,
        );
    } while (cursor !== undefined);
    return all;
  }

  /** Sends a request in the session, which is begun anew once if it is lost. */
  async #renewed(method: string, params: Json, hearing: Hearing, tool?: Json): Promise<Json> {
    try {
      return await this.#send(method, params, hearing, tool);
    } catch (error) {
      const isLost = error instanceof RemoteFault && error.kind === "gone" && !this.#hasBegun;
      if (!isLost || this.isModern) throw error;
      await this.initialize(hearing);
      return this.#send(method, params, hearing, tool);
    }
  }

  async #send(method: string, params: Json, hearing: Hearing, tool?: Json): Promise<Json> {
    const { result } = await this.#exchange(method, params, hearing, tool);
    return result;
  }

  /** https://modelcontextprotocol.io/seps/2663-tasks-extension */
  async #task(created: Json, hearing: Hearing): Promise<Json> {
    const taskId = created["taskId"];
    let [task, since, shown] = [created, Date.now(), ""];
    for (let polls = 0; polls < MOST_POLLS; polls++) {
      const { status, statusMessage } = task;
      if (typeof statusMessage === "string" && statusMessage !== shown) {
        shown = statusMessage;
        hearing.heard("notifications/progress", { progress: polls + 1, message: statusMessage });
      }
      if (status === "completed") {
        if (isObject(task["result"])) return task["result"];
        throw new RemoteFault("not-mcp", "completed a task without a result");
      }
      if (status === "failed") throw this.#refusalOf(task["error"]);
      if (status === "cancelled")
        throw new RemoteFault("refused", "cancelled the task of this call");
      if (status === "input_required") {
        const inputResponses = resultsIn(await hearing.ask(requestsIn(task["inputRequests"])));
        await this.#send("tasks/update", { taskId, inputResponses }, hearing);
        since = Date.now();
      } else {
        await this.#options.wire.sleep(pollMs(task["pollIntervalMs"], since));
      }
      task = await this.#send("tasks/get", { taskId }, hearing);
    }
    throw new RemoteFault("not-mcp", `did not end a task within ${MOST_POLLS} looks at it`);
  }

  /** https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks */
  async #olderTask(created: Json, hearing: Hearing): Promise<Json> {
    const taskId = created["taskId"];
    let [task, since] = [created, Date.now()];
    for (let polls = 0; polls < MOST_POLLS; polls++) {
      // The questions of a task come with the stream of its result.
      if (task["status"] !== "working") return this.#send("tasks/result", { taskId }, hearing);
      await this.#options.wire.sleep(pollMs(task["pollInterval"], since));
      task = await this.#send("tasks/get", { taskId }, hearing);
    }
    throw new RemoteFault("not-mcp", `did not end a task within ${MOST_POLLS} looks at it`);
  }

  /** Sends one request, and hears its stream until its result. */
  async #exchange(method: string, params: Json, hearing: Hearing, tool?: Json) {
    if (method === "tools/call") await this.#listen();
    const id = this.#nextId();
    const message = { jsonrpc: "2.0", id, method, params: this.#paramsOf(params, id, hearing) };
    const { session } = this.connection;
    const response = await this.#post(message, {
      repeatable: REPEATABLE.test(method),
      ...(this.isModern && { headers: modernHeaders(method, params, tool) }),
      ...(!this.isModern &&
        method !== "initialize" && {
          whenCancelled: {
            jsonrpc: "2.0",
            method: "notifications/cancelled",
            params: { requestId: id, reason: "The caller has cancelled the call." },
          },
        }),
    });
    const given = response.header("mcp-session-id") || session;
    if (given !== undefined && !SESSION_ID.test(given))
      throw new RemoteFault("not-mcp", "gave a session id that is not valid");
    return { result: await this.#resultIn(response, id, hearing), session: given };
  }

  /** Ids are unique in a session, which other calls use, too. */
  #nextId(): number | string {
    const number = ++this.#count;
    if (this.connection.session === undefined) return number;
    this.#prefix ??= this.#options.wire.uniqueId();
    return `${this.#prefix}-${number}`;
  }

  #paramsOf(params: Json, id: number | string, hearing: Hearing): Json {
    const { capabilities, progressToken, meta } = hearing;
    const modern = this.isModern && {
      [`${META}protocolVersion`]: this.connection.version,
      [`${META}clientInfo`]: this.#options.info,
      [`${META}clientCapabilities`]: { ...capabilities, extensions: { [TASKS]: {} } },
    };
    const _meta = { ...meta, ...(progressToken !== undefined && { progressToken: id }), ...modern };
    return Object.keys(_meta).length === 0 ? params : { ...params, _meta };
  }

  async #post(
    message: Json,
    {
      headers,
      ...how
    }: Pick<WireRequest, "repeatable" | "whenCancelled"> & { headers?: Record<string, string> },
  ): Promise<WireResponse> {
    const all = { "content-type": "application/json", ...this.#headers(), ...headers };
    const body = JSON.stringify(message);
    const response = await this.#options.wire
      .send({ method: "POST", headers: all, body, ...how })
      .catch(unreachable);
    const { status } = response;
    if (status >= 200 && status < 300) return response;
    throw this.#faultOf(response);
  }

  #headers(): Record<string, string> {
    const { version, session } = this.connection;
    return {
      ...this.#options.headers,
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": version,
      ...(session !== undefined && { "mcp-session-id": session }),
    };
  }

  async #resultIn(first: WireResponse, id: number | string, hearing: Hearing): Promise<Json> {
    const type = first.header("content-type") ?? "";
    if (/^application\/json\b/i.test(type)) {
      for (const message of messagesIn(first.text)) {
        const found = this.#outcome(message, id);
        if (found) return found;
      }
      throw new RemoteFault("not-mcp", "answered another request than the one that was sent");
    }
    if (!/^text\/event-stream\b/i.test(type))
      throw new RemoteFault(
        "not-mcp",
        `gave a response of the type "${type.slice(0, 80)}", not JSON or events`,
      );
    const { wire } = this.#options;
    let [lastId, lastBeside, waitMs] = ["", "", RESUME_MS];
    let response: WireResponse | undefined = first;
    for (let resumes = 0; resumes < MOST_RESUMES; resumes++) {
      let piece: Pick<WireResponse, "text" | "isBeside"> | undefined = response;
      let isLost = response === undefined;
      while (piece !== undefined) {
        for (const event of eventsIn(piece.text)) {
          if (event.id !== undefined) {
            if (piece.isBeside) lastBeside = event.id;
            else lastId = event.id;
          }
          if (event.retry !== undefined) waitMs = Math.min(event.retry, LONGEST_RESUME_MS);
          if (event.data === "") continue;
          for (const message of messagesIn(event.data)) {
            const found = this.#outcome(message, id);
            if (found) return found;
            await this.#hear(message, hearing);
          }
        }
        piece = undefined;
        if (response?.more !== true) break;
        try {
          piece = await wire.nextEvents();
        } catch {
          isLost = true;
        }
      }
      if (lastId === "" || this.isModern) {
        const why = isLost ? "was lost" : "ended";
        throw new RemoteFault(
          "unknown-outcome",
          `was sent the request, and its stream ${why} before the result. Whether it has done what was asked is unknown`,
        );
      }
      await wire.sleep(waitMs);
      await this.#listen(lastBeside);
      response = await this.#resumed(lastId);
    }
    throw new RemoteFault("unknown-outcome", `closed the stream of the call ${MOST_RESUMES} times`);
  }

  /** Opens the session's own stream: some servers ask on it what belongs to a call. */
  async #listen(lastId = ""): Promise<void> {
    const { session, isMute } = this.connection;
    if (this.isModern || session === undefined || isMute) return;
    const headers: Record<string, string> = { ...this.#headers(), accept: "text/event-stream" };
    if (lastId !== "") headers["last-event-id"] = lastId;
    const { wire } = this.#options;
    const request: WireRequest = { method: "GET", headers, beside: true, repeatable: true };
    const response = await wire.send(request).catch(() => undefined);
    if (response?.status === 405) this.connection = { ...this.connection, isMute: true };
  }

  /** The rest of a stream; undefined if the network failed. */
  async #resumed(lastId: string): Promise<WireResponse | undefined> {
    const headers = { ...this.#headers(), accept: "text/event-stream", "last-event-id": lastId };
    const { wire } = this.#options;
    const response = await wire
      .send({ method: "GET", headers, repeatable: true })
      .catch(() => undefined);
    if (response === undefined || response.status === 200) return response;
    throw new RemoteFault(
      "unknown-outcome",
      `does not resume the stream of the call (status ${response.status}). Whether it has done what was asked is unknown`,
    );
  }

  /** The result in a message; undefined if it is not the response to this request. Throws its error. */
  #outcome(message: unknown, id: number | string): Json | undefined {
    if (!isObject(message) || message["method"] !== undefined) return undefined;
    const { result, error } = message;
    // Before it has read a request, a server cannot name it.
    if (message["id"] !== id && !(isObject(error) && message["id"] === null)) return undefined;
    if (isObject(error)) throw this.#refusalOf(error);
    if (isObject(result)) return result;
    throw new RemoteFault("not-mcp", "gave a response without a result");
  }

  /** The fault of a JSON-RPC error, whose message may repeat a key. */
  #refusalOf(error: unknown): RemoteFault {
    const { code, message, data } = isObject(error) ? error : {};
    const text = textIn(message) || "it gave no reason";
    const hidden = keysIn(this.#options.headers).reduce(
      (shown, key) => shown.replaceAll(key, "[key]"),
      text,
    );
    return new RemoteFault("refused", hidden.slice(0, MOST_MESSAGE), {
      code: Number.isInteger(code) ? (code as number) : -32603,
      data,
    });
  }

  /** The fault of a response with an error status. */
  #faultOf({ status, text }: WireResponse): RemoteFault {
    if (status === 401 || status === 403)
      return new RemoteFault("unauthorized", `refused the credentials (status ${status})`, {
        code: status,
      });
    let body: unknown;
    try {
      body = JSON.parse(text) as unknown;
    } catch {
      body = undefined;
    }
    const error = isObject(body) ? body["error"] : undefined;
    const refusal = isObject(error) ? this.#refusalOf(error) : undefined;
    const answered = `answered with status ${status}${refusal ? `: ${refusal.message}` : ""}`;
    // A server without the session says 404; some say 400, also where they want one.
    if (status === 404 && this.connection.session !== undefined)
      return new RemoteFault("gone", "has lost the session");
    if (status === 400 && !isCoded(error)) return new RemoteFault("gone", answered);
    if (refusal !== undefined) return refusal;
    if (status >= 300 && status < 400)
      return new RemoteFault("not-mcp", `redirects to another address (status ${status})`);
    return new RemoteFault(status >= 500 || status === 429 ? "unreachable" : "not-mcp", answered);
  }

  /** The answer to a request of the server; an error where there is none, so that it ends its call. */
  async #answerTo(request: Json, hearing: Hearing): Promise<Json> {
    try {
      const { one = {} } = await hearing.ask({ one: request });
      return one;
    } catch (error) {
      const isKnown = error instanceof Error && ["AskError", "RemoteFault"].includes(error.name);
      if (!isKnown) throw error;
      return { error: { code: -32603, message: error.message } };
    }
  }

  /** A notification, or a request of the revisions with sessions. */
  async #hear(message: unknown, hearing: Hearing): Promise<void> {
    if (!isObject(message) || typeof message["method"] !== "string") return;
    const { id, method, params } = message;
    if (id === undefined) return hearing.heard(method, isObject(params) ? params : {});
    if (this.isModern) return;
    const answer = method === "ping" ? { result: {} } : await this.#answerTo(message, hearing);
    await this.#post({ jsonrpc: "2.0", id, ...answer }, { repeatable: true }).catch(lostCall);
  }
}

/** The values of headers that may be keys, without the word before a token. */
export const keysIn = (headers: Readonly<Record<string, string>>): string[] =>
  Object.values(headers)
    .map((value) => value.replace(/^\w+ /, ""))
    .filter(({ length }) => length >= LEAST_KEY);

const hasModern = (versions: unknown): boolean =>
  Array.isArray(versions) && versions.includes(MODERN);

const SILENT: Hearing = { capabilities: {}, meta: {}, heard: () => {}, ask: async () => ({}) };

const unreachable = (error: Error): never => {
  throw error instanceof RemoteFault ? error : new RemoteFault("unreachable", error.message);
};

/** An answer that does not reach its call: the call must not be sent again in another session. */
const lostCall = (error: unknown): never => {
  if (!(error instanceof RemoteFault) || error.kind !== "gone") throw error;
  throw new RemoteFault(
    "unknown-outcome",
    "has lost the session, and with it the call. Whether it has done what was asked is unknown",
  );
};

const requestsIn = (value: unknown): Record<string, Json> =>
  isObject(value)
    ? Object.fromEntries(
        Object.entries(value).filter((pair): pair is [string, Json] => isObject(pair[1])),
      )
    : {};

/** The results of answers. A question that has none stays open: the server asks again, or refuses. */
const resultsIn = (answers: Record<string, Json>): Json =>
  Object.fromEntries(
    Object.entries(answers).flatMap(([key, { result }]) =>
      isObject(result) ? [[key, result]] : [],
    ),
  );

function pollMs(given: unknown, since: number): number {
  const wanted = typeof given === "number" ? given : POLL_MS;
  const least = Math.max(LEAST_POLL_MS, LATER * (Date.now() - since));
  return Math.min(Math.max(wanted, least), LONGEST_POLL_MS);
}

/** The messages in a text; several in revisions with batches. */
function messagesIn(text: string): unknown[] {
  try {
    return [JSON.parse(text) as unknown].flat();
  } catch {
    throw new RemoteFault("not-mcp", "gave a response that is not valid JSON");
  }
}

/** True for an error that says more than that the request is not valid. */
const isCoded = (error: unknown): boolean =>
  isObject(error) && ![-32600, -32000, -32001].includes(Number(error["code"]));

/** https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#request-metadata */
function modernHeaders(
  method: string,
  params: Json,
  tool: Json | undefined,
): Record<string, string> {
  const named = params[NAMED_BY[method] ?? ""];
  return {
    "mcp-method": method,
    ...(typeof named === "string" && { "mcp-name": encoded(named) }),
    ...(tool && paramHeadersIn(tool["inputSchema"], params["arguments"])),
  };
}

/** https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header */
function paramHeadersIn(schema: unknown, args: unknown): Record<string, string> {
  if (!isObject(schema) || !isObject(schema["properties"]) || !isObject(args)) return {};
  const headers: Record<string, string> = {};
  for (const [key, property] of Object.entries(schema["properties"])) {
    const value = Object.hasOwn(args, key) ? args[key] : undefined;
    if (!isObject(property) || value === undefined || value === null) continue;
    const name = property["x-mcp-header"];
    if (typeof name === "string")
      headers[`mcp-param-${name.toLowerCase()}`] = encoded(
        typeof value === "string" ? value : JSON.stringify(value),
      );
    Object.assign(headers, paramHeadersIn(property, value));
  }
  return headers;
}

/** A header's value; encoded if it has other characters than headers may have, or would be read as encoded. */
function encoded(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text) && text === text.trim() && !text.startsWith("=?")) return text;
  return `=?base64?${new TextEncoder().encode(text).toBase64()}?=`;
}

/** An event of a stream. `retry` is in ms. */
interface ServerEvent {
  id?: string;
  data: string;
  retry?: number;
}

/**
 * The events in a text that ends where an event does. Without regular expressions, which are slow in the interpreter.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
function eventsIn(text: string): ServerEvent[] {
  const lines = text.includes("\r") ? text.replaceAll("\r\n", "\n").replaceAll("\r", "\n") : text;
  return lines.split("\n\n").flatMap((block) => {
    const event: ServerEvent = { data: "" };
    const data: string[] = [];
    for (const line of block.split("\n")) {
      const at = line.indexOf(":");
      const field = at < 0 ? line : line.slice(0, at);
      const value = at < 0 ? "" : line.slice(line[at + 1] === " " ? at + 2 : at + 1);
      if (field === "data") data.push(value);
      else if (field === "id" && !value.includes("\0")) event.id = value;
      else if (field === "retry" && /^\d{1,9}$/.test(value)) event.retry = Number(value);
    }
    event.data = data.join("\n");
    return data.length === 0 && event.id === undefined && event.retry === undefined ? [] : [event];
  });
}
