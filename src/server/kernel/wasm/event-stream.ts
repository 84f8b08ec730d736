/** The body of a guest's HTTP response that it reads event by event (`text/event-stream`). */
import { GuestError } from "./budget.ts";
import { limits } from "./limits.ts";

const [LF, CR] = [10, 13];

/** Reads events from a response. Whoever opens it cancels it. */
export class EventStream {
  readonly host: string;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  /** The beginning of an event that has not arrived completely. */
  #begun: Uint8Array[] = [];
  /** Its last two bytes at most. */
  #tail: Uint8Array = new Uint8Array();
  #length = 0;

  constructor(body: ReadableStream<Uint8Array>, host: string) {
    this.host = host;
    this.#reader = body.getReader();
  }

  /**
   * The bytes of the next events, as many as have arrived, one with data among them; undefined at the end of the stream.
   * `grow` reserves memory. Throws a `GuestError` beyond `limits.httpBytes` in all.
   */
  async next(
    grow: (bytes: number) => Promise<void> | undefined,
  ): Promise<Uint8Array<ArrayBuffer> | undefined> {
    for (;;) {
      const { value, done } = await this.#reader.read();
      // An event without a blank line behind it counts, too: its server may have ended in haste.
      if (done) return withData(this.#taken(new Uint8Array()));
      this.#length += value.length;
      if (this.#length > limits.httpBytes)
        throw new GuestError(
          `The event stream of ${this.host} is larger than ${limits.httpBytes} bytes.`,
        );
      await grow(value.length);
      const end = endOfEvents(this.#tail, value);
      const events = end === 0 ? undefined : withData(this.#taken(value.subarray(0, end)));
      this.#begun.push(value.subarray(end));
      this.#tail = value.subarray(Math.max(end, value.length - 2));
      if (events !== undefined) return events;
    }
  }

  #taken(last: Uint8Array): Uint8Array<ArrayBuffer> {
    const all = [...this.#begun, last];
    const taken = new Uint8Array(all.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const part of all) {
      taken.set(part, at);
      at += part.length;
    }
    this.#begun = [];
    return taken;
  }

  /** Closes the connection. */
  cancel(): void {
    void this.#reader.cancel().catch(() => {});
    this.#begun = [];
  }
}

/** The index after the last blank line in `bytes`, which follow `before`; 0 if there is none. */
function endOfEvents(before: Uint8Array, bytes: Uint8Array): number {
  const byteAt = (at: number) => (at < 0 ? before[before.length + at] : bytes[at]);
  for (let at = bytes.length - 1; at >= 0; at--) {
    const byte = bytes[at];
    if (byte !== LF && byte !== CR) continue;
    const last = byteAt(at - 1);
    const isBlank =
      last === byte ||
      (byte === LF && last === CR && (byteAt(at - 2) === LF || byteAt(at - 2) === CR));
    if (isBlank) return at + 1;
  }
  return 0;
}

const decoder = new TextDecoder();

/** These events if one has data; comments keep a connection alive, and say nothing. */
const withData = (events: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined =>
  /^data/m.test(decoder.decode(events)) ? events : undefined;
