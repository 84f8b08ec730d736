import { limits } from "../../kernel/core/limits.ts";
import type { RequestId } from "../../kernel/mcp/wire/message.ts";
import type { Accepts, Reply } from "../../kernel/mcp/wire/reply.ts";
import type { Post } from "./session-object.ts";
import { batchIsFull, Replies } from "../../kernel/mcp/legacy/replies.ts";

/**
 * A POST that is being answered: with JSON if all its calls end before any of them sends a message, otherwise with
 * a stream that starts with that message.
 */
export class OpenPost {
  /** The answer to the POST. */
  readonly response: Promise<Response | Reply>;
  readonly accepts: Accepts;
  readonly scopes: Post["scopes"];
  /** The trace in its HTTP headers. */
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

  /** Adds the reply to the request with this id; undefined if there will be none. */
  reply(id: RequestId | null, message: string | undefined): void {
    if (message !== undefined) this.#replies.add(message, id);
    this.#over();
  }

  /**
   * Runs `work` after the earlier requests of a batch: large concurrent results could not be refused in time.
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

  /** Runs `work` once a client that accepts no stream has waited too long for a message. */
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
