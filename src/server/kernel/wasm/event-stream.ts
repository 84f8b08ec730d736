/** The body of a guest's HTTP response that it reads event by event (`text/event-stream`). */
import { GuestError } from "./budget.ts";
import { limits } from "./limits.ts";

const [LF, CR] = [10, 13];

/** Reads events from a response. Whoever opens it cancels it. */
export class EventStream {
  readonly host: string;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  /** The beginning of an event that has not arrived completely: the first `#begun` bytes, in a buffer that grows. */
  #buffer = new Uint8Array(0);
  #begun = 0;
  #length = 0;
  #pending: ReturnType<EventStream["next"]> | undefined;

  constructor(body: ReadableStream<Uint8Array>, host: string) {
    this.host = host;
    this.#reader = body.getReader();
  }

  /**
   * The bytes of the next events, as many as have arrived, one with data among them; undefined at the end of the stream.
   * `grow` reserves memory. Throws a `GuestError` beyond `limits.httpBytes` in all.
   */
  async next(grow: Grow): Promise<Uint8Array<ArrayBuffer> | undefined> {
    for (;;) {
      const { value, done } = await this.#reader.read();
      // An event without a blank line behind it counts, too: its server may have ended in haste.
      if (done) return withData(this.#taken(this.#begun));
      this.#length += value.length;
      if (this.#length > limits.httpBytes)
        throw new GuestError(
          `The event stream of ${this.host} is larger than ${limits.httpBytes} bytes.`,
        );
      await grow(value.length);
      const from = this.#begun;
      this.#append(value);
      const end = endOfEvents(this.#buffer.subarray(0, this.#begun), from);
      const events = end === 0 ? undefined : withData(this.#taken(end));
      if (events !== undefined) return events;
    }
  }

  /** The next events, which stay until `take`: where two streams are read at once, only one has been first. */
  pending(grow: Grow): ReturnType<EventStream["next"]> {
    this.#pending ??= this.next(grow);
    return this.#pending;
  }

  /** Removes the pending events. */
  take(): void {
    this.#pending = undefined;
  }

  /** Copies the bytes: a server that sends single bytes would otherwise have a buffer kept for each. */
  #append(bytes: Uint8Array): void {
    const length = this.#begun + bytes.length;
    if (length > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.#buffer.length));
      larger.set(this.#buffer.subarray(0, this.#begun));
      this.#buffer = larger;
    }
    this.#buffer.set(bytes, this.#begun);
    this.#begun = length;
  }

  /** Takes these bytes from the front. */
  #taken(end: number): Uint8Array<ArrayBuffer> {
    const taken = this.#buffer.slice(0, end);
    this.#buffer = this.#buffer.slice(end, this.#begun);
    this.#begun -= end;
    return taken;
  }

  /** Closes the connection. */
  cancel(): void {
    void this.#reader.cancel().catch(() => {});
    this.#buffer = new Uint8Array(0);
    this.#begun = 0;
  }
}

/** The index after the last blank line that ends at or after `from`; 0 if there is none. */
function endOfEvents(bytes: Uint8Array, from: number): number {
  for (let at = bytes.length - 1; at >= from; at--) {
    const byte = bytes[at];
    if (byte !== LF && byte !== CR) continue;
    const last = bytes[at - 1];
    const isBlank =
      last === byte ||
      (byte === LF && last === CR && (bytes[at - 2] === LF || bytes[at - 2] === CR));
    if (isBlank) return at + 1;
  }
  return 0;
}

type Grow = (bytes: number) => Promise<void> | undefined;

interface Reading {
  main: EventStream;
  beside: EventStream | undefined;
  grow: Grow;
  /** Settles after a moment, in which events on the one connection may overtake those on the other. */
  moment(): Promise<void>;
}

/**
 * The events that come first, and whether they are those of the stream `beside`, whose end says nothing. Events of the main
 * stream that come at the same time go first: by the id in them it can be resumed.
 */
export async function firstOf({ main, beside, grow, moment }: Reading): Promise<{
  events: Uint8Array<ArrayBuffer> | undefined;
  isBeside: boolean;
}> {
  const { promise: never } = Promise.withResolvers<never>();
  const other = beside
    ?.pending(grow)
    .then((events) => (events === undefined ? never : moment()))
    .then(() => true)
    .catch(() => never);
  const isBeside = await Promise.race([main.pending(grow).then(() => false), other ?? never]);
  const first = isBeside ? beside! : main;
  const events = await first.pending(grow);
  first.take();
  return { events, isBeside };
}

const decoder = new TextDecoder();

/** These events if one has data; comments keep a connection alive, and say nothing. */
const withData = (events: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined =>
  /^data/m.test(decoder.decode(events)) ? events : undefined;
