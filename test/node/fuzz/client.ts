import { Agent, request } from "node:http";
import type { Json, Sent } from "./draft.ts";
import { isObject, type Got } from "./judge.ts";

/** How an answer is taken. */
export interface Taking {
  port: number;
  agent: Agent;
  /** Streams that have been silent for so long are left, in ms; where it is absent they have to end. */
  patienceMs?: number | undefined;
  /** Told of each message of a stream; the stream is not left before that has settled. */
  onMessage?: ((message: Json) => Promise<void>) | undefined;
  /** The client leaves after so many ms, whatever has come. */
  leaveMs?: number | undefined;
}

/**
 * How long anything may take, in ms. All of a process's guests take turns, and some of these compute for
 * 0.2 s whenever it is theirs: fifty calls of one batch that slept have been seen to take 28 s.
 */
const BOUND_MS = 60_000;

export class Hang extends Error {}

/** Sends a request; gives its answer, undefined where the client has left before. Throws `Hang`. */
export async function exchange(sent: Sent, taking: Taking): Promise<Got | undefined> {
  try {
    return await once(sent, taking);
  } catch (error) {
    // A connection that was kept may have been closed just then.
    if (error instanceof Hang || !/ECONNRESET|EPIPE|socket hang up/.test(String(error)))
      throw error;
    return once(sent, { ...taking, agent: new Agent() });
  }
}

function once({ method, path, headers, body, isChunked }: Sent, taking: Taking) {
  const { port, agent, patienceMs, onMessage, leaveMs } = taking;
  return new Promise<Got | undefined>((resolve, reject) => {
    const isForged = headers["content-length"] !== undefined;
    const length =
      body === undefined || isForged
        ? {}
        : isChunked
          ? { "transfer-encoding": "chunked" }
          : { "content-length": body.length };
    const options = {
      port,
      host: "127.0.0.1",
      // What follows a forged length is no request of another.
      agent: isForged ? new Agent() : agent,
      method,
      path,
      headers: { ...headers, ...length },
    };
    const outgoing = request(options);
    const bound = setTimeout(() => {
      reject(new Hang(`no whole answer in ${BOUND_MS} ms`));
      outgoing.destroy();
    }, BOUND_MS);
    if (leaveMs !== undefined) {
      setTimeout(() => {
        clearTimeout(bound);
        resolve(undefined);
        outgoing.destroy();
      }, leaveMs);
    }
    outgoing.on("error", (error) => {
      clearTimeout(bound);
      reject(error);
    });
    outgoing.on("response", (incoming) => {
      const head = incoming.rawHeaders.join("\n");
      const type = incoming.headers["content-type"] ?? "";
      const session = [incoming.headers["mcp-session-id"]].flat()[0];
      const isStream = type === "text/event-stream";
      const taken = new Taken(isStream);
      let working = Promise.resolve();
      let quiet: ReturnType<typeof setTimeout> | undefined;
      const finish = (isWhole: boolean) => {
        clearTimeout(bound);
        clearTimeout(quiet);
        const { text, messages, eventIds } = taken;
        resolve({
          status: incoming.statusCode ?? 0,
          head,
          type,
          session,
          text,
          messages,
          eventIds,
          isWhole,
        });
        if (!isWhole) outgoing.destroy();
      };
      const wait = () => {
        if (!isStream || patienceMs === undefined) return;
        clearTimeout(quiet);
        quiet = setTimeout(() => void working.then(() => finish(false), reject), patienceMs);
      };
      wait();
      incoming.setEncoding("utf8").on("data", (chunk: string) => {
        for (const message of taken.take(chunk)) {
          if (onMessage !== undefined) working = working.then(() => onMessage(message));
        }
        working.catch(reject);
        if (!chunk.startsWith(":")) wait();
      });
      incoming.on("error", reject);
      incoming.on("end", () => void working.then(() => finish(true), reject));
    });
    outgoing.end(body);
  });
}

/** A body as it comes in; its parts are joined once, since megabytes come in parts of a few KB. */
class Taken {
  readonly messages: Json[] = [];
  readonly eventIds: string[] = [];
  readonly #isStream: boolean;
  readonly #parts: string[] = [];
  /** The event that has not come whole. */
  #open: string[] = [];

  constructor(isStream: boolean) {
    this.#isStream = isStream;
  }

  get text(): string {
    return this.#parts.join("");
  }

  /** Gives the messages that are new. */
  take(chunk: string): Json[] {
    this.#parts.push(chunk);
    if (!this.#isStream) return [];
    const before = this.messages.length;
    // An event's end may come in two chunks.
    const ends = chunk.includes("\n\n") || (chunk.startsWith("\n") && this.#open.length > 0);
    this.#open.push(chunk);
    if (!ends) return [];
    const events = this.#open.join("").split("\n\n");
    this.#open = [events.pop() ?? ""];
    for (const event of events) this.#event(event);
    return this.messages.slice(before);
  }

  #event(text: string): void {
    for (const line of text.split("\n")) {
      if (line.startsWith("id: ")) this.eventIds.push(line.slice(4));
      if (line.startsWith("data: {")) this.messages.push(parsed(line.slice(6)));
    }
  }
}

function parsed(data: string): Json {
  try {
    return JSON.parse(data) as Json;
  } catch {
    return { data }; // No message: it is judged so.
  }
}

/** The one message of an answer that is JSON. */
export function messageOf({ type, text, messages }: Got): Json {
  if (type !== "application/json" || text === "") return messages.at(-1) ?? {};
  const body: unknown = JSON.parse(text);
  return isObject(body) ? body : {};
}
