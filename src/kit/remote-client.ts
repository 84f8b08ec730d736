/**
 * A client of MCP servers over Streamable HTTP, in the newest revision that both sides support. It runs in servlets and in Node
 * (`servlets new --mcp`). A `RemoteWire` sends its requests.
 */
import { isObject } from "../server/kernel/core/model.ts";
import { textIn } from "../server/kernel/core/text.ts";

type Json = Record<string, unknown>;

/** A request to the server. */
export interface WireRequest {
  method: "POST" | "GET";
  headers: Record<string, string>;
  body?: string;
  /** True to open the session's stream: its events come with those of the next request. */
  beside?: boolean;
  /** True if it may be sent again after a crash. */
  repeatable: boolean;
  /** The message to send if the call is cancelled meanwhile. */
  whenCancelled?: Json;
}

/** The server's response. */
export interface WireResponse {
  status: number;
  header(name: string): string | null;
  /** The body; the first events of a stream if there are `more`. */
  text: string;
  more: boolean;
  /** True if these events are from the session's stream. */
  isBeside: boolean;
}

/** The connection to one server. Its functions throw an `Error` if the network fails. */
export interface RemoteWire {
  send(request: WireRequest): Promise<WireResponse>;
  /** The next events of the response's stream or of the session's; undefined at the end of the response's. */
  nextEvents(): Promise<{ text: string; isBeside: boolean } | undefined>;
  sleep(ms: number): Promise<void>;
  /** A prefix for request ids that no other call has. */
  uniqueId(): string;
}

/** The caller of a request: its capabilities, and its handlers for the server's notifications and questions. */
export interface RemoteCaller {
  capabilities: Json;
  /** Its token for progress; the server gets the request's id in its place. */
  progressToken?: unknown;
  /** Further `_meta` of the request. */
  meta: Json;
  notify(method: string, params: Json): void;
  /** Answers the server's requests. Returns `{ result }` or `{ error }` for each key. */
  ask(requests: Record<string, Json>): Promise<Record<string, Json>>;
}

/** The negotiated revision, and the session of a server that has sessions. */
export interface RemoteConnection {
  version: string;
  session?: string | undefined;
  /** True if the server has no stream for the session. */
  hasNoStream?: boolean | undefined;
}

/** An error of the server or of the way to it. */
export class RemoteFault extends Error {
  override name = "RemoteFault";
  /**
   * `refused`: a JSON-RPC error, with `code` and `data`. `unauthorized`: the credentials were rejected. `session-lost`: the
   * server does not know the session. `unknown-outcome`: the connection was lost during a call. `invalid`: the response does
   * not follow the protocol, or exceeds a limit. `unreachable`: the request failed.
   */
  readonly kind:
    | "refused"
    | "unauthorized"
    | "session-lost"
    | "unknown-outcome"
    | "invalid"
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
/** Maximum rounds of questions in one request, and questions of a round. */
const [MOST_ROUNDS, MOST_QUESTIONS] = [50, 50];
/** Maximum connections to one stream, and pages of one list. */
const [MOST_RESUMES, MOST_PAGES] = [50, 50];
/** Maximum entries of one list. */
const MOST_ENTRIES = 2000;
/** Delay before a stream is resumed, in ms: by default, and at most. */
const [RESUME_MS, LONGEST_RESUME_MS] = [1000, 60_000];
/** Delay between two polls of a task, in ms: by default, at least and at most. */
const [POLL_MS, LEAST_POLL_MS, LONGEST_POLL_MS] = [2000, 250, 3_600_000];
/** Maximum polls of one task: a call may make 500 requests. */
const MOST_POLLS = 400;
/** Least delay between two polls, as a share of the task's age: a task that lasts for days takes few polls. */
const POLL_SHARE = 0.1;
/** Maximum characters of an error message of the server. */
const MOST_MESSAGE = 1000;
/** Visible ASCII. A servlet's request has at most twice as many characters in its headers. */
const SESSION_ID = /^[\x21-\x7e]{1,8192}$/;
/** Minimum characters of a key that is redacted: shorter values of headers, such as a version, occur in any text. */
const LEAST_KEY = 8;
const UNSUPPORTED_VERSION = -32022;
/** Methods that are safe or idempotent. */
const REPEATABLE =
  /^(?:server\/discover|initialize|notifications\/.*|ping|.*\/list|resources\/read|prompts\/get|completion\/complete|tasks\/.*)$/;
/** The member of the params that the header `Mcp-Name` repeats, by method. */
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

  /** Negotiates the newest revision that both sides support. Returns the result of `server/discover` or `initialize`. */
  async begin(caller: RemoteCaller): Promise<Json> {
    this.connection = { version: MODERN };
    for (let isFirst = true; ; isFirst = false) {
      try {
        const found = await this.#send("server/discover", {}, caller);
        if (hasModern(found["supportedVersions"])) return found;
        break;
      } catch (error) {
        if (!(error instanceof RemoteFault)) throw error;
        const { kind, code, data } = error;
        if (kind === "unauthorized" || kind === "unreachable") throw error;
        // Older servers reject an unknown request in many ways.
        const isSupported =
          code === UNSUPPORTED_VERSION && isObject(data) && hasModern(data["supported"]);
        if (!isFirst || !isSupported) break;
      }
    }
    return this.initialize(caller);
  }

  /** https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle */
  async initialize({ capabilities }: RemoteCaller): Promise<Json> {
    const { version } = this.connection;
    const wanted = version >= MODERN ? OLDER_REVISIONS[0]! : version;
    this.connection = { version: wanted };
    this.#hasBegun = true;
    const params = { protocolVersion: wanted, capabilities, clientInfo: this.#options.info };
    const { result, session } = await this.#exchange("initialize", params, NO_CALLER);
    const given = textIn(result["protocolVersion"]);
    if (!OLDER_REVISIONS.includes(given))
      throw new RemoteFault(
        "invalid",
        `speaks revision "${given.slice(0, 40)}" of MCP, and this client ${[MODERN, ...OLDER_REVISIONS].join(", ")}`,
      );
    this.connection = { version: given, session };
    await this.#post({ jsonrpc: "2.0", method: "notifications/initialized" }, { repeatable: true });
    return result;
  }

  /** Sends a request, and answers the server's questions until there is a result. Throws a `RemoteFault`. */
  async request(method: string, params: Json, caller: RemoteCaller, tool?: Json): Promise<Json> {
    let given: Json = {};
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const result = await this.#sendInSession(method, { ...params, ...given }, caller, tool);
      const { resultType = "complete", task } = result;
      if (isObject(task) && params["task"] !== undefined) return this.#olderTask(task, caller);
      if (resultType === "complete") return result;
      if (resultType === "task" && method === "tools/call") return this.#task(result, caller);
      if (resultType !== "input_required")
        throw new RemoteFault(
          "invalid",
          `gave a result of the unknown type "${textIn(resultType).slice(0, 40)}"`,
        );
      const { inputRequests, requestState } = result;
      const requests = requestsIn(inputRequests);
      // A server that asks nothing is overloaded: try again later.
      if (Object.keys(requests).length === 0) await this.#options.wire.sleep(RESUME_MS);
      given = {
        inputResponses: resultsIn(await caller.ask(requests)),
        ...(requestState !== undefined && { requestState }),
      };
    }
    throw new RemoteFault("invalid", `asked more than ${MOST_ROUNDS} times in one call`);
  }

  /** The entries of all pages of a list, which are in this member of its results. */
  async list(method: string, member: string, caller: RemoteCaller): Promise<Json[]> {
    const all: Json[] = [];
    const cursors = new Set<unknown>();
    let cursor: unknown;
    do {
      const page = await this.request(method, cursor === undefined ? {} : { cursor }, caller);
      const entries = page[member];
      if (!Array.isArray(entries)) throw new RemoteFault("invalid", `gave no list of ${member}`);
      all.push(...entries.filter(isObject));
      cursor = page["nextCursor"] ?? undefined;
      if (cursor !== undefined && cursors.has(cursor))
        throw new RemoteFault("invalid", `gave the same page of ${method} again and again`);
      cursors.add(cursor);
      if (all.length > MOST_ENTRIES || cursors.size > MOST_PAGES)
        throw new RemoteFault(
          "invalid",
          `has a list of ${member} of more than ${all.length > MOST_ENTRIES ? `${MOST_ENTRIES} entries` : `${MOST_PAGES} pages`}`,
        );
    } while (cursor !== undefined);
    return all;
  }

  /** Sends a request in the session. Begins a new session once if the server has lost it. */
  async #sendInSession(
    method: string,
    params: Json,
    caller: RemoteCaller,
    tool?: Json,
  ): Promise<Json> {
    try {
      return await this.#send(method, params, caller, tool);
    } catch (error) {
      const isLost =
        error instanceof RemoteFault && error.kind === "session-lost" && !this.#hasBegun;
      if (!isLost || this.isModern) throw error;
      await this.initialize(caller);
      return this.#send(method, params, caller, tool);
    }
  }

  async #send(method: string, params: Json, caller: RemoteCaller, tool?: Json): Promise<Json> {
    const { result } = await this.#exchange(method, params, caller, tool);
    return result;
  }

  /** https://modelcontextprotocol.io/seps/2663-tasks-extension */
  async #task(created: Json, caller: RemoteCaller): Promise<Json> {
    const taskId = created["taskId"];
    let [task, since, shown] = [created, Date.now(), ""];
    for (let polls = 0; polls < MOST_POLLS; polls++) {
      const { status, statusMessage } = task;
      if (typeof statusMessage === "string" && statusMessage !== shown) {
        shown = statusMessage;
        caller.notify("notifications/progress", { progress: polls + 1, message: statusMessage });
      }
      if (status === "completed") {
        if (isObject(task["result"])) return task["result"];
        throw new RemoteFault("invalid", "completed a task without a result");
      }
      if (status === "failed") throw this.#refusalOf(task["error"]);
      if (status === "cancelled")
        throw new RemoteFault("refused", "cancelled the task of this call");
      if (status === "input_required") {
        const inputResponses = resultsIn(await caller.ask(requestsIn(task["inputRequests"])));
        await this.#send("tasks/update", { taskId, inputResponses }, caller);
        since = Date.now();
      } else {
        await this.#options.wire.sleep(pollMs(task["pollIntervalMs"], since));
      }
      task = await this.#send("tasks/get", { taskId }, caller);
    }
    throw new RemoteFault("invalid", `did not end a task within ${MOST_POLLS} polls`);
  }

  /** https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks */
  async #olderTask(created: Json, caller: RemoteCaller): Promise<Json> {
    const taskId = created["taskId"];
    let [task, since] = [created, Date.now()];
    for (let polls = 0; polls < MOST_POLLS; polls++) {
      // The task's questions come in the stream of its result.
      if (task["status"] !== "working") return this.#send("tasks/result", { taskId }, caller);
      await this.#options.wire.sleep(pollMs(task["pollInterval"], since));
      task = await this.#send("tasks/get", { taskId }, caller);
    }
    throw new RemoteFault("invalid", `did not end a task within ${MOST_POLLS} polls`);
  }

  /** Sends one request, and reads its stream until the result. */
  async #exchange(method: string, params: Json, caller: RemoteCaller, tool?: Json) {
    if (method === "tools/call") await this.#openSessionStream();
    const id = this.#nextId();
    const message = { jsonrpc: "2.0", id, method, params: this.#paramsOf(params, id, caller) };
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
      throw new RemoteFault("invalid", "gave a session id that is not valid");
    return { result: await this.#resultIn(response, id, caller), session: given };
  }

  /** A request id that is unique in the session, which other calls use, too. */
  #nextId(): number | string {
    const number = ++this.#count;
    if (this.connection.session === undefined) return number;
    this.#prefix ??= this.#options.wire.uniqueId();
    return `${this.#prefix}-${number}`;
  }

  #paramsOf(params: Json, id: number | string, caller: RemoteCaller): Json {
    const { capabilities, progressToken, meta } = caller;
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
      .catch((error: Error) => {
        throw faultOfNetwork(error, how.repeatable);
      });
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

  async #resultIn(first: WireResponse, id: number | string, caller: RemoteCaller): Promise<Json> {
    const type = first.header("content-type") ?? "";
    if (/^application\/json\b/i.test(type)) {
      for (const message of messagesIn(first.text)) {
        const found = this.#resultOf(message, id);
        if (found) return found;
      }
      throw new RemoteFault("invalid", "answered another request than the one that was sent");
    }
    if (!/^text\/event-stream\b/i.test(type))
      throw new RemoteFault(
        "invalid",
        `gave a response of the type "${type.slice(0, 80)}", not JSON or events`,
      );
    return this.#resultInEvents(first, id, caller);
  }

  /** Reads the events of a response until the result. Resumes its stream if it ends before, where the server can. */
  async #resultInEvents(
    first: WireResponse,
    id: number | string,
    caller: RemoteCaller,
  ): Promise<Json> {
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
            const found = this.#resultOf(message, id);
            if (found) return found;
            await this.#receive(message, caller);
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
      await this.#openSessionStream(lastBeside);
      response = await this.#resumed(lastId);
    }
    throw new RemoteFault("unknown-outcome", `closed the stream of the call ${MOST_RESUMES} times`);
  }

  /** Opens the session's stream: some servers send the questions of a call on it. */
  async #openSessionStream(lastId = ""): Promise<void> {
    const { session, hasNoStream } = this.connection;
    if (this.isModern || session === undefined || hasNoStream) return;
    const headers: Record<string, string> = { ...this.#headers(), accept: "text/event-stream" };
    if (lastId !== "") headers["last-event-id"] = lastId;
    const { wire } = this.#options;
    const request: WireRequest = { method: "GET", headers, beside: true, repeatable: true };
    const response = await wire.send(request).catch(() => undefined);
    // A server that does not answer would delay each call by the timeout.
    const isRefused = response === undefined ? lastId === "" : response.status === 405;
    if (isRefused) this.connection = { ...this.connection, hasNoStream: true };
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
  #resultOf(message: unknown, id: number | string): Json | undefined {
    if (!isObject(message) || message["method"] !== undefined) return undefined;
    const { result, error } = message;
    // A server that cannot read a request does not know its id.
    if (message["id"] !== id && !(isObject(error) && message["id"] === null)) return undefined;
    if (isObject(error)) throw this.#refusalOf(error);
    if (isObject(result)) return result;
    throw new RemoteFault("invalid", "gave a response without a result");
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
    // The protocol has 404 for a lost session. Some servers answer 400, also to a request without a session.
    if (status === 404 && this.connection.session !== undefined)
      return new RemoteFault("session-lost", "has lost the session");
    if (status === 400 && !isCoded(error)) return new RemoteFault("session-lost", answered);
    if (refusal !== undefined) return refusal;
    if (status >= 300 && status < 400)
      return new RemoteFault("invalid", `redirects to another address (status ${status})`);
    return new RemoteFault(status >= 500 || status === 429 ? "unreachable" : "invalid", answered);
  }

  /** The answer to a request of the server; an error if the caller has none, so that the server can end its call. */
  async #answerTo(request: Json, caller: RemoteCaller): Promise<Json> {
    try {
      const { one = {} } = await caller.ask({ one: request });
      return one;
    } catch (error) {
      const isKnown = error instanceof Error && ["AskError", "RemoteFault"].includes(error.name);
      if (!isKnown) throw error;
      return { error: { code: -32603, message: error.message } };
    }
  }

  /** Handles a notification, or a request of the revisions with sessions. */
  async #receive(message: unknown, caller: RemoteCaller): Promise<void> {
    if (!isObject(message) || typeof message["method"] !== "string") return;
    const { id, method, params } = message;
    if (id === undefined) return caller.notify(method, isObject(params) ? params : {});
    if (this.isModern) return;
    const answer = method === "ping" ? { result: {} } : await this.#answerTo(message, caller);
    await this.#post({ jsonrpc: "2.0", id, ...answer }, { repeatable: true }).catch(lostCall);
  }
}

/** The values of headers that may be keys, without their scheme. */
export const keysIn = (headers: Readonly<Record<string, string>>): string[] =>
  Object.values(headers)
    .map((value) => value.replace(/^\w+ /, ""))
    .filter(({ length }) => length >= LEAST_KEY);

const hasModern = (versions: unknown): boolean =>
  Array.isArray(versions) && versions.includes(MODERN);

const NO_CALLER: RemoteCaller = {
  capabilities: {},
  meta: {},
  notify: () => {},
  ask: async () => ({}),
};

/** The fault of a request that got no response. One that may not be sent twice may have arrived, if it was sent. */
function faultOfNetwork(error: Error, isRepeatable: boolean): RemoteFault {
  if (error instanceof RemoteFault) return error;
  // The host did not send what it does not allow.
  const isSent = !error.message.startsWith("The servlet ");
  return isSent && !isRepeatable
    ? unanswered(error)
    : new RemoteFault("unreachable", error.message);
}

const unanswered = ({ message }: Error): RemoteFault =>
  new RemoteFault(
    "unknown-outcome",
    `gave no result. Whether it has done what was asked is unknown: ${message.replace(/\.$/, "")}`,
  );

/** An answer that may not have reached its call: the call must not be sent again in another session. */
const lostCall = (error: unknown): never => {
  if (!(error instanceof RemoteFault)) throw error;
  if (error.kind === "unreachable") throw unanswered(error);
  if (error.kind !== "session-lost") throw error;
  throw new RemoteFault(
    "unknown-outcome",
    "has lost the session, and with it the call. Whether it has done what was asked is unknown",
  );
};

/** The requests in an `inputRequests`. Throws a `RemoteFault` if they are too many. */
function requestsIn(value: unknown): Record<string, Json> {
  const all = Object.entries(isObject(value) ? value : {}).filter((pair): pair is [string, Json] =>
    isObject(pair[1]),
  );
  if (all.length > MOST_QUESTIONS)
    throw new RemoteFault("invalid", `asked more than ${MOST_QUESTIONS} questions at once`);
  return Object.fromEntries(all);
}

/** The results in answers. Where an answer has none, the server asks again or refuses. */
const resultsIn = (answers: Record<string, Json>): Json =>
  Object.fromEntries(
    Object.entries(answers).flatMap(([key, { result }]) =>
      isObject(result) ? [[key, result]] : [],
    ),
  );

function pollMs(given: unknown, since: number): number {
  const wanted = typeof given === "number" ? given : POLL_MS;
  const least = Math.max(LEAST_POLL_MS, POLL_SHARE * (Date.now() - since));
  return Math.min(Math.max(wanted, least), LONGEST_POLL_MS);
}

/** The messages in a JSON text: one, or those of a batch. */
function messagesIn(text: string): unknown[] {
  try {
    return [JSON.parse(text) as unknown].flat();
  } catch {
    throw new RemoteFault("invalid", "gave a response that is not valid JSON");
  }
}

/** True for an error with a code of more meaning than "invalid request". */
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

/** The value of a header, encoded if it has characters that headers cannot have, or looks encoded. */
function encoded(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text) && text === text.trim() && !text.startsWith("=?")) return text;
  return `=?base64?${new TextEncoder().encode(text).toBase64()}?=`;
}

/** A server-sent event. `retry` is in ms. */
interface ServerEvent {
  id?: string;
  data: string;
  retry?: number;
}

/**
 * The events in a text of whole events. Uses no regular expressions, which are slow in the interpreter.
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
