import { namespaceOf } from "../env.ts";
import { Fault } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Share } from "../model.ts";

/** https://developers.cloudflare.com/workers/runtime-apis/bindings/rate-limit/ */
interface RateLimit {
  limit(options: { key: string }): Promise<{ success: boolean }>;
}

/** Counts the calls of one caller, in an object; gives how long to wait where there were too many, in ms. */
interface Quota extends Rpc.DurableObjectBranded {
  take(what: string, perMinute: number): Promise<number>;
}

/** Counts attempts of any kind in a Durable Object. */
export interface Attempts extends Rpc.DurableObjectBranded {
  take(most: number, ms: number): Promise<number>;
}

const DAY = 86_400_000;

/** Limits the calls, concurrent requests and stored objects of each caller. */
export class Gatekeeper {
  readonly #rateLimit: RateLimit | undefined;
  readonly #quotas: DurableObjectNamespace<Quota> | undefined;
  readonly #attempts: DurableObjectNamespace<Attempts> | undefined;
  readonly #inside = new Map<string, number>();

  /** `env` may bind RATE_LIMIT, the platform's own; otherwise QUOTAS counts. Throws where neither can. */
  constructor(env: object) {
    const bound = Object.entries(env).find(([name]) => name === "RATE_LIMIT")?.[1] as unknown;
    this.#rateLimit = isRateLimit(bound) ? bound : undefined;
    this.#quotas = namespaceOf<Quota>(env, "QUOTAS");
    this.#attempts = namespaceOf<Attempts>(env, "ATTEMPTS");
    if (this.#quotas === undefined && limits.callsPerMinute + limits.toolCallsPerMinute > 0) {
      throw new Error("LIMITS bounds calls in a minute, which needs the Durable Object QUOTAS.");
    }
  }

  /** Serves a request; it counts as concurrent until its response has ended. Throws `too_many`. */
  async serve(
    caller: string | undefined,
    request: Request,
    work: (share: Share) => Promise<Response>,
  ): Promise<Response> {
    if (caller === undefined) return work(BOUNDLESS);
    const inside = this.#inside.get(caller) ?? 0;
    if (inside >= limits.concurrentCalls) {
      throw tooMany(1000, `concurrent requests (limit ${limits.concurrentCalls})`);
    }
    this.#inside.set(caller, inside + 1);
    let isInside = true;
    const leave = () => {
      if (isInside) this.#leave(caller);
      isInside = false;
    };
    try {
      const response = await work({
        admit: this.#counts ? (tool) => this.#count(caller, tool) : undefined,
        keep: () => this.#keep(caller),
      });
      if (isStream(response)) {
        // A client that is gone does not always cancel what it was reading, and may have gone before.
        if (request.signal.aborted) leave();
        else request.signal.addEventListener("abort", leave);
        return untilEnd(response, leave);
      }
      leave();
      return response;
    } catch (error) {
      leave();
      throw error;
    }
  }

  get #counts(): boolean {
    const { callsPerMinute, toolCallsPerMinute } = limits;
    return this.#rateLimit !== undefined || callsPerMinute + toolCallsPerMinute > 0;
  }

  async #count(caller: string, tool = ""): Promise<void> {
    if (this.#rateLimit !== undefined && tool === "") {
      const { success } = await this.#rateLimit.limit({ key: caller });
      if (success) return;
      throw tooMany(60_000, "calls per minute");
    }
    const perMinute = tool === "" ? limits.callsPerMinute : limits.toolCallsPerMinute;
    if (perMinute === 0) return;
    const waitMs = await this.#quotas?.getByName(caller).take(tool, perMinute);
    if (waitMs)
      throw tooMany(waitMs, `calls${tool && ` of ${tool}`} per minute (limit ${perMinute})`);
  }

  async #keep(caller: string): Promise<void> {
    const waitMs = await this.#attempts?.getByName(`kept ${caller}`).take(limits.keptPerDay, DAY);
    if (waitMs)
      throw tooMany(
        waitMs,
        `stored sessions, tasks, states and calls per day (limit ${limits.keptPerDay})`,
      );
  }

  #leave(caller: string): void {
    const inside = this.#inside.get(caller) ?? 1;
    if (inside > 1) this.#inside.set(caller, inside - 1);
    else this.#inside.delete(caller);
  }
}

const BOUNDLESS: Share = { keep: async () => {} };

/** All other responses have a complete body. */
const isStream = ({ headers, body }: Response): boolean =>
  body !== null && headers.get("content-type") === "text/event-stream";

/** The response; calls `ended` when its body was read or cancelled. */
function untilEnd(response: Response, ended: () => void): Response {
  const reader = response.body!.getReader();
  const source: UnderlyingSource<Uint8Array> = {
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      ended();
    },
    cancel(reason) {
      ended();
      return reader.cancel(reason);
    },
  };
  // No read-ahead, so that backpressure reaches the source of the stream.
  return new Response(new ReadableStream(source, { highWaterMark: 0 }), response);
}

const isRateLimit = (bound: unknown): bound is RateLimit =>
  typeof bound === "object" && bound !== null && "limit" in bound;

function tooMany(waitMs: number, what: string): Fault {
  const retryAfter = Math.ceil(waitMs / 1000);
  const seconds = retryAfter === 1 ? "1 second" : `${retryAfter} seconds`;
  const message = `Too many ${what}. Retry in ${seconds}.`;
  return new Fault("too_many", message, { data: { retryAfter } });
}
