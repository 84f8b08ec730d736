import { limits } from "../core/limits.ts";

const encoder = new TextEncoder();

/** A comment, so that proxies keep the connection and a disconnected client is detected. */
export const KEEP_ALIVE = ": waiting\n\n";

interface ConnectionOptions {
  /** The interval of its keep-alive comments, in milliseconds; without it none are written. */
  keepAliveMs?: number;
  /** How long it may be open, in milliseconds, and the last event, written then; without it for ever. */
  life?: { ms: number; ending(): string };
  /** Called once, when the stream has ended. */
  onOver(): void;
}

/**
 * An event stream. It ends after its lifetime, when its client cancels it, or when the client reads too slowly.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export class Connection {
  /** A byte stream, since only those cross RPC. A write detects a client that has disconnected. */
  readonly body: ReadableStream<Uint8Array>;
  readonly #over: () => void;
  #controller: ReadableByteStreamController | undefined;
  /** The controller after the last write, until the client has read all: a closed stream could not be broken off. */
  #closing: ReadableByteStreamController | undefined;

  constructor({ keepAliveMs, life, onOver }: ConnectionOptions) {
    const keepAlive = keepAliveMs && setInterval(() => this.write(KEEP_ALIVE), keepAliveMs);
    const end = life && setTimeout(() => this.close(life.ending()), life.ms);
    this.#over = () => {
      clearInterval(keepAlive);
      clearTimeout(end);
      this.#controller = undefined;
      onOver();
    };
    this.body = new ReadableStream({
      type: "bytes",
      start: (controller) => {
        this.#controller = controller;
        // Its headers leave with its first byte: some clients give up before a first event comes.
        this.writeAny(KEEP_ALIVE);
      },
      pull: () => {
        this.#closing?.close();
        this.#closing = undefined;
      },
      cancel: () => {
        this.#closing = undefined;
        this.#over();
      },
    });
  }

  get isOpen(): boolean {
    return this.#controller !== undefined;
  }

  /** Bytes that wait to be read: the stream's desired size, negated. */
  get backlogBytes(): number {
    return -((this.#controller ?? this.#closing)?.desiredSize ?? 0);
  }

  /** Writes whole events; fails the connection if its client reads too slowly. */
  write(text: string): void {
    if (this.backlogBytes <= limits.listenBacklogBytes) this.writeAny(text);
    else this.fail("The client reads too slowly.");
  }

  /** Writes whole events, however much waits to be read. */
  writeAny(text: string): void {
    this.#controller?.enqueue(encoder.encode(text));
  }

  close(last = ""): void {
    const controller = this.#controller;
    if (controller === undefined) return;
    if (last !== "") this.writeAny(last);
    if (this.backlogBytes > 0) this.#closing = controller;
    else controller.close();
    this.#over();
  }

  /** Breaks the connection off; unread events are dropped. */
  fail(why: unknown): void {
    (this.#controller ?? this.#closing)?.error(typeof why === "string" ? new Error(why) : why);
    this.#closing = undefined;
    if (this.#controller !== undefined) this.#over();
  }
}
