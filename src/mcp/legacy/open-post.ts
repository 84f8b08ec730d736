import type { RequestId } from "../wire/message.ts";
import { batchIsFull, Replies } from "./batch.ts";
import type { Accepts, Reply } from "../wire/reply.ts";
import type { Post } from "../../durable/session-object.ts";

/**
 * A POST that is being answered: with JSON where all of its calls are over before one of them has said
 * anything, else with a stream that begins then.
 */
export class OpenPost {
  /** What the POST is answered with. */
  readonly response: Promise<Response | Reply>;
  readonly accepts: Accepts;
  readonly scopes: Post["scopes"];
  readonly trace: Post["trace"];
  /** Where it has become a stream, its number. */
  stream: number | undefined;
  readonly #isBatch: boolean;
  readonly #replies: Replies;
  #last: Promise<void> = Promise.resolve();
  #open: number;
  #answer!: (response: Response | Reply) => void;

  constructor(requests: number, { accepts, isBatch, scopes, trace }: Omit<Post, "messages">) {
    this.response = new Promise((resolve) => (this.#answer = resolve));
    this.accepts = accepts;
    this.scopes = scopes;
    this.trace = trace;
    this.#isBatch = isBatch;
    this.#replies = new Replies(isBatch);
    this.#open = requests;
  }

  /** Takes the answer to its request with this id, or that there will be none. */
  reply(id: RequestId | null, message: string | undefined): void {
    if (message !== undefined) this.#replies.add(message, id);
    this.#over();
  }

  /**
   * Does the work when the requests before are answered, or go on as a stream: of several large results at
   * once none could be refused in time.
   */
  inTurn(work: () => Promise<void>): Promise<void> {
    if (!this.#isBatch) return work();
    this.#last = this.#last.then(work);
    return this.#last;
  }

  /** Throws where there is no room for further replies. */
  demandRoom(): void {
    if (this.stream === undefined && this.#replies.isFull) throw batchIsFull();
  }

  #over(): void {
    if (--this.#open > 0) return;
    const { all } = this.#replies;
    this.#answer({ status: all.length > 0 ? 200 : 202, body: all, isBatch: this.#isBatch });
  }

  /** From now on it is a stream; gives what is to be said on it first. */
  begin(stream: number, response: Response): string[] {
    this.stream = stream;
    this.#answer(response);
    return this.#replies.all;
  }
}
