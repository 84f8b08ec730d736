/** Connects to another MCP server from Node, with the client that servlets have. */
import type { RemoteWire, WireResponse } from "../../kit/remote-client.ts";

/** How long the server may take for a response, and for the next event of a stream, in ms. */
const TIMEOUT_MS = 30_000;
/** Size of a response, as in servlets. */
const MOST_BYTES = 6 * 1024 * 1024;

/** The wire to this URL. `end` closes an open stream. */
export function nodeWire(url: string): RemoteWire & { end(): void } {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  let decoder = new TextDecoder();
  const close = () => {
    void reader?.cancel().catch(() => {});
    reader = undefined;
  };
  /** Text up to the end of an event; the rest of the stream's text at its end. */
  let begun = "";
  const nextText = async (): Promise<string | undefined> => {
    while (reader !== undefined) {
      const { value, done } = await inTime(reader.read());
      begun += decoder.decode(value, { stream: !done });
      if (begun.length > MOST_BYTES)
        throw new Error(`Its response is larger than ${MOST_BYTES} bytes.`);
      const end = done ? begun.length : begun.search(/(?:\n\n|\r\r|\r\n\r\n)[^]*$/);
      if (done) reader = undefined;
      if (end < 0 || (done && begun === "")) continue;
      const text = begun;
      begun = "";
      return text;
    }
    return undefined;
  };
  return {
    async send({ method, headers, body = null, beside }) {
      // Nobody answers questions while a servlet is made.
      if (beside)
        return { status: 405, header: () => null, text: "", more: false, isBeside: false };
      close();
      const response = await inTime(fetch(url, { method, headers, body, redirect: "manual" }));
      const type = response.headers.get("content-type") ?? "";
      const given = {
        status: response.status,
        header: (name: string) => response.headers.get(name),
      };
      reader = response.body?.getReader();
      [decoder, begun] = [new TextDecoder(), ""];
      if (response.ok && /^text\/event-stream\b/i.test(type)) {
        const text = await nextText();
        return { ...given, text: text ?? "", more: text !== undefined, isBeside: false };
      }
      return wholeOf(given);
    },
    async nextEvents() {
      const text = await nextText();
      return text === undefined ? undefined : { text, isBeside: false };
    },
    sleep: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
    uniqueId: () => crypto.randomUUID(),
    end: close,
  };

  async function wholeOf(given: Pick<WireResponse, "status" | "header">): Promise<WireResponse> {
    let text = "";
    while (reader !== undefined) {
      const { value, done } = await inTime(reader.read());
      text += decoder.decode(value, { stream: !done });
      if (text.length > MOST_BYTES)
        throw new Error(`Its response is larger than ${MOST_BYTES} bytes.`);
      if (done) reader = undefined;
    }
    return { ...given, text, more: false, isBeside: false };
  }
}

/** Rejects if the work takes too long. Throws an `Error` that says why a connection failed. */
async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `It gave no answer within ${TIMEOUT_MS / 1000} seconds.`;
    timer = setTimeout(() => reject(new Error(message)), TIMEOUT_MS);
  });
  try {
    return await Promise.race([work, late]);
  } catch (error) {
    const { message, cause } = error as Error;
    throw new Error(cause instanceof Error && cause.message !== "" ? cause.message : message, {
      cause: error,
    });
  } finally {
    clearTimeout(timer);
  }
}
