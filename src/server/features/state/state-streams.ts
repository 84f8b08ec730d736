/** Streams from and to an object that others wait for meanwhile: a stalled stream is ended. */
import { Fault } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";

const stalled = () =>
  new Fault(
    "cancelled",
    `Nothing was sent for ${limits.stateStallMs / 1000} seconds, so the transfer was stopped. Try again.`,
  );

/** A stream of these bytes. Calls `over` once when it was read, was cancelled, has failed or has stalled. */
export function heldStream(
  parts: AsyncIterable<Uint8Array>,
  over = () => {},
): ReadableStream<Uint8Array> {
  const source = parts[Symbol.asyncIterator]();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const end = () => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    void source.return?.();
    over();
  };
  const watch = (controller: ReadableByteStreamController) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      controller.error(stalled());
      end();
    }, limits.stateStallMs);
  };
  return new ReadableStream(
    {
      type: "bytes",
      start: watch,
      async pull(controller) {
        try {
          const { done, value } = await source.next();
          if (done !== true) {
            controller.enqueue(value);
            return watch(controller);
          }
          controller.close();
          controller.byobRequest?.respond(0);
        } catch (error) {
          controller.error(error);
        }
        end();
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

/** The chunks of a stream. Throws `cancelled` if a chunk does not arrive in time. */
export async function* steady(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const late = Promise.withResolvers<never>();
      const timer = setTimeout(() => late.reject(stalled()), limits.stateStallMs);
      try {
        const { done, value } = await Promise.race([reader.read(), late.promise]);
        if (done) return;
        yield value;
      } finally {
        clearTimeout(timer);
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
