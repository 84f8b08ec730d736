import type { Chance } from "../fuzz/chance.ts";
import type { Json } from "./attempt.ts";

/** What a remote server has done, once for each call that it has got. */
export interface Effect {
  number: string;
  /** Answers to its questions. */
  answers: Json[];
  /** The text of its result. */
  text: string;
}

/** An answer: a document, or events of a stream that may be held open. */
export interface RemoteAnswer {
  status: number;
  headers: Record<string, string>;
  body: string | Events | null;
}

/** The questions that a call is asked one after the other. */
const QUESTIONS = 2;
const JSON_TYPE = { "content-type": "application/json" };
const EVENTS_TYPE = { "content-type": "text/event-stream" };

/** The events of one call, which its client may read again from any of them on. */
export class Events {
  readonly name: string;
  readonly #texts: string[] = [];
  readonly #readers = new Set<(text: string | undefined) => void>();
  #isOver = false;

  constructor(name: string) {
    this.name = name;
  }

  add(message: Json, isLast = false): void {
    const id = this.#texts.length + 1;
    const text = `id: ${this.name}-${id}\ndata: ${JSON.stringify(message)}\n\n`;
    this.#texts.push(text);
    for (const read of this.#readers) read(text);
    if (isLast) this.end();
  }

  end(): void {
    this.#isOver = true;
    for (const read of this.#readers) read(undefined);
    this.#readers.clear();
  }

  /** Has those after the first `past` read; undefined is their end. */
  read(past: number, reader: (text: string | undefined) => void): void {
    for (const text of this.#texts.slice(past)) reader(text);
    if (this.#isOver) reader(undefined);
    else this.#readers.add(reader);
  }
}

/** Two MCP servers of others: `modern.example` speaks 2026-07-28, and `older.example` speaks 2025-11-25 in sessions. */
export class RemoteServers {
  readonly effects: Effect[] = [];
  readonly #chance: Chance;
  /** The calls of each session, by the name of their events. */
  readonly #sessions = new Map<string, Map<string, OlderCall>>();
  #count = 0;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  answer(url: URL, method: string, headers: Headers, body: string): RemoteAnswer {
    const message = body === "" ? {} : (JSON.parse(body) as Json);
    return url.hostname === "modern.example"
      ? this.#modern(message)
      : this.#older(method, headers, message);
  }

  /** Forgets all sessions, as after a restart. */
  restart(): void {
    for (const calls of this.#sessions.values())
      for (const { events } of calls.values()) events.end();
    this.#sessions.clear();
  }

  #modern({ id, method, params }: Json): RemoteAnswer {
    if (method !== "tools/call") return refusal(id, -32601, `There is no ${method}.`);
    const { name, arguments: args, inputResponses, requestState } = params as Json;
    const answers = requestState === undefined ? [] : (JSON.parse(requestState) as Json[]);
    const answer = inputResponses?.question;
    if (answer !== undefined) answers.push(answer);
    if (name === "modern_ask" && answers.length < QUESTIONS) {
      const question = questionOf(args.number, answers.length);
      return this.#said(id, {
        resultType: "input_required",
        inputRequests: { question },
        requestState: JSON.stringify(answers),
      });
    }
    return this.#said(id, { resultType: "complete", ...this.#done(args.number, answers) });
  }

  /** A result, as a document or as the last event of a stream. */
  #said(id: unknown, result: Json): RemoteAnswer {
    const message = { jsonrpc: "2.0", id, result };
    if (this.#chance.of(0.5))
      return { status: 200, headers: JSON_TYPE, body: JSON.stringify(message) };
    const events = new Events(`e${++this.#count}`);
    const params = { level: "info", data: "on it" };
    events.add({ jsonrpc: "2.0", method: "notifications/message", params });
    events.add(message, true);
    return { status: 200, headers: EVENTS_TYPE, body: events };
  }

  #older(method: string, headers: Headers, message: Json): RemoteAnswer {
    const { id, params } = message;
    if (message["method"] === "initialize") {
      const session = `session-${++this.#count}`;
      this.#sessions.set(session, new Map());
      const result = {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "older", version: "1" },
      };
      const body = JSON.stringify({ jsonrpc: "2.0", id, result });
      return { status: 200, headers: { ...JSON_TYPE, "mcp-session-id": session }, body };
    }
    const calls = this.#sessions.get(headers.get("mcp-session-id") ?? "");
    if (calls === undefined) return { status: 404, headers: {}, body: "no such session" };
    if (method === "GET") return resumed(calls, headers.get("last-event-id"));
    if (id === undefined) return { status: 202, headers: {}, body: null };
    if (message["method"] === undefined) {
      this.#answered(calls, message);
      return { status: 202, headers: {}, body: null };
    }
    if (message["method"] !== "tools/call") return refusal(id, -32601, "There is no such method.");
    const { name, arguments: args } = params as Json;
    if (name === "older_do") {
      const result = this.#done(args.number, []);
      return {
        status: 200,
        headers: JSON_TYPE,
        body: JSON.stringify({ jsonrpc: "2.0", id, result }),
      };
    }
    const events = new Events(`e${++this.#count}`);
    const call = { id, number: args.number as string, answers: [], events };
    calls.set(events.name, call);
    ask(call);
    return { status: 200, headers: EVENTS_TYPE, body: events };
  }

  /** Goes on with a call whose question has got an answer. */
  #answered(calls: Map<string, OlderCall>, { id, result }: Json): void {
    const [name, nth] = String(id).split("?");
    const call = calls.get(name!);
    if (call === undefined || Number(nth) !== call.answers.length || !result) return;
    call.answers.push(result);
    if (call.answers.length < QUESTIONS) return ask(call);
    const done = this.#done(call.number, call.answers);
    call.events.add({ jsonrpc: "2.0", id: call.id, result: done }, true);
  }

  #done(number: string, answers: Json[]): Json {
    const text = `${number} is effect ${this.effects.length + 1}`;
    this.effects.push({ number, answers, text });
    return { content: [{ type: "text", text }] };
  }
}

interface OlderCall {
  id: unknown;
  number: string;
  answers: Json[];
  events: Events;
}

function ask({ number, answers, events }: OlderCall): void {
  const id = `${events.name}?${answers.length}`;
  events.add({ jsonrpc: "2.0", id, ...questionOf(number, answers.length) });
}

/** The stream of a call, to be read on; there is none beside. */
function resumed(calls: Map<string, OlderCall>, lastId: string | null): RemoteAnswer {
  const events = calls.get(lastId?.split("-")[0] ?? "")?.events;
  if (events === undefined) return { status: 405, headers: {}, body: null };
  return { status: 200, headers: EVENTS_TYPE, body: events };
}

const questionOf = (number: string, nth: number): Json => ({
  method: "elicitation/create",
  params: {
    mode: "form",
    message: `${number}?${nth}`,
    requestedSchema: { type: "object", properties: { value: { type: "string" } } },
  },
});

const refusal = (id: unknown, code: number, message: string): RemoteAnswer => ({
  status: 200,
  headers: JSON_TYPE,
  body: JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } }),
});
