/**
 * Bytes of responses and event streams that clients have not read yet, in this isolate: by caller or /48, and in total.
 */
import { Fault } from "../core/errors.ts";
import { Ledger } from "../core/ledger.ts";
import { limits } from "./limits.ts";

interface Tally {
  ledger: Ledger;
  owner: string;
  bytes: number;
}

/** Unread bytes. Each ledger here has a capacity of `limits.unreadBytes`. */
const unread = new Ledger();
/** Bytes of messages that must be stored before they are written to a stream. */
export const unstored = new Ledger();
/** Bytes of the large buffers into which streams are read. */
export const buffered = new Ledger();

/** The unread bytes of an owner; without an owner, of all. */
export const unreadOf = (owner?: string, ledger = unread): number =>
  owner === undefined ? ledger.total : ledger.amountOf(owner);

/**
 * True for an owner whose unread bytes, plus `more`, exceed half of what others leave of `limits.unreadBytes`; a small
 * response is always allowed.
 */
export function leavesTooMuch(owner: string, more = 0, ledger = unread): boolean {
  const room = ledger.fairShare(owner, limits.unreadBytes);
  return ledger.amountOf(owner) + more > Math.max(limits.smallAnswer, room);
}

function set(tally: Tally, bytes: number): void {
  tally.ledger.add(tally.owner, bytes - tally.bytes);
  tally.bytes = bytes;
}

/** When an object dies, nothing reports that its streams have ended. */
const forgotten = new FinalizationRegistry((tally: Tally) => set(tally, 0));

/** The unread bytes of one response or stream, or bytes that wait to be written to it. */
export class Unread {
  readonly #tally: Tally;

  constructor(owner: string, ledger = unread) {
    this.#tally = { ledger, owner, bytes: 0 };
    forgotten.register(this, this.#tally);
  }

  get bytes(): number {
    return this.#tally.bytes;
  }

  set bytes(bytes: number) {
    set(this.#tally, bytes);
  }

  /** As the function of the same name. */
  leavesTooMuch(more?: number): boolean {
    return leavesTooMuch(this.#tally.owner, more, this.#tally.ledger);
  }
}

/** The fault of a response for which its caller leaves no room. */
export const dropped = (owner: string): Fault =>
  new Fault(
    "too_many",
    `The answer was dropped, since ${unreadOf(owner)} bytes of others were not read yet. The request was carried out. Read what you have asked for before you ask for more.`,
  );
