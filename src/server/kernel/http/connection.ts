import { limits } from "./limits.ts";
import { usageKey } from "../core/callers.ts";
import { Unread } from "./unread.ts";

const encoder = new TextEncoder();

/** A comment, so that proxies keep the connection and a disconnected client is detected. */
export const KEEP_ALIVE = ": waiting\n\n";

interface ConnectionOptions {
  /** The key of the caller whose client reads it. */
  caller: string | undefined;
  /** The interval of its keep-alive comments, in milliseconds; if absent, none are written. */
  keepAliveMs?: number;
  /** Its first bytes; a comment by default. */
  opening?: string;
  /** Its lifetime in milliseconds, and the last event, written at its end; if absent, unlimited. */
  life?: { ms: number; ending(): string };
  /** Called once, when the stream has ended. */
  onOver(): void;
}

/**
 * An event stream. It ends after its lifetime, when its client cancels it, or when the client reads too slowly. Unread
 * bytes are counted for its caller.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export class Connection {
  /** A byte stream, since only byte streams cross RPC. A write detects a client that has disconnected. */
  readonly body: ReadableStream<Uint8Array>;
  readonly #over: () => void;
  /** Absent once the stream has ended and everything is read. */
  #controller: ReadableByteStreamController | undefined;
  #isOpen = true;
  /** Unread pieces, each of at most `limits.answerPiece` bytes. */
  readonly #pieces: Uint8Array[] = [];
  readonly #unread: Unread;
  /** Bytes of the piece that the stream has taken; it counts as read once the stream asks for the next one. */
  #taken = 0;
  /** Settles a read that waits for the next piece. */
  #pulled: (() => void) | undefined;
  /** Aborts the stream if no piece is read by then. */
  #late: ReturnType<typeof setTimeout> | undefined;
  /** True if a piece was read since that timer was set. */
  #isRead = false;

  constructor({ caller, keepAliveMs, life, opening = KEEP_ALIVE, onOver }: ConnectionOptions) {
    const keepAlive = keepAliveMs && setInterval(() => this.write(KEEP_ALIVE), keepAliveMs);
    const end = life && setTimeout(() => this.close(life.ending()), life.ms);
    this.#unread = new Unread(usageKey(caller));
    this.#over = () => {
      if (!this.#isOpen) return;
      this.#isOpen = false;
      clearInterval(keepAlive);
      clearTimeout(end);
      onOver();
    };
    this.body = new ReadableStream({
      type: "bytes",
      start: (controller) => {
        this.#controller = controller;
        // The headers are sent with the first byte: some clients give up before a first event comes.
        this.writeAny(opening);
      },
      pull: () => {
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#pulled = resolve;
        this.#unread.bytes -= this.#taken;
        this.#taken = 0;
        this.#deliver();
        return promise;
      },
      cancel: () => this.#forget(),
    });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Unread bytes. */
  get backlogBytes(): number {
    return this.#unread.bytes;
  }

  /** True if its caller leaves too many bytes unread. */
  get leavesTooMuch(): boolean {
    return this.#unread.leavesTooMuch();
  }

  /**
   * True if a text of this size has no room: its caller leaves too much unread, and this connection more than a small
   * response.
   */
  isFullFor(text: string): boolean {
    return this.leavesTooMuch && this.backlogBytes + text.length > limits.smallAnswer;
  }

  /**
   * Writes whole events. If too many bytes are unread, the stream ends after them, so that its client can come back for
   * the rest; if its caller leaves no room at all, it is aborted.
   */
  write(text: string): void {
    if (this.isFullFor(text)) this.fail("The client reads too slowly.");
    else if (this.backlogBytes > limits.listenBacklogBytes) this.close();
    else this.writeAny(text);
  }

  /** Writes whole events, however many bytes are unread. */
  writeAny(text: string): void {
    if (!this.#isOpen) return;
    const bytes = encoder.encode(text);
    this.#unread.bytes += bytes.length;
    // A stream takes the whole buffer of its chunk, so each piece has its own.
    for (let at = 0; at < bytes.length; at += limits.answerPiece)
      this.#pieces.push(bytes.slice(at, at + limits.answerPiece));
    this.#deliver();
    this.#watch();
  }

  close(last = ""): void {
    if (last !== "") this.writeAny(last);
    this.#over();
    this.#deliver();
  }

  /** Aborts the connection; unread events are dropped. */
  fail(why: unknown): void {
    this.#controller?.error(typeof why === "string" ? new Error(why) : why);
    this.#forget();
  }

  /** Gives the next piece to a pending read; ends the stream after the last one. */
  #deliver(): void {
    const [piece] = this.#pieces;
    if (piece === undefined) {
      // The client has not read the taken piece completely, so it still counts.
      if (this.#isOpen || this.#taken > 0) return;
      this.#controller?.close();
      // By the standard, a read into a buffer ends only then.
      this.#controller?.byobRequest?.respond(0);
      return this.#forget();
    }
    const pulled = this.#pulled;
    if (pulled === undefined) return;
    this.#pieces.shift();
    this.#taken = piece.length;
    this.#isRead = true;
    this.#pulled = undefined;
    this.#controller?.enqueue(piece);
    pulled();
    this.#deliver();
  }

  /** Aborts the stream if much is unread and none of it is read for `limits.bodyMs`. */
  #watch(): void {
    if (this.backlogBytes <= limits.smallAnswer || this.#late !== undefined) return;
    this.#isRead = false;
    this.#late = setTimeout(() => {
      this.#late = undefined;
      if (this.#isRead) this.#watch();
      else this.fail("The client does not read.");
    }, limits.bodyMs);
  }

  #forget(): void {
    this.#pieces.length = this.#unread.bytes = this.#taken = 0;
    clearTimeout(this.#late);
    this.#pulled?.();
    this.#controller = this.#pulled = undefined;
    this.#over();
  }
}
