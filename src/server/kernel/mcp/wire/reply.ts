import { bytesResponse, jsonHeaders, streamResponse, textResponse } from "../../http/body.ts";
import { httpStatus, retryAfterOf, tooSilent, Fault } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import { callerKey, usageKey } from "../../core/callers.ts";
import type { Json, Principal } from "../../core/model.ts";
import { Connection, KEEP_ALIVE } from "../../http/connection.ts";
import { dropped } from "../../http/unread.ts";
import { errorMessage, type RequestId } from "./message.ts";

/** The final answer to a POST. */
export interface Reply {
  status: number;
  /** One message as JSON (text or UTF-8), or the texts of a batch. */
  body: string | string[] | Uint8Array<ArrayBuffer>;
  isBatch?: boolean;
  /** The value of `Retry-After`. */
  retryAfter?: string | undefined;
}

/** The reply to a request that has failed. */
export const failedReply = (fault: Fault, id: RequestId | null): Reply => ({
  status: httpStatus(fault),
  body: errorMessage(id, fault),
  retryAfter: retryAfterOf(fault),
});

/** The properties of a POST that its reply depends on. */
interface PostContext {
  accepts: Accepts;
  /** Aborts when the client disconnects. Created on first use. */
  leaving: () => AbortSignal;
  principal: Principal;
}

/** The media types that the client's `Accept` header allows. */
export interface Accepts {
  json: boolean;
  sse: boolean;
}

export function acceptsIn(header: string | undefined): Accepts {
  if (header === undefined || header.includes("*/*")) return { json: true, sse: true };
  const types = header.toLowerCase();
  return {
    json: types.includes("application/json") || types.includes("application/*"),
    sse: types.includes("text/event-stream") || types.includes("text/*"),
  };
}

/** Throws `not_acceptable` if the client accepts no stream. */
export function demandStream({ sse }: Accepts): void {
  if (sse) return;
  throw new Fault(
    "not_acceptable",
    "The response is a stream, which the Accept header does not allow. Add text/event-stream to it.",
  );
}

/**
 * Answers one POST: with JSON if the reply is the first message, else with an event stream from the first message on. A
 * call that waits for long also opens the stream: proxies expect activity, and only a write detects that the client has
 * left. If the client accepts no stream, the call is stopped.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#receiving-messages
 */
export class Answering {
  readonly #accepts: Accepts;
  readonly #leaving: () => AbortSignal;
  readonly #principal: Principal;
  /** Tells `response` that a stream has begun. */
  #begun: (() => void) | undefined;
  #left: AbortController | undefined;
  readonly #began = Date.now();
  #isAnswered = false;
  #stream: Connection | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor({ accepts, leaving, principal }: PostContext) {
    this.#accepts = accepts;
    this.#leaving = leaving;
    this.#principal = principal;
  }

  // Bound, because both are passed on as functions.
  /**
   * Sends a notification before the reply; it is dropped if the client accepts no event stream, or leaves no room for
   * it.
   */
  readonly send = (message: Json): void => {
    if (!this.#accepts.sse) return;
    const stream = this.#open();
    const text = eventText(JSON.stringify(message));
    // A servlet may send faster than its client reads.
    if (!stream.isFullFor(text)) stream.writeAny(text);
  };

  /** Aborts when the client has left, or has received nothing for too long. Called by calls that begin to wait. */
  readonly signal = (): AbortSignal => {
    const left = (this.#left ??= new AbortController());
    if (!left.signal.aborted)
      this.#timer ??= this.#accepts.sse ? this.#keepAlive() : this.#end(left);
    return AbortSignal.any([this.#leaving(), left.signal]);
  };

  #keepAlive() {
    return setInterval(() => this.#open().writeAny(KEEP_ALIVE), limits.keepAliveMs);
  }

  #end(call: AbortController) {
    const ms = this.#began + limits.silentEndMs - Date.now();
    return setTimeout(() => call.abort(tooSilent()), Math.max(0, ms));
  }

  /** The response, once it is known whether it is a stream. */
  async response(reply: Promise<Reply>): Promise<Response> {
    if (!this.#accepts.sse) {
      return reply.then(replyResponse).finally(() => clearTimeout(this.#timer));
    }
    const first = this.#accepts.json ? await this.#unlessBegun(reply) : undefined;
    if (first !== undefined && this.#stream === undefined) {
      clearInterval(this.#timer);
      return replyResponse(first);
    }
    const stream = this.#open();
    this.#finish(stream, reply).catch((error: unknown) => stream.fail(error));
    return streamResponse(stream.body);
  }

  /** The reply, or undefined once the stream has begun. */
  #unlessBegun(reply: Promise<Reply>): Promise<Reply | undefined> | undefined {
    if (this.#stream !== undefined) return undefined;
    return new Promise((resolve, reject) => {
      this.#begun = () => resolve(undefined);
      reply.then(resolve, reject);
    });
  }

  async #finish(stream: Connection, reply: Promise<Reply>): Promise<void> {
    const { body } = await reply;
    this.#isAnswered = true;
    for (const message of textsOf(body)) {
      const isLarge = message.length > limits.smallAnswer;
      const isDropped = isLarge && stream.isFullFor(message);
      stream.writeAny(eventText(isDropped ? this.#dropped(message) : message));
    }
    stream.close();
  }

  /** The error in place of a reply that has no room. */
  #dropped(message: string): string {
    const { id = null } = JSON.parse(message) as { id?: RequestId };
    return errorMessage(id, dropped(usageKey(callerKey(this.#principal))));
  }

  /** The stream, which begins with the first message. */
  #open(): Connection {
    if (this.#stream === undefined) {
      const onOver = () => {
        clearInterval(this.#timer);
        if (!this.#isAnswered) (this.#left ??= new AbortController()).abort();
      };
      const stream = new Connection({ caller: callerKey(this.#principal), onOver });
      this.#stream = stream;
      // workerd does not always cancel the stream.
      this.#leaving().addEventListener("abort", () => stream.fail("The client has left."));
      this.#begun?.();
    }
    return this.#stream;
  }
}

/** A message, as JSON text, in an event; with an id that a client can resume from. */
export const eventText = (message: string, id?: string): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: message\ndata: ${message}\n\n`;

/** A reply as a JSON response. */
export function replyResponse(reply: Reply): Response {
  const response = jsonReply(reply);
  if (reply.retryAfter !== undefined) response.headers.set("retry-after", reply.retryAfter);
  return response;
}

function jsonReply({ status, body, isBatch = false }: Reply): Response {
  const init = { status, headers: jsonHeaders };
  if (body instanceof Uint8Array) return bytesResponse(body, init);
  if (!isBatch && typeof body === "string") return textResponse(body, init);
  const texts = textsOf(body);
  return textResponse(isBatch ? `[${texts.join(",")}]` : texts.join(""), init);
}

const textsOf = (body: Reply["body"]): string[] =>
  [body instanceof Uint8Array ? new TextDecoder().decode(body) : body].flat();

/** The rejection of a whole request; headers say when or how to retry. */
export function refusalResponse(
  fault: Fault,
  { id = null, challenge }: { id?: RequestId | null; challenge?: string | undefined },
): Response {
  const response = replyResponse(failedReply(fault, id));
  if (challenge !== undefined) response.headers.set("www-authenticate", challenge);
  return response;
}
