import { Fault } from "../../core/errors.ts";
import { stringBytes } from "../../core/text.ts";
import { errorMessage, type RequestId } from "../wire/message.ts";

/** Bytes of the results of one batch, which are held until the last one is there. */
const BATCH_BYTES = 4 * 1024 * 1024;

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
export const batchIsFull = () =>
  new Fault(
    "too_large",
    `The results of this batch are too large (limit ${BATCH_BYTES} bytes). Send this request by itself.`,
  );
