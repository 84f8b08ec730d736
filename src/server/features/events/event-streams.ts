/** The open streams of events of one caller, held in memory: a client whose stream ends comes back with its cursor. */
import { report } from "../../kernel/core/errors.ts";
import { Connection } from "../../kernel/http/connection.ts";
import { resultMessage, type RequestId } from "../../kernel/mcp/wire/message.ts";
import { eventText } from "../../kernel/mcp/wire/reply.ts";
import { SUBSCRIPTION_ID_META, tagged } from "../../kernel/mcp/wire/subscription.ts";
import { occurrenceOf } from "./deliveries.ts";
import type { EventLog, EventQuery, LogPosition } from "./event-log.ts";
import { limits } from "./limits.ts";
import { eventFault, notification } from "./wire.ts";

/** An open stream. */
interface Reader {
  id: RequestId;
  /** The name that the client used. */
  name: string;
  query: EventQuery;
  /** The position of the last event that was considered for it. */
  seq: number;
  /** The position up to which its client knows that events are missing. */
  missing: number;
  /** Settles when all events so far have been written. */
  feeding: Promise<void>;
}

/** A stream to open. */
export interface NewStream extends Pick<Reader, "id" | "name" | "query"> {
  caller: string | undefined;
  from: LogPosition;
}

export class EventStreams {
  readonly #log: EventLog;
  readonly #readers = new Map<Connection, Reader>();
  #beating: ReturnType<typeof setInterval> | undefined;

  constructor(log: EventLog) {
    this.#log = log;
  }

  get count(): number {
    return this.#readers.size;
  }

  /** True if a stream is open for events that can be for everyone. */
  get areShared(): boolean {
    return this.#readers.values().some(({ query }) => query.isShared);
  }

  /** Opens a stream, which its caller must read or cancel. Throws `exhausted` if too many are open. */
  open({ id, name, query, caller, from }: NewStream): ReadableStream<Uint8Array> {
    const { eventStreams: max } = limits;
    if (this.#readers.size >= max) {
      // Writing detects clients that have left, and frees their places for the next attempt.
      this.#beat();
      throw eventFault(
        "exhausted",
        `Too many open streams of events (limit ${max} for one caller). Close one, and retry in 1 second.`,
        { limit: "streams", max },
      );
    }
    const { seq, truncated } = from;
    const opening = notification("active", { cursor: this.#log.cursorAt(seq), truncated });
    const stream = new Connection({
      caller,
      opening: eventText(tagged(opening, id)),
      life: { ms: limits.eventStreamMs, ending: () => eventText(endOf(id)) },
      onOver: () => {
        this.#readers.delete(stream);
        if (this.#readers.size > 0) return;
        clearInterval(this.#beating);
        this.#beating = undefined;
      },
    });
    const missing = this.#log.lastMissing(query);
    const reader: Reader = { id, name, query, seq, missing, feeding: Promise.resolve() };
    this.#readers.set(stream, reader);
    this.#beating ??= setInterval(() => this.#beat(), limits.heartbeatMs);
    this.feed();
    return stream.body;
  }

  /** Writes the new events to all streams, each in order. */
  feed(): void {
    for (const [stream, reader] of this.#readers)
      reader.feeding = reader.feeding
        .then(() => this.#feed(stream, reader))
        .catch((error: unknown) => {
          report(error);
          stream.fail("The events cannot be read.");
        });
  }

  async #feed(stream: Connection, reader: Reader): Promise<void> {
    while (stream.isOpen) {
      const { head } = this.#log;
      const { event, seq } = await this.#log.next(reader.query, reader.seq);
      // Its client comes back with the last cursor, and is told then that events are missing.
      if (this.#log.lastMissing(reader.query) > Math.max(reader.seq, reader.missing))
        return stream.close(eventText(endOf(reader.id)));
      if (event === undefined) {
        reader.seq = Math.max(seq, head);
        return;
      }
      reader.seq = seq;
      const occurrence = occurrenceOf(event, reader.name, this.#log.cursorAt(seq));
      stream.write(eventText(tagged(notification("event", occurrence), reader.id)));
    }
  }

  #beat(): void {
    for (const [stream, { id, seq }] of this.#readers) {
      const beat = notification("heartbeat", { cursor: this.#log.cursorAt(seq) });
      stream.write(eventText(tagged(beat, id)));
    }
  }

  /** Ends all streams. */
  close(): void {
    for (const [stream, { id }] of this.#readers) stream.close(eventText(endOf(id)));
  }
}

/** The result of a stream that the server ends. */
const endOf = (id: RequestId): string =>
  resultMessage(
    id,
    JSON.stringify({ resultType: "complete", _meta: { [SUBSCRIPTION_ID_META]: id } }),
  );
