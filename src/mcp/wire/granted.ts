/** Streams on which a client listens, for as long as it may. */
import { Fault } from "../../core/errors.ts";
import type { Exchange } from "./exchange.ts";

/**
 * A stream that ends when its caller's credentials expire, are revoked or grant something else than at its beginning. They are
 * looked at before each chunk, keep-alive comments included.
 */
export function whileGranted(
  stream: ReadableStream<Uint8Array>,
  { principal, identify }: Pick<Exchange, "principal" | "identify">,
): ReadableStream<Uint8Array> {
  if (identify === undefined) return stream;
  const granted = JSON.stringify(principal);
  const isGranted = async () => {
    try {
      return JSON.stringify(await identify()) === granted;
    } catch (error) {
      if (error instanceof Fault) return false;
      throw error;
    }
  };
  const reader = stream.getReader();
  const source: UnderlyingSource<Uint8Array> = {
    async pull(controller) {
      const { done, value } = await reader.read();
      if (!done && (await isGranted())) return controller.enqueue(value);
      controller.close();
      if (!done) await reader.cancel();
    },
    cancel: (reason) => reader.cancel(reason),
  };
  // No read-ahead: each chunk is passed on by the grants of that moment.
  return new ReadableStream(source, { highWaterMark: 0 });
}
