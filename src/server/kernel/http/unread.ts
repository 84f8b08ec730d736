/**
 * Bytes of responses and event streams that clients have not read yet, in this isolate: by caller or /48, and in total.
 */
import { countedBy } from "../core/callers.ts";
import { Fault } from "../core/errors.ts";
import { limits } from "./limits.ts";

/** A byte count in total and by owner. Each ledger has room for `limits.unreadBytes`. */
class Ledger {
  readonly owned = new Map<string, number>();
  all = 0;
}

interface Tally {
  ledger: Ledger;
  owner: string;
  bytes: number;
}

const unread = new Ledger();
/** Bytes of messages that must be stored before they are written to a stream. */
export const unstored = new Ledger();
/** Bytes of the large buffers into which streams are read. */
export const buffered = new Ledger();

/** The key under which a caller's bytes are counted; callers of unknown address share one. */
export const countedUnder = (caller: string | undefined): string =>
  caller === undefined ? "" : countedBy(caller).at(-1)!.key;

/** The unread bytes of an owner; without an owner, of all. */
export const unreadOf = (owner?: string, { all, owned } = unread): number =>
  owner === undefined ? all : (owned.get(owner) ?? 0);

/**
 * True for an owner whose unread bytes, plus `more`, exceed half of what others leave of `limits.unreadBytes`; a small
 * response is always allowed.
 */
export function leavesTooMuch(owner: string, more = 0, ledger = unread): boolean {
  const own = unreadOf(owner, ledger);
  const room = (limits.unreadBytes - (ledger.all - own)) / 2;
  return own + more > Math.max(limits.smallAnswer, room);
}

function set(tally: Tally, bytes: number): void {
  const more = bytes - tally.bytes;
  tally.bytes = bytes;
  const { owner, ledger } = tally;
  ledger.all += more;
  const own = unreadOf(owner, ledger) + more;
  if (own > 0) ledger.owned.set(owner, own);
  else ledger.owned.delete(owner);
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
