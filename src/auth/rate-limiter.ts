import { bodyCounts, largeAnswers } from "../http/body.ts";
import { isHeld, isStream, untilEnd, untilRead } from "../http/reading.ts";
import { countedBy, networkSiteOf } from "../core/callers.ts";
import type { Env } from "../bindings.ts";
import { limits } from "../core/limits.ts";
import type { CallerQuota } from "../core/model.ts";
import { type storageQuota, tooMany } from "./quotas.ts";
import { Fault } from "../core/errors.ts";
import {
  buffered,
  countedUnder,
  dropped,
  leavesTooMuch,
  Unread,
  unreadOf,
} from "../http/unread.ts";

/** A request that was let in. */
interface Visit {
  quota: CallerQuota;
  /** Passes on the response, and ends the visit when the response has ended. */
  until: (work: Promise<Response>) => Promise<Response>;
}

/** Limits the calls, concurrent requests, their bytes and stored objects of each caller. */
export class RateLimiter {
  readonly #rateLimit: Env["RATE_LIMIT"];
  readonly #quotas: Env["QUOTAS"];
  readonly #countStored: ReturnType<typeof storageQuota>;
  readonly #inside = new Map<string, number>();
  /** Bytes of the bodies of requests in flight: by caller or /48, and of all. */
  readonly #bytes = new Map<string, number>();
  #allBytes = 0;

  /** RATE_LIMIT is the platform's own; otherwise QUOTAS counts. Throws if a limit is set and neither is bound. */
  constructor({ RATE_LIMIT, QUOTAS }: Env, countStored: ReturnType<typeof storageQuota>) {
    this.#rateLimit = RATE_LIMIT;
    this.#quotas = QUOTAS;
    this.#countStored = countStored;
    if (this.#quotas === undefined && limits.callsPerMinute + limits.toolCallsPerMinute > 0) {
      throw new Error(
        "LIMITS sets callsPerMinute or toolCallsPerMinute, which need the binding QUOTAS. Add the Durable Object QUOTAS to wrangler.toml.",
      );
    }
  }

  /**
   * Lets a request in; it, and what is read of its body, counts until its response has ended. Throws `too_many`.
   * Callers without a key are counted by bytes only, all together.
   */
  enter(caller: string | undefined, request: Request): Visit {
    const { signal, method } = request;
    const { concurrentCalls } = limits;
    const counted = caller === undefined ? [] : countedBy(caller);
    if (counted.some(({ key, shares }) => this.#requestsOf(key) >= concurrentCalls * shares))
      throw tooMany(1000, `concurrent requests (limit ${concurrentCalls})`);
    const owner = countedUnder(caller);
    if (leavesTooMuch(owner))
      throw tooMany(1000, `bytes of answers that were not read yet (${unreadOf(owner)})`);
    for (const { key } of counted) this.#inside.set(key, this.#requestsOf(key) + 1);
    let isInside = true;
    let held = 0;
    let unread: Unread | undefined;
    bodyCounts.set(request, (bytes) => {
      if (!isInside) return;
      this.#hold(owner, bytes, held);
      held += bytes;
    });
    const forgetBody = () => {
      lower(this.#bytes, owner, held);
      this.#allBytes -= held;
      held = 0;
    };
    const leave = () => {
      if (!isInside) return;
      isInside = false;
      for (const { key } of counted) lower(this.#inside, key, 1);
      forgetBody();
      if (unread !== undefined) unread.bytes = 0;
    };
    const countAnswer = (bytes: number) => {
      if (!isInside) return;
      forgetBody();
      unread = new Unread(owner);
      unread.bytes = bytes;
    };
    // Where a client disconnects, workerd stops its request: no `finally` runs, and its stream is not always cancelled.
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave);
    return {
      quota: {
        admit:
          caller !== undefined && this.#counts ? (tool) => this.#count(caller, tool) : undefined,
        countStored: (bytes) => this.#countStored(caller, bytes),
      },
      async until(work) {
        let response: Response | undefined;
        try {
          response = await work;
        } finally {
          if (response === undefined || !isHeld(response)) leave();
        }
        if (!isHeld(response)) return response;
        // Nobody reads the body.
        if (method === "HEAD") {
          leave();
          await response.body?.cancel();
          return new Response(null, response);
        }
        if (isStream(response)) {
          unread = new Unread(owner, buffered);
          return untilEnd(response, unread, leave);
        }
        const bytes = largeAnswers.get(response)!;
        // Many requests may have been let in before the first of them had an answer.
        if (leavesTooMuch(owner)) {
          leave();
          throw dropped(owner);
        }
        countAnswer(bytes.length);
        return untilRead(response, bytes, leave);
      },
    };
  }

  get #counts(): boolean {
    const { callsPerMinute, toolCallsPerMinute } = limits;
    return this.#rateLimit !== undefined || callsPerMinute + toolCallsPerMinute > 0;
  }

  async #count(caller: string, tool = ""): Promise<void> {
    if (this.#rateLimit !== undefined && tool === "") {
      const { success } = await this.#rateLimit.limit({ key: networkSiteOf(caller) ?? caller });
      if (success) return;
      throw tooMany(60_000, "calls per minute");
    }
    const perMinute = tool === "" ? limits.callsPerMinute : limits.toolCallsPerMinute;
    if (perMinute === 0) return;
    for (const { key, shares } of countedBy(caller)) {
      const waitMs = await this.#quotas?.getByName(key).take(tool, perMinute * shares);
      if (waitMs)
        throw tooMany(waitMs, `calls${tool && ` of ${tool}`} per minute (limit ${perMinute})`);
    }
  }

  #requestsOf(key: string): number {
    return this.#inside.get(key) ?? 0;
  }

  /**
   * Counts more bytes of a body of which `held` are counted. Throws `too_many`, or `unavailable` where its caller has no
   * other. A body that is alone always has room.
   */
  #hold(owner: string, bytes: number, held: number): void {
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
  }
}

/** Lowers a number, and forgets it at zero. */
function lower(numbers: Map<string, number>, key: string, by: number): void {
  const left = (numbers.get(key) ?? 0) - by;
  if (left > 0) numbers.set(key, left);
  else numbers.delete(key);
}
