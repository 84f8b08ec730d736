import { limits } from "../../core/limits.ts";
import { type RequestId, errorMessage } from "../wire/message.ts";
import type { Accepts, Reply } from "../wire/reply.ts";
import type { Post } from "./session-object.ts";
import { Fault } from "../../core/errors.ts";
import { stringBytes } from "../../core/text.ts";

/** Bytes of the results of one batch, which are held until the last is there. */
const BATCH_BYTES = 4 * 1024 * 1024;

/**
 * A POST that is being answered: with JSON if all its calls end before any of them sends a message, otherwise with
 * a stream that starts with that message.
 */
export class OpenPost {
  /** The answer to the POST. */
  readonly response: Promise<Response | Reply>;
  readonly accepts: Accepts;
  readonly scopes: Post["scopes"];
  /** That of its HTTP headers. */
  readonly trace: Post["trace"];
  readonly pages: Post["pages"];
  /** The number of its stream, once there is one. */
  stream: number | undefined;
  readonly #isBatch: boolean;
  readonly #replies: Replies;
  readonly #began = Date.now();
  readonly #timers: ReturnType<typeof setTimeout>[] = [];
  #last: Promise<void> = Promise.resolve();
  #open: number;
  #answer!: (response: Response | Reply) => void;

  constructor(
    requests: number,
    { accepts, isBatch, scopes, trace, pages }: Omit<Post, "messages">,
  ) {
    this.response = new Promise((resolve) => (this.#answer = resolve));
    this.accepts = accepts;
    this.scopes = scopes;
    this.trace = trace;
    this.pages = pages;
    this.#isBatch = isBatch;
    this.#replies = new Replies(isBatch);
    this.#open = requests;
  }

  /** Adds the reply to its request with this id; undefined if there will be none. */
  reply(id: RequestId | null, message: string | undefined): void {
    if (message !== undefined) this.#replies.add(message, id);
    this.#over();
  }

  /**
   * Runs `work` after the earlier requests of a batch: concurrent large results could not be refused in time.
   */
  inTurn(work: () => Promise<void>): Promise<void> {
    if (!this.#isBatch) return work();
    this.#last = this.#last.then(work);
    return this.#last;
  }

  /** Throws `too_large` if there is no room for further replies. */
  demandRoom(): void {
    if (this.stream === undefined && this.#replies.isFull) throw batchIsFull();
  }

  /** Does something once a client that takes no stream has heard nothing for too long. */
  whenSilent(work: () => void): void {
    if (this.accepts.sse) return;
    const ms = this.#began + limits.silentEndMs - Date.now();
    this.#timers.push(setTimeout(work, Math.max(0, ms)));
  }

  #over(): void {
    if (--this.#open > 0) return;
    this.#timers.forEach(clearTimeout);
    const { all } = this.#replies;
    this.#answer({ status: all.length > 0 ? 200 : 202, body: all, isBatch: this.#isBatch });
  }

  /** Turns it into a stream; returns the earlier replies, which go first. */
  begin(stream: number, response: Response): string[] {
    this.stream = stream;
    this.#answer(response);
    return this.#replies.all;
  }
}

/** The replies to one POST. Those to a batch are sent together, so their total size is limited. */
export class Replies {
  readonly all: string[] = [];
  readonly #isBatch: boolean;
  #bytes = 0;
  /** True once a reply did not fit: the other requests of the batch are not run. */
  isFull = false;

  constructor(isBatch: boolean) {
    this.#isBatch = isBatch;
  }

  /** Adds the reply to the request with this id, or an error if there is no room for it. */
  add(message: string, id: RequestId | null): void {
    this.isFull ||= this.#isBatch && this.#bytes + stringBytes(message) > BATCH_BYTES;
    const reply = this.isFull ? errorMessage(id, batchIsFull()) : message;
    this.#bytes += stringBytes(reply);
    this.all.push(reply);
  }
}

/** The fault of a request whose result does not fit the batch. */
const batchIsFull = () =>
  new Fault(
    "too_large",
    `The results of this batch are too large (limit ${BATCH_BYTES} bytes). Send this request by itself.`,
  );
