/** Bytes of answers and event streams that clients have not read yet, in this isolate: by caller or /48, and of all. */
import { countedBy } from "../core/callers.ts";
import { limits } from "../core/limits.ts";

interface Tally {
  owner: string;
  bytes: number;
}

const owned = new Map<string, number>();
let all = 0;

/** Under which a caller's bytes are counted; callers of unknown address all together. */
export const countedUnder = (caller: string | undefined): string =>
  caller === undefined ? "" : countedBy(caller).at(-1)!.key;

/** The unread bytes that are counted for an owner; without one, those of all. */
export const unreadOf = (owner?: string): number =>
  owner === undefined ? all : (owned.get(owner) ?? 0);

/** True for an owner of more unread bytes, with so many more, than half of what others leave of `limits.unreadBytes`. */
export function leavesTooMuch(owner: string, more = 0): boolean {
  const own = unreadOf(owner);
  return own + more > Math.max(0, limits.unreadBytes - (all - own)) / 2;
}

function set(tally: Tally, bytes: number): void {
  const more = bytes - tally.bytes;
  tally.bytes = bytes;
  all += more;
  const own = unreadOf(tally.owner) + more;
  if (own > 0) owned.set(tally.owner, own);
  else owned.delete(tally.owner);
}

/** Where an object dies, nobody says that its streams have ended. */
const forgotten = new FinalizationRegistry((tally: Tally) => set(tally, 0));

/** The unread bytes of one answer or stream, or of what waits to be written to some. */
export class Unread {
  readonly #tally: Tally;

  constructor(owner: string) {
    this.#tally = { owner, bytes: 0 };
    forgotten.register(this, this.#tally);
  }

  get bytes(): number {
    return this.#tally.bytes;
  }

  set bytes(bytes: number) {
    set(this.#tally, bytes);
  }

  /** As the function of this name. */
  leavesTooMuch(more?: number): boolean {
    return leavesTooMuch(this.#tally.owner, more);
  }
}
