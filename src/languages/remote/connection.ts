/** Connects to another MCP server from Node, with the client that servlets have. */
import type { RemoteWire } from "../../kit/remote-client.ts";
import { mebibytes } from "../../server/kernel/core/text.ts";
import { EventStream } from "../../server/kernel/wasm/event-stream.ts";
import { limits } from "../../server/kernel/wasm/limits.ts";

/** Timeout of a response, with its whole body, in ms. */
const TIMEOUT_MS = 30_000;
/** Timeout of all requests together, with the waits between them, in ms. */
const TOTAL_MS = 300_000;

/** The wire to this URL. `end` closes an open stream. */
export function nodeWire(
  url: string,
  { timeoutMs = TIMEOUT_MS, totalMs = TOTAL_MS } = {},
): RemoteWire & { end(): void } {
  const ends = Date.now() + totalMs;
  const leftMs = (most: number) => Math.max(0, Math.min(most, ends - Date.now()));
  const decoder = new TextDecoder();
  let events: EventStream | undefined;
  const close = () => {
    events?.cancel();
    events = undefined;
  };
  const nextText = async (): Promise<string | undefined> => {
    const bytes = await events?.next(() => undefined).catch(rethrow);
    return bytes && decoder.decode(bytes);
  };
  return {
    async send({ method, headers, body = null, beside }) {
      // Nobody answers questions while a servlet is made.
      if (beside)
        return { status: 405, header: () => null, text: "", more: false, isBeside: false };
      close();
      const signal = AbortSignal.timeout(leftMs(timeoutMs));
      const init = { method, headers, body, redirect: "manual", signal } as const;
      const response = await fetch(url, init).catch(rethrow);
      const given = {
        status: response.status,
        header: (name: string) => response.headers.get(name),
        isBeside: false,
      };
      const type = given.header("content-type") ?? "";
      if (!response.ok || response.body === null || !/^text\/event-stream\b/i.test(type))
        return { ...given, text: await textOf(response).catch(rethrow), more: false };
      events = new EventStream(response.body, new URL(url).host);
      const text = await nextText();
      return { ...given, text: text ?? "", more: text !== undefined };
    },
    async nextEvents() {
      const text = await nextText();
      return text === undefined ? undefined : { text, isBeside: false };
    },
    sleep: (ms) => new Promise((resolve) => void setTimeout(resolve, leftMs(ms))),
    uniqueId: () => crypto.randomUUID(),
    end: close,
  };
}

/** The body of a response. Throws an `Error` if it is larger than a servlet could read. */
async function textOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let [text, length] = ["", 0];
  for await (const bytes of body ?? []) {
    length += bytes.length;
    if (length > limits.httpBytes)
      throw new Error(`Its response is larger than ${mebibytes(limits.httpBytes)}.`);
    text += decoder.decode(bytes, { stream: true });
  }
  return text + decoder.decode();
}

/** Throws an `Error` that says why a connection failed. */
function rethrow(error: Error): never {
  const { cause } = error;
  if (error.name === "TimeoutError") throw new Error("It gave no whole answer in time.", { cause });
  throw new Error(cause instanceof Error && cause.message !== "" ? cause.message : error.message, {
    cause: error,
  });
}
