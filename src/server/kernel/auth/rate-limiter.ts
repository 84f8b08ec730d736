import { bodyCounters } from "../http/body.ts";
import { callerKey, countedBy, usageKey } from "../core/callers.ts";
import { limits } from "./limits.ts";
import { type storageQuota, tooMany } from "./quotas.ts";
import { anonymousAt } from "./principal.ts";
import { Admissions, type Admission } from "./admissions.ts";
import type { QuotaEnv } from "./quota.ts";

interface RateLimiterEnv extends QuotaEnv {
  RATE_LIMIT?: RateLimit;
}

/** Limits the calls, concurrent requests, their bytes and stored objects of each caller. */
export class RateLimiter {
  readonly #rateLimit: RateLimit | undefined;
  readonly #quotas: QuotaEnv["QUOTAS"];
  readonly #countStored: ReturnType<typeof storageQuota>;
  readonly #admissions = new Admissions();

  /** RATE_LIMIT is the platform's limiter; without it QUOTAS counts. Throws if a limit is set and neither is bound. */
  constructor(
    { RATE_LIMIT, QUOTAS }: RateLimiterEnv,
    countStored: ReturnType<typeof storageQuota>,
  ) {
    this.#rateLimit = RATE_LIMIT;
    this.#quotas = QUOTAS;
    this.#countStored = countStored;
    if (this.#quotas === undefined && limits.callsPerMinute + limits.toolCallsPerMinute > 0) {
      throw new Error(
        "LIMITS sets callsPerMinute or toolCallsPerMinute, which need the binding QUOTAS. Add the Durable Object QUOTAS to wrangler.toml.",
      );
    }
  }

  /** Admits a request; `bodyText` counts the bytes that it reads. Throws as `Admissions.enter`. */
  enter(caller: string | undefined, request: Request): Admission {
    const admission = this.enterUnwatched(caller, request);
    bodyCounters.set(request, admission);
    admission.leaving();
    return admission;
  }

  /** Admits a request whose caller need not be known: it is counted by its network. */
  enterUnknown(request: Request): Admission {
    return this.enter(callerKey(anonymousAt(request)), request);
  }

  /**
   * As `enter`, but cheaper: the caller must read the body with the admission as its counter, and call `leaving` before
   * it waits.
   */
  enterUnwatched(caller: string | undefined, request: Request): Admission {
    return this.#admissions.enter(caller, request, {
      admit: caller !== undefined && this.#counts ? (tool) => this.#count(caller, tool) : undefined,
      countStored: (bytes) => this.#countStored(caller, bytes),
    });
  }

  /** Counts a call that no request makes. Throws `too_many`. */
  async count(caller: string): Promise<void> {
    if (this.#counts) await this.#count(caller);
  }

  get #counts(): boolean {
    const { callsPerMinute, toolCallsPerMinute } = limits;
    return this.#rateLimit !== undefined || callsPerMinute + toolCallsPerMinute > 0;
  }

  async #count(caller: string, tool = ""): Promise<void> {
    if (this.#rateLimit !== undefined && tool === "") {
      const { success } = await this.#rateLimit.limit({ key: usageKey(caller) });
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
}
