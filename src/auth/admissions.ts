/** Requests in flight: how many each caller has, how much their bodies hold, and when that is given back. */
import { countedBy, type Counted } from "../core/callers.ts";
import { Fault } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import type { CallerQuota } from "../core/model.ts";
import { heldResponses, type BodyCounter } from "../http/body.ts";
import { untilEnd, untilRead } from "../http/reading.ts";
import {
  buffered,
  countedUnder,
  dropped,
  leavesTooMuch,
  Unread,
  unreadOf,
} from "../http/unread.ts";
import { tooMany } from "./quotas.ts";

/** The part of a caller's places, and of the room for bodies, that requests may hold without listening for departures. */
const PLACES_UNWATCHED = 1 / 2;
const BYTES_UNWATCHED = 1 / 16;

const NOBODY: readonly Counted[] = [];

/** Limits the concurrent requests of each caller, and the bytes of their bodies. */
export class Admissions {
  readonly #places = new Map<string, number>();
  /** Bytes of bodies: by caller or /48, and of all. */
  readonly #bytes = new Map<string, number>();
  #allBytes = 0;
  /** Admissions that do not listen for the departure of their clients, the oldest first. */
  readonly #unwatched = new Set<Admission>();

  /**
   * Lets a request in; it, and what is read of its body, counts until its response has ended. Throws `too_many`.
   * Callers without a key are counted by bytes only, all together.
   */
  enter(caller: string | undefined, request: Request, quota: CallerQuota): Admission {
    const now = Date.now();
    this.#forgetOld(now);
    const { concurrentCalls } = limits;
    const counted = caller === undefined ? NOBODY : countedBy(caller);
    let isBusy = false;
    for (const { key, shares } of counted) {
      const places = this.#placesOf(key) + 1;
      const most = concurrentCalls * shares;
      if (places > most) throw tooMany(1000, `concurrent requests (limit ${concurrentCalls})`);
      isBusy ||= places > most * PLACES_UNWATCHED;
    }
    const owner = countedUnder(caller);
    if (leavesTooMuch(owner))
      throw tooMany(1000, `bytes of answers that were not read yet (${unreadOf(owner)})`);
    for (const { key } of counted) this.#places.set(key, this.#placesOf(key) + 1);
    const admission = new Admission(this, request, { owner, counted, quota, began: now });
    if (isBusy) admission.leaving();
    else this.#unwatched.add(admission);
    return admission;
  }

  /**
   * Gives back what old admissions hold that do not listen: their clients have left. Requests that wait for longer than a
   * body may take do listen.
   */
  #forgetOld(now: number): void {
    for (const admission of this.#unwatched) {
      // A later time is from before the clock was set back.
      if (admission.began <= now && now - admission.began <= limits.bodyMs) return;
      admission.giveBack();
    }
  }

  #placesOf(key: string): number {
    return this.#places.get(key) ?? 0;
  }

  /** Called by an admission that listens from now on. */
  watched(admission: Admission): void {
    this.#unwatched.delete(admission);
  }

  /** Takes back the places of an admission. */
  leave(admission: Admission, counted: readonly Counted[]): void {
    this.#unwatched.delete(admission);
    for (const { key } of counted) lower(this.#places, key, 1);
  }

  /**
   * Counts more bytes of a body of which `held` are counted; true if so much is held that departures matter. Throws
   * `too_many`, or `unavailable` where its caller has no other. A body that is alone always has room.
   */
  hold(owner: string, bytes: number, held: number): boolean {
    const own = this.#bytes.get(owner) ?? 0;
    const most = Math.floor((limits.bodiesBytes - (this.#allBytes - own)) / 2);
    if (own + bytes > most && this.#allBytes > held) {
      if (own > held) throw tooMany(1000, `bytes in concurrent requests (limit ${most} now)`);
      throw new Fault(
        "unavailable",
        `The server has no room for a body of ${bytes} bytes now (limit ${most}). Retry in 1 second.`,
        { data: { retryAfter: 1 } },
      );
    }
    this.#bytes.set(owner, own + bytes);
    this.#allBytes += bytes;
    return this.#allBytes > limits.bodiesBytes * BYTES_UNWATCHED;
  }

  release(owner: string, held: number): void {
    lower(this.#bytes, owner, held);
    this.#allBytes -= held;
  }
}

interface Visitor {
  /** Under which its bytes are counted. */
  owner: string;
  /** Under which its place is counted. */
  counted: readonly Counted[];
  quota: CallerQuota;
  /** When it came, in Unix ms. */
  began: number;
}

/**
 * A request that was let in. Where its client leaves, workerd stops it: no `finally` runs, and its stream is not always
 * cancelled, so only a listener hears of that. A listener costs a small call some percent, and only the request itself may
 * add one: the platform refuses to let one request look at the signal of another. So it is added when the request waits for
 * more than a short body, or holds what others could miss: a place beyond half of its caller's, or much of the room.
 */
export class Admission implements BodyCounter {
  readonly began: number;
  readonly #admissions: Admissions;
  readonly #request: Request;
  readonly #visitor: Visitor;
  #isCounted = true;
  #isWatched = false;
  /** Bytes of its body that are counted. */
  #held = 0;
  #unread: Unread | undefined;

  constructor(admissions: Admissions, request: Request, visitor: Visitor) {
    this.#admissions = admissions;
    this.#request = request;
    this.#visitor = visitor;
    this.began = visitor.began;
  }

  get quota(): CallerQuota {
    return this.#visitor.quota;
  }

  /** Aborts when the client disconnects. To be called before the request waits for anything but a short body. */
  leaving(): AbortSignal {
    const { signal } = this.#request;
    if (this.#isWatched) return signal;
    this.#isWatched = true;
    this.#admissions.watched(this);
    if (signal.aborted) this.#end();
    else signal.addEventListener("abort", () => this.#end());
    return signal;
  }

  /** Counts bytes of its body. Throws `too_many`, or `unavailable` where the server is full. */
  countBody(bytes: number): void {
    if (!this.#isCounted) return;
    const isMuch = this.#admissions.hold(this.#visitor.owner, bytes, this.#held);
    this.#held += bytes;
    if (isMuch) this.leaving();
  }

  /** Passes on the response, and ends the admission when the response has ended. */
  async until(work: Promise<Response>): Promise<Response> {
    let response: Response;
    try {
      response = await work;
    } catch (error) {
      this.#end();
      throw error;
    }
    if (heldResponses.has(response)) return this.#untilRead(response);
    this.#end();
    return response;
  }

  async #untilRead(response: Response): Promise<Response> {
    // Nobody reads the body.
    if (this.#request.method === "HEAD") {
      this.#end();
      await response.body?.cancel();
      return new Response(null, response);
    }
    const { owner } = this.#visitor;
    const isOver = this.leaving().aborted;
    const end = () => this.#end();
    const held = heldResponses.get(response)!;
    if (held === "stream") {
      this.#unread = new Unread(owner, buffered);
      return untilEnd(response, this.#unread, end);
    }
    // Many requests may have been let in before the first of them had an answer.
    if (leavesTooMuch(owner)) {
      end();
      throw dropped(owner);
    }
    if (!isOver) {
      this.#forgetBody();
      this.#unread = new Unread(owner);
      this.#unread.bytes = held.length;
    }
    return untilRead(response, held, end);
  }

  /** Gives back its place and what its body holds. */
  giveBack(): void {
    if (!this.#isCounted) return;
    this.#isCounted = false;
    this.#admissions.leave(this, this.#visitor.counted);
    this.#forgetBody();
  }

  #end(): void {
    this.giveBack();
    if (this.#unread !== undefined) this.#unread.bytes = 0;
  }

  #forgetBody(): void {
    if (this.#held > 0) this.#admissions.release(this.#visitor.owner, this.#held);
    this.#held = 0;
  }
}

/** Lowers a number, and forgets it at zero. */
function lower(numbers: Map<string, number>, key: string, by: number): void {
  const left = (numbers.get(key) ?? 0) - by;
  if (left > 0) numbers.set(key, left);
  else numbers.delete(key);
}
