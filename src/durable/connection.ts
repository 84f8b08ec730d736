import { limits } from "../limits.ts";

const encoder = new TextEncoder();

interface ConnectionOptions {
  /** How long it may be open, in milliseconds. */
  lifeMs: number;
  /** The last event, written when its lifetime ends. */
  ending(): string;
  /** Called once, when the stream has ended. */
  onOver(): void;
}

/** An event stream. It ends after its lifetime, when its client cancels it, or when the client reads too slowly. */
export class Connection {
  /** A byte stream, since only those cross RPC. A write detects a client that has disconnected. */
  readonly body: ReadableStream<Uint8Array>;
  readonly #over: () => void;
  #controller: ReadableByteStreamController | undefined;
  /** The same once all is written, until the client has read it: only a stream that is not closed can drop it. */
  #closing: ReadableByteStreamController | undefined;

  constructor({ lifeMs, ending, onOver }: ConnectionOptions) {
    const signs = setInterval(() => this.showLife(), limits.listenKeepAliveMs);
    const life = setTimeout(() => this.close(ending()), lifeMs);
    this.#over = () => {
      clearInterval(signs);
      clearTimeout(life);
      this.#controller = undefined;
      onOver();
    };
    this.body = new ReadableStream({
      type: "bytes",
      start: (controller) => {
        this.#controller = controller;
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

  /** Writes text that is whole events. */
  write(text: string): void {
    if (this.backlogBytes <= limits.listenBacklogBytes) this.repeat(text);
    else this.fail("The client reads too slowly.");
  }

  /** Writes what was kept for the client, however much that is. */
  repeat(text: string): void {
    this.#controller?.enqueue(encoder.encode(text));
  }

  showLife(): void {
    this.write(": listening\n\n");
  }

  close(last = ""): void {
    const controller = this.#controller;
    if (controller === undefined) return;
    if (last !== "") this.repeat(last);
    if (this.backlogBytes > 0) this.#closing = controller;
    else controller.close();
    this.#over();
  }

  /** Breaks it off; what waits to be read is dropped. */
  fail(why: string): void {
    (this.#controller ?? this.#closing)?.error(new Error(why));
    this.#closing = undefined;
    if (this.#controller !== undefined) this.#over();
  }
}
