import type { Json } from "../model.ts";

/** What a POST is answered with when all is said. */
export interface Reply {
  status: number;
  /** One message, or several for a batch; undefined for an empty body. */
  body: Json | Json[] | undefined;
}

/** What the client's `Accept` header admits. */
export interface Accepts {
  json: boolean;
  sse: boolean;
}

export function accepts(header: string | undefined): Accepts {
  if (header === undefined || header.includes("*/*")) return { json: true, sse: true };
  const any = header.includes("application/*");
  return {
    json: any || header.includes("application/json"),
    sse: header.includes("text/event-stream") || header.includes("text/*"),
  };
}

/**
 * Answers with JSON where the call is over before it has said anything, and with an event stream from
 * the first message on where it has. `cancel` is called when the client leaves the stream.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#receiving-messages
 */
export async function respond(
  { json, sse }: Accepts,
  cancel: () => void,
  run: (send: (message: Json) => void) => Promise<Reply>,
): Promise<Response> {
  if (!sse) return jsonResponse(await run(() => {}));
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let said: Json[] = [];
  let begin!: () => void;
  const began = new Promise<undefined>((resolve) => (begin = () => resolve(undefined)));
  const write = (message: Json) => controller?.enqueue(event(message));
  const reply = run((message) => {
    if (controller !== undefined) return write(message);
    said.push(message);
    begin();
  });
  const early = json ? await Promise.race([reply, began]) : undefined;
  if (early !== undefined && said.length === 0) return jsonResponse(early);

  const stream = new ReadableStream<Uint8Array>({
    start(opened) {
      controller = opened;
      for (const message of said) write(message);
      said = [];
      const close = async () => {
        const { body } = await reply;
        for (const message of body === undefined ? [] : [body].flat()) write(message);
        controller?.close();
        controller = undefined;
      };
      close().catch((error: unknown) => opened.error(error));
    },
    cancel() {
      controller = undefined;
      cancel();
    },
  });
  return new Response(stream, {
    headers: {
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    },
  });
}

const encoder = new TextEncoder();

/** https://html.spec.whatwg.org/multipage/server-sent-events.html */
function event(message: Json): Uint8Array {
  return encoder.encode(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}

export function jsonResponse({ status, body }: Reply): Response {
  return body === undefined ? new Response(null, { status }) : Response.json(body, { status });
}
