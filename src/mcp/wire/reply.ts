import { jsonHeaders } from "../../body.ts";
import { httpStatus, retryAfterOf, type Fault } from "../../errors.ts";
import { limits } from "../../limits.ts";
import type { Json } from "../../model.ts";
import { errorMessage, type RequestId } from "./message.ts";

/** What a POST is answered with when all is said. */
export interface Reply {
  status: number;
  /** One message as JSON text, or those of a batch. */
  body: string | string[];
  isBatch?: boolean;
}

/** What the client's `Accept` header admits. */
export interface Accepts {
  json: boolean;
  sse: boolean;
}

export function acceptsIn(header: string | undefined): Accepts {
  if (header === undefined || header.includes("*/*")) return { json: true, sse: true };
  const isAny = header.includes("application/*");
  return {
    json: isAny || header.includes("application/json"),
    sse: header.includes("text/event-stream") || header.includes("text/*"),
  };
}

/**
 * Answers one POST: with JSON where the reply comes before anything else was said, and with an event stream
 * from the first message on where it does not. A call that waits for long opens the stream too: only by
 * writing does one learn that the client has gone, and proxies want to see signs of life.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#receiving-messages
 * https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export class Answering {
  readonly #accepts: Accepts;
  readonly #leaving: () => AbortSignal;
  readonly #begun = Promise.withResolvers<undefined>();
  #hasBegun = false;
  #left: AbortController | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Events from before anybody could read. */
  #early: Uint8Array[] = [];
  #signsOfLife: ReturnType<typeof setInterval> | undefined;

  /** `leaving` aborts when the client has left before it was answered. */
  constructor({ accepts, leaving }: { accepts: Accepts; leaving: () => AbortSignal }) {
    this.#accepts = accepts;
    this.#leaving = leaving;
  }

  // Both are handed out one by one, so bound to this.
  /** Sends a message before the reply; nothing happens where the client takes no event stream. */
  readonly send = (message: Json): void => {
    if (this.#accepts.sse) this.#event(JSON.stringify(message));
  };

  /** Aborts when the client has left. Asked for by calls that begin to wait. */
  readonly signal = (): AbortSignal => {
    if (!this.#accepts.sse) return this.#leaving();
    const { signal } = (this.#left ??= new AbortController());
    if (!signal.aborted) {
      this.#signsOfLife ??= setInterval(() => this.#write(": waiting\n\n"), limits.keepAliveMs);
    }
    return AbortSignal.any([this.#leaving(), signal]);
  };

  /** The response, once it is known whether it is a stream. */
  async response(reply: Promise<Reply>): Promise<Response> {
    if (!this.#accepts.sse) return jsonResponse(await reply);
    const first = this.#accepts.json ? await Promise.race([reply, this.#begun.promise]) : undefined;
    if (first === undefined || this.#hasBegun) return this.#stream(reply);
    this.#end();
    return jsonResponse(first);
  }

  #event(message: string): void {
    this.#write(eventText(message));
  }

  #write(text: string): void {
    if (this.#left?.signal.aborted === true) return;
    const bytes = encoder.encode(text);
    if (this.#controller === undefined) this.#early.push(bytes);
    else this.#controller.enqueue(bytes);
    this.#hasBegun = true;
    this.#begun.resolve(undefined);
  }

  #end(): void {
    if (this.#signsOfLife !== undefined) clearInterval(this.#signsOfLife);
  }

  /** What was and will be said, then the reply. */
  #stream(reply: Promise<Reply>): Response {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
        for (const bytes of this.#early) controller.enqueue(bytes);
        const finish = async () => {
          const { body: last } = await reply;
          this.#end();
          for (const message of [last].flat()) this.#event(message);
          this.#controller?.close();
        };
        finish().catch((error: unknown) => controller.error(error));
      },
      cancel: () => {
        this.#end();
        this.#controller = undefined;
        this.#early = [];
        (this.#left ??= new AbortController()).abort();
      },
    });
    return streamResponse(body);
  }
}

/** A message, as JSON text, in an event; with an id that a client can resume from. */
export const eventText = (message: string, id?: string): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: message\ndata: ${message}\n\n`;

/** A stream of events as a response. */
export function streamResponse(body: ReadableStream<Uint8Array>): Response {
  return new Response(body, {
    headers: {
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    },
  });
}

const encoder = new TextEncoder();

export function jsonResponse({ status, body, isBatch = false }: Reply): Response {
  const text = isBatch ? `[${[body].flat().join(",")}]` : [body].flat().join("");
  return new Response(text, { status, headers: jsonHeaders });
}

/** The refusal of a whole request, which says what to do about it in its headers too. */
export function refusalResponse(
  fault: Fault,
  { id = null, challenge }: { id?: RequestId | null; challenge?: string | undefined },
): Response {
  const response = jsonResponse({ status: httpStatus(fault), body: errorMessage(id, fault) });
  const retryAfter = retryAfterOf(fault);
  if (retryAfter !== undefined) response.headers.set("retry-after", retryAfter);
  if (challenge !== undefined) response.headers.set("www-authenticate", challenge);
  return response;
}
