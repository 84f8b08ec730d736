import { Fault } from "../../errors.ts";
import { limits } from "../../limits.ts";
import { stringBytes } from "../../text.ts";
import { errorMessage, type RequestId } from "../wire/message.ts";

/** The replies to one POST: those to a batch are sent together, so together they have a size. */
export class Replies {
  readonly all: string[] = [];
  readonly #isBatch: boolean;
  #bytes = 0;
  /** Did one of them find no room? Then what else the batch asks for is not begun. */
  isFull = false;

  constructor(isBatch: boolean) {
    this.#isBatch = isBatch;
  }

  /** Takes the reply to the request with this id; where there is no room for it, an error in its place. */
  add(message: string, id: RequestId | null): void {
    this.isFull ||= this.#isBatch && this.#bytes + stringBytes(message) > limits.batchBytes;
    const reply = this.isFull ? errorMessage(id, batchIsFull()) : message;
    this.#bytes += stringBytes(reply);
    this.all.push(reply);
  }
}

/** Of a request for whose result its batch has no room. */
export const batchIsFull = () =>
  new Fault(
    "too_large",
    `The results of this batch have more than ${limits.batchBytes} bytes: send the request by itself.`,
  );
