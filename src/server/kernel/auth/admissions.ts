/** Requests in flight: how many each caller has, how many bytes their bodies hold, and when both are released. */
import { countedBy, usageKey, type QuotaKey } from "../core/callers.ts";
import { Fault } from "../core/errors.ts";
import { Ledger } from "../core/ledger.ts";
import { limits } from "./limits.ts";
import type { CallerQuota } from "../core/model.ts";
import { heldResponses, type BodyCounter } from "../http/body.ts";
import { untilEnd, untilRead } from "../http/reading.ts";
import { buffered, dropped, leavesTooMuch, Unread, unreadOf } from "../http/unread.ts";
import { tooMany } from "./quotas.ts";

/**
 * The share of a caller's concurrent requests, and of `limits.bodiesBytes`, that unwatched requests may hold: see
 * `Admission`.
 */
const PLACES_UNWATCHED = 1 / 2;
const BYTES_UNWATCHED = 1 / 16;

const NOBODY: readonly QuotaKey[] = [];

/** Limits the concurrent requests of each caller, and the bytes of their bodies. */
export class Admissions {
  /** Requests by caller, and by /48. */
  readonly #places = new Ledger();
  /** Bytes of bodies by caller or /48. */
  readonly #bytes = new Ledger();
  /** Admissions that do not listen for their client's departure, the oldest first. */
  readonly #unwatched = new Set<Admission>();

  /**
   * Admits a request; the request and the bytes read of its body count until its response has ended. Callers without a
   * key share one count of bytes, and are not limited in number. Throws `too_many`.
   */
  enter(caller: string | undefined, request: Request, quota: CallerQuota): Admission {
    const now = Date.now();
    this.#forgetOld(now);
    const { concurrentCalls } = limits;
    const counted = caller === undefined ? NOBODY : countedBy(caller);
    let isBusy = false;
    for (const { key, shares } of counted) {
      const places = this.#places.amountOf(key) + 1;
      const most = concurrentCalls * shares;
      if (places > most) throw tooMany(1000, `concurrent requests (limit ${concurrentCalls})`);
      isBusy ||= places > most * PLACES_UNWATCHED;
    }
    const owner = usageKey(caller);
    if (leavesTooMuch(owner))
      throw tooMany(1000, `bytes of answers that were not read yet (${unreadOf(owner)})`);
    for (const { key } of counted) this.#places.add(key, 1);
    const admission = new Admission(this, request, { owner, counted, quota, began: now });
    if (isBusy) admission.leaving();
    else this.#unwatched.add(admission);
    return admission;
  }

  /**
   * Releases old admissions that are still unwatched: their clients have left, because a request that lasts for longer
   * than a body may take is watched.
   */
  #forgetOld(now: number): void {
    for (const admission of this.#unwatched) {
      // A later time is from before the clock was set back.
      if (admission.began <= now && now - admission.began <= limits.bodyMs) return;
      admission.release();
    }
  }

  /** Called by an admission when it starts to listen for its client's departure. */
  markWatched(admission: Admission): void {
    this.#unwatched.delete(admission);
  }

  /** Releases the places of an admission. */
  leave(admission: Admission, counted: readonly QuotaKey[]): void {
    this.#unwatched.delete(admission);
    for (const { key } of counted) this.#places.add(key, -1);
  }

  /**
   * Counts more bytes of a body of which `held` are already counted; true if bodies hold so much that this request must
   * be watched. The only body in flight always has room. Throws `too_many`, or `unavailable` if its caller has no other
   * body.
   */
  hold(owner: string, bytes: number, held: number): boolean {
    const own = this.#bytes.amountOf(owner);
    const most = this.#bytes.fairShare(owner, limits.bodiesBytes);
    if (own + bytes > most && this.#bytes.total > held) {
      if (own > held) throw tooMany(1000, `bytes in concurrent requests (limit ${most} now)`);
      throw new Fault(
        "unavailable",
        `The server has no room for a body of ${bytes} bytes now (limit ${most}). Retry in 1 second.`,
        { data: { retryAfter: 1 } },
      );
    }
    this.#bytes.add(owner, bytes);
    return this.#bytes.total > limits.bodiesBytes * BYTES_UNWATCHED;
  }

  /** Releases the counted bytes of a body. */
  release(owner: string, held: number): void {
    this.#bytes.add(owner, -held);
  }
}

interface AdmissionDetails {
  /** Key under which the request's bytes are counted. */
  owner: string;
  /** Keys under which the request's place is counted. */
  counted: readonly QuotaKey[];
  quota: CallerQuota;
  /** When the request arrived, in Unix ms. */
  began: number;
}

/**
 * An admitted request. When its client disconnects, workerd stops the request: no `finally` runs, and its stream is not
 * always cancelled, so only a listener for the abort of its signal notices. A listener costs a small call a few percent
 * of its CPU time, and only the request itself may add it: the platform does not let one request use the signal of
 * another. So the request is unwatched at first. It adds the listener when it waits for more than a short body, when
 * its caller uses more than half of its places, or when bodies hold much of their room.
 */
export class Admission implements BodyCounter {
  readonly began: number;
  readonly #admissions: Admissions;
  readonly #request: Request;
  readonly #details: AdmissionDetails;
  #isCounted = true;
  #isWatched = false;
  /** Bytes of its body that are counted. */
  #held = 0;
  #unread: Unread | undefined;

  constructor(admissions: Admissions, request: Request, details: AdmissionDetails) {
    this.#admissions = admissions;
    this.#request = request;
    this.#details = details;
    this.began = details.began;
  }

  get quota(): CallerQuota {
    return this.#details.quota;
  }

  /** Aborts when the client disconnects. Must be called before the request waits for anything but a short body. */
  leaving(): AbortSignal {
    const { signal } = this.#request;
    if (this.#isWatched) return signal;
    this.#isWatched = true;
    this.#admissions.markWatched(this);
    if (signal.aborted) this.#end();
    else signal.addEventListener("abort", () => this.#end());
    return signal;
  }

  /** Counts bytes of its body. Throws `too_many`, or `unavailable` if the server is full. */
  countBody(bytes: number): void {
    if (!this.#isCounted) return;
    const isMuch = this.#admissions.hold(this.#details.owner, bytes, this.#held);
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
    const { owner } = this.#details;
    const isOver = this.leaving().aborted;
    const end = () => this.#end();
    const held = heldResponses.get(response)!;
    if (held === "stream") {
      this.#unread = new Unread(owner, buffered);
      return untilEnd(response, this.#unread, end);
    }
    // Many requests may have been admitted before the first of them had a response.
    if (leavesTooMuch(owner)) {
      end();
      throw dropped(owner);
    }
    if (!isOver) {
      this.#releaseBody();
      this.#unread = new Unread(owner);
      this.#unread.bytes = held.length;
    }
    return untilRead(response, held, end);
  }

  /** Releases the request's place and the bytes of its body. */
  release(): void {
    if (!this.#isCounted) return;
    this.#isCounted = false;
    this.#admissions.leave(this, this.#details.counted);
    this.#releaseBody();
  }

  #end(): void {
    this.release();
    if (this.#unread !== undefined) this.#unread.bytes = 0;
  }

  #releaseBody(): void {
    if (this.#held > 0) this.#admissions.release(this.#details.owner, this.#held);
    this.#held = 0;
  }
}
