import { setTimeout as sleep } from "node:timers/promises";
import { residentMB, serve, stop, type Served } from "../workerd.ts";

/** Cost of idle sessions. */
export interface SessionFigures {
  /** Sessions whose call ended right, after it had waited for its client with no connection open. */
  waitingSessions: number;
  /** Resident memory of a session that was only begun. */
  sessionKB: number;
  /** Resident memory of a session with a call that waits for its client. */
  waitingSessionKB: number;
}

const VERSION = "2025-11-25";
const AT_ONCE = 16;
const WARM_UP = 100;
const CALL = 1;

type Json = Record<string, any>;

interface SseEvent {
  id: string | undefined;
  message: Json;
}

/** Headers of each request in a session. */
export const headersOf = (session: string) => ({
  "mcp-session-id": session,
  "mcp-protocol-version": VERSION,
});

export async function post(port: number, message: Json, session?: string): Promise<Response> {
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(session === undefined ? {} : headersOf(session)),
    },
    body: JSON.stringify({ jsonrpc: "2.0", ...message }),
  });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return response;
}

/** Begins a session; gives its id. */
export async function sessionAt(port: number, capabilities: Json = {}): Promise<string> {
  const clientInfo = { name: "bench", version: "1.0.0" };
  const params = { protocolVersion: VERSION, capabilities, clientInfo };
  const response = await post(port, { id: 0, method: "initialize", params });
  const text = await response.text();
  const session = response.headers.get("mcp-session-id");
  if (session === null) throw new Error(`no session was begun: ${text}`);
  await post(port, { method: "notifications/initialized" }, session);
  return session;
}

/** The events of a stream; some have an id and no message. */
export async function* eventsOf({ body }: Response): AsyncGenerator<SseEvent> {
  let rest = "";
  for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
    const events = (rest + chunk).split("\n\n");
    rest = events.pop()!;
    for (const event of events) {
      const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, "m").exec(event)?.[1];
      yield { id: field("id"), message: JSON.parse(field("data") || "{}") };
    }
  }
}

/** Reads on until a message is there; gives it with the last id so far. The stream stays open. */
export async function until(
  events: AsyncGenerator<SseEvent>,
  isThere: (message: Json) => boolean,
): Promise<{ lastId: string; message: Json }> {
  let lastId = "";
  for (;;) {
    const { value, done } = await events.next();
    if (done) throw new Error("the stream ended early");
    lastId = value.id ?? lastId;
    if (isThere(value.message)) return { lastId, message: value.message };
  }
}

/** Does a thing so many times, some at once; gives what came of it, in order. */
async function inTurn<T>(count: number, work: (at: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < count; at = next++) results[at] = await work(at);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}

interface Waiting {
  session: string;
  asked: string | number;
  lastId: string;
  events: AsyncGenerator<SseEvent>;
}

async function begin(port: number): Promise<Waiting> {
  const session = await sessionAt(port, { elicitation: {} });
  const params = { name: "test_elicitation", arguments: { message: "Who are you?" } };
  const events = eventsOf(await post(port, { id: CALL, method: "tools/call", params }, session));
  const { lastId, message } = await until(events, ({ method }) => method === "elicitation/create");
  return { session, asked: message["id"], lastId, events };
}

/** Sessions with a call that waits, all their connections closed. */
async function beginMany(port: number, count: number): Promise<Waiting[]> {
  const waiting = await inTurn(count, () => begin(port));
  await Promise.all(waiting.map(({ events }) => events.return(undefined)));
  return waiting;
}

/** Whether the call of a session ends with the answer that it is given. */
async function endsRight(port: number, waiting: Waiting, username: string): Promise<boolean> {
  const { session, asked, lastId } = waiting;
  const content = { username, email: "ada@example.com" };
  await post(port, { id: asked, result: { action: "accept", content } }, session);
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    headers: { ...headersOf(session), accept: "text/event-stream", "last-event-id": lastId },
    signal: AbortSignal.timeout(30_000),
  });
  const events = eventsOf(response);
  const { message } = await until(events, ({ id, method }) => id === CALL && method === undefined);
  await events.return(undefined);
  return JSON.stringify(message["result"]).includes(username);
}

/** Memory in KB that each of `count` adds to a server which has had some already, and what they are. */
async function added<T>(served: Served, count: number, make: (count: number) => Promise<T>) {
  const resident = async () => {
    await sleep(1000); // By then, the server knows of connections that were closed.
    return residentMB(served);
  };
  await make(WARM_UP);
  const before = await resident();
  const made = await make(count);
  return { made, eachKB: (((await resident()) - before) * 1024) / count };
}

/** Measures a Worker of the tests' guests. `count` is how many sessions there are of each kind. */
export async function measureSessions(
  folder: string,
  port: number,
  count: number,
): Promise<SessionFigures> {
  const options = { port, variables: { SEASON: "any" }, durable: true } as const;
  let served = await serve(folder, options);
  const idle = await added(served, count, (many) => inTurn(many, () => sessionAt(port)));
  await stop(served);
  served = await serve(folder, options);
  const waiting = await added(served, count, (many) => beginMany(port, many));
  const ended = await inTurn(count, (at) =>
    endsRight(port, waiting.made[at]!, `user-${at}-`).catch(() => false),
  );
  await stop(served);
  return {
    waitingSessions: ended.filter(Boolean).length,
    sessionKB: idle.eachKB,
    waitingSessionKB: waiting.eachKB,
  };
}
