import { ABLE, brief, eventsIn, type ClientWorld, type Json } from "./attempt.ts";

/** The API key of a caller, by its number. */
export const apiKey = (caller: number): string => `caller-${caller}`;

export interface CallerWorld extends ClientWorld {
  /** The time by the clocks of the servers, in Unix ms. */
  clock(): number;
}

const META = "io.modelcontextprotocol";
const VERSION = "2026-07-28";
const HOUR = 3_600_000;
const INTERNAL = -32_603;

/** Answers what a call asks, by the key of the question. */
export type Answerer = (key: string, request: Json) => Json;

/** A client with a key, which sends requests until they are answered. */
export class Caller {
  readonly world: CallerWorld;
  readonly #number: number;
  #requests = 0;

  constructor(world: CallerWorld, number: number) {
    this.world = world;
    this.#number = number;
  }

  /** What is read of the answer; undefined where it was lost. */
  async request<T>(
    path: string,
    init: RequestInit,
    read: (response: Response) => Promise<T>,
  ): Promise<T | undefined> {
    const { chance } = this.world;
    try {
      const leavesMs = chance.of(0.03) ? chance.below(3000) : undefined;
      return await read(await this.world.request({ method: "POST", ...init }, leavesMs, path));
    } catch (error) {
      this.world.note(`got no response: ${String(error)}`);
      return undefined;
    }
  }

  /** What is read of the answer to a message of JSON-RPC; undefined where it was lost. */
  message<T>(
    { method, params, headers }: { method: string; params: Json; headers: Record<string, string> },
    read: (response: Response, text: string) => T,
  ): Promise<T | undefined> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: ++this.#requests, method, params });
    this.world.note(`/mcp ${body.slice(0, 160)}`);
    const all = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${apiKey(this.#number)}`,
      ...headers,
    };
    return this.request("/mcp", { headers: all, body }, async (response) => {
      const text = await response.text();
      this.world.note(`${response.status} ${text.slice(0, 160)}`);
      return read(response, text);
    });
  }

  pause(times: number): Promise<void> {
    return this.world.sleep(Math.min(60_000, 500 * times));
  }

  /**
   * Calls a tool of 2026-07-28, as a task if `hasTasks`, until it ends: the message with its result or error. Undefined
   * where nobody can tell whether it has begun.
   */
  async call(
    name: string,
    args: Json,
    { hasTasks, answer = () => ({}) }: { hasTasks: boolean; answer?: Answerer },
  ): Promise<Json | undefined> {
    const params = { name, arguments: args };
    let message = await this.#modern("tools/call", params, hasTasks);
    while (message?.["result"]?.["resultType"] === "input_required") {
      const { inputRequests = {}, requestState } = message["result"] as Json;
      await this.world.sleep(this.world.chance.below(100_000));
      const inputResponses = answersTo(inputRequests, answer);
      message = await this.#surely(
        "tools/call",
        { ...params, requestState, inputResponses },
        hasTasks,
      );
    }
    if (message?.["result"]?.["resultType"] !== "task") return message;
    return this.#follow(message["result"]["taskId"], answer);
  }

  /** Looks at a task until it is over: the message with its result or error. */
  async #follow(taskId: string, answer: Answerer): Promise<Json> {
    for (let pauseMs = 500; ; pauseMs = Math.min(pauseMs * 1.3, HOUR / 2)) {
      await this.world.sleep(100 + this.world.chance.below(pauseMs));
      const message = await this.#surely("tasks/get", { taskId }, true);
      const { status, result, error, inputRequests } = message["result"] ?? { status: "failed" };
      if (status === "working") continue;
      if (status !== "input_required") return { result, error: error ?? message["error"] };
      pauseMs = 500;
      const inputResponses = answersTo(inputRequests, answer);
      await this.#modern("tasks/update", { taskId, inputResponses }, true);
    }
  }

  /** The answer to the same request, sent until there is one that is no failure of the server. */
  async #surely(method: string, params: Json, hasTasks: boolean): Promise<Json> {
    for (let times = 1; ; times++) {
      const message = await this.#modern(method, params, hasTasks);
      const retryAfter = message?.["error"]?.data?.retryAfter as number | undefined;
      if (message !== undefined && message["status"] < 500 && retryAfter === undefined)
        return message;
      await this.world.sleep(retryAfter === undefined ? 500 * times : retryAfter * 1000);
    }
  }

  #modern(method: string, params: Json, hasTasks: boolean): Promise<Json | undefined> {
    const tasks = { extensions: { "io.modelcontextprotocol/tasks": {} } };
    const _meta = {
      [`${META}/protocolVersion`]: VERSION,
      [`${META}/clientCapabilities`]: { ...ABLE, ...(hasTasks && tasks) },
    };
    const headers = {
      "mcp-protocol-version": VERSION,
      "mcp-method": method,
      "mcp-name": params["name"] ?? params["taskId"],
    };
    return this.message({ method, params: { ...params, _meta }, headers }, (response, text) => {
      const isStream = response.headers.get("content-type") === "text/event-stream";
      const messages = isStream ? eventsIn(text) : [JSON.parse(text) as Json];
      const found = messages.find(({ method: told }) => told === undefined);
      if (found === undefined) throw new Error("the stream broke off");
      // In a stream there is no other way to say that the server has failed.
      const isFailure = found["error"]?.code === INTERNAL;
      found["status"] = isFailure ? 500 : response.status;
      this.world.note(brief(found));
      return found;
    });
  }
}

const answersTo = (requests: Json, answer: Answerer): Json =>
  Object.fromEntries(Object.entries(requests).map(([key, one]) => [key, answer(key, one)]));
