/** Delivers responses to clients, and tells when they have read them. */
import { limits } from "./limits.ts";
import type { Unread } from "./unread.ts";

/** The size of the smallest buffer, in bytes. */
const LEAST_BUFFER = 4096;

/**
 * Reads a stream into buffers that grow while each is filled. Each read takes a turn of the event loop, so large
 * streams need large buffers; a pending read holds its buffer, so large ones are counted, and small if the caller has
 * too many.
 */
function piecesOf(stream: ReadableStream<Uint8Array>, buffer: Unread) {
  let bytes: ReadableStreamBYOBReader;
  try {
    bytes = stream.getReader({ mode: "byob" });
  } catch {
    // Not a byte stream: its chunks come as they were written.
    const whole = stream.getReader();
    return { read: () => whole.read(), cancel: (reason: unknown) => whole.cancel(reason) };
  }
  let size = LEAST_BUFFER;
  return {
    async read() {
      const piece = await bytes.read(new Uint8Array(size));
      if (piece.done) return piece;
      const isFull = piece.value.length === size;
      size = isFull ? Math.min(4 * size, limits.answerPiece) : Math.max(size / 16, LEAST_BUFFER);
      buffer.bytes = 0;
      if (buffer.leavesTooMuch(size)) size = LEAST_BUFFER;
      if (size > LEAST_BUFFER) buffer.bytes = size;
      return piece;
    },
    cancel: (reason: unknown) => bytes.cancel(reason),
  };
}

/** The response, read through a counted buffer; calls `ended` when its body is read to the end or cancelled. */
export function untilEnd(response: Response, buffer: Unread, ended: () => void): Response {
  const { read, cancel } = piecesOf(response.body!, buffer);
  const source: UnderlyingSource<Uint8Array> = {
    async pull(controller) {
      try {
        const { done, value } = await read();
        if (!done) return controller.enqueue(value);
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      ended();
    },
    cancel(reason) {
      ended();
      return cancel(reason);
    },
  };
  // No read-ahead, so that backpressure reaches the source of the stream.
  return new Response(new ReadableStream(source, { highWaterMark: 0 }), response);
}

/** The response in pieces; it is aborted if its client does not read for `limits.bodyMs`. Calls `ended` at the end. */
export function untilRead(response: Response, bytes: Uint8Array, ended: () => void): Response {
  const { readable, writable } = new FixedLengthStream(bytes.length);
  const writer = writable.getWriter();
  const write = async () => {
    for (let at = 0; at < bytes.length; at += limits.answerPiece) {
      const timer = setTimeout(() => void writer.abort().catch(() => {}), limits.bodyMs);
      const piece = bytes.subarray(at, at + limits.answerPiece);
      await writer.write(piece).finally(() => clearTimeout(timer));
    }
    await writer.close();
  };
  void write()
    .catch(() => {})
    .finally(ended);
  return new Response(readable, response);
}
