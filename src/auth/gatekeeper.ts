import { namespaceOf } from "../env.ts";
import { Fault } from "../errors.ts";
import { limits } from "../limits.ts";

/** https://developers.cloudflare.com/workers/runtime-apis/bindings/rate-limit/ */
interface RateLimit {
  limit(options: { key: string }): Promise<{ success: boolean }>;
}

/** Counts the calls of one caller, in an object; gives how long to wait where there were too many, in ms. */
interface Quota extends Rpc.DurableObjectBranded {
  take(counts: { what: string; perMinute: number }[]): Promise<number>;
}

/** Lets each caller have so many calls at once, and in a minute, and no more. */
export class Gatekeeper {
  readonly #rateLimit: RateLimit | undefined;
  readonly #quotas: DurableObjectNamespace<Quota> | undefined;
  readonly #inside = new Map<string, number>();

  /** `env` may bind RATE_LIMIT, the platform's own; otherwise QUOTAS counts. */
  constructor(env: object) {
    const bound = Object.entries(env).find(([name]) => name === "RATE_LIMIT")?.[1] as unknown;
    this.#rateLimit = isRateLimit(bound) ? bound : undefined;
    this.#quotas = namespaceOf<Quota>(env, "QUOTAS");
  }

  /**
   * Serves one of the caller's requests. Its place is free again when the response has been made, or,
   * where that is a stream, has ended. Throws `too_many`.
   */
  async serve(caller: string, work: () => Promise<Response>): Promise<Response> {
    const inside = this.#inside.get(caller) ?? 0;
    if (inside >= limits.concurrentCalls) {
      throw tooMany(1000, `${limits.concurrentCalls} requests at once`);
    }
    this.#inside.set(caller, inside + 1);
    let isStream = false;
    try {
      const response = await work();
      isStream = response.headers.get("content-type") === "text/event-stream";
      return isStream ? ending(response, () => this.#leave(caller)) : response;
    } finally {
      if (!isStream) this.#leave(caller);
    }
  }

  /** Is there anything to count for? */
  get counts(): boolean {
    const { callsPerMinute, toolCallsPerMinute } = limits;
    return this.#rateLimit !== undefined || callsPerMinute + toolCallsPerMinute > 0;
  }

  /** Counts a call, which may be of a tool. Throws `too_many`. */
  async count(caller: string, tool: string | undefined): Promise<void> {
    if (this.#rateLimit !== undefined) {
      const { success } = await this.#rateLimit.limit({ key: caller });
      if (!success) throw tooMany(60_000, "calls in a minute");
    }
    const counts = [
      { what: "", perMinute: this.#rateLimit === undefined ? limits.callsPerMinute : 0 },
      { what: tool ?? "", perMinute: tool === undefined ? 0 : limits.toolCallsPerMinute },
    ].filter(({ perMinute }) => perMinute > 0);
    if (counts.length === 0 || this.#quotas === undefined) return;
    const waitMs = await this.#quotas.getByName(caller).take(counts);
    if (waitMs > 0) throw tooMany(waitMs, "calls in a minute");
  }

  #leave(caller: string): void {
    const inside = this.#inside.get(caller) ?? 1;
    if (inside > 1) this.#inside.set(caller, inside - 1);
    else this.#inside.delete(caller);
  }
}

const isRateLimit = (bound: unknown): bound is RateLimit =>
  typeof bound === "object" && bound !== null && "limit" in bound;

function tooMany(waitMs: number, what: string): Fault {
  const retryAfter = Math.ceil(waitMs / 1000);
  const message = `That is more than the ${what} that you may have: wait for ${retryAfter} s.`;
  return new Fault("too_many", message, { data: { retryAfter } });
}

/** The same response, which says when it has ended. */
function ending(response: Response, onEnd: () => void): Response {
  const { readable, writable } = new IdentityTransformStream();
  const piping = response.body?.pipeTo(writable) ?? Promise.resolve();
  piping.catch(() => {}).finally(onEnd); // Its client may leave at any time.
  return new Response(readable, response);
}
