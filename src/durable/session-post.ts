import type { Accepts, Reply } from "../mcp/reply.ts";
import type { Post } from "../mcp/session.ts";

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
  readonly #replies: string[] = [];
  #open: number;
  #answer!: (response: Response | Reply) => void;

  constructor(requests: number, { accepts, isBatch, scopes, trace }: Omit<Post, "messages">) {
    this.response = new Promise((resolve) => (this.#answer = resolve));
    this.accepts = accepts;
    this.scopes = scopes;
    this.trace = trace;
    this.#isBatch = isBatch;
    this.#open = requests;
  }

  /** Takes the answer to one of its requests, or that there will be none. */
  reply(message: string | undefined): void {
    if (message !== undefined) this.#replies.push(message);
    if (--this.#open > 0) return;
    const status = this.#replies.length > 0 ? 200 : 202;
    this.#answer({ status, body: this.#replies, isBatch: this.#isBatch });
  }

  /** From now on it is a stream; gives what is to be said on it first. */
  begin(stream: number, response: Response): string[] {
    this.stream = stream;
    this.#answer(response);
    return this.#replies;
  }
}
