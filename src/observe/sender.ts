import { limits } from "../core/limits.ts";
import type { TraceSettings } from "./trace-settings.ts";
import { VERSION } from "../core/version.ts";
import { attribute, type OtlpSpan } from "./otlp.ts";

/** Statuses after which the same request may be retried: https://opentelemetry.io/docs/specs/otlp/#failures-1 */
const RETRYABLE = new Set([429, 502, 503, 504]);

/** Queues spans and sends them to a collector by OTLP over HTTP, in JSON. */
export class Sender {
  readonly #settings: TraceSettings;
  readonly #queue: OtlpSpan[] = [];
  #dropped = 0;
  /** Unix times in ms. */
  #warned = 0;
  #notBefore = 0;
  #failures = 0;

  constructor(settings: TraceSettings) {
    this.#settings = settings;
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0;
  }

  /** Queues spans; drops the oldest if there is no room. `dropped` is the number of spans that were dropped earlier. */
  add(spans: readonly OtlpSpan[], dropped = 0): void {
    this.#queue.push(...spans);
    const over = Math.max(0, this.#queue.length - limits.queuedSpans);
    this.#queue.splice(0, over);
    this.#dropped += over + dropped;
  }

  /** Sends one batch. Returns true if more can be sent at once. Never throws: a batch that failed is kept for a later call. */
  async send(endpoint: string): Promise<boolean> {
    if (this.#dropped > 0) {
      this.#warn(`${this.#dropped} spans were dropped: there was no room for them.`);
      this.#dropped = 0;
    }
    if (this.isEmpty || Date.now() < this.#notBefore) return false;
    const batch = this.#queue.splice(0, limits.sentSpans);
    const isTaken = await this.#post(endpoint, batch);
    if (!isTaken) this.#queue.unshift(...batch);
    return isTaken && !this.isEmpty;
  }

  /** Returns false if these spans must be sent again. */
  async #post(endpoint: string, spans: readonly OtlpSpan[]): Promise<boolean> {
    const { headers, resource } = this.#settings;
    try {
      const response = await fetch(endpoint, {
        method: "POST",
        headers: [...headers, ["content-type", "application/json"]],
        body: JSON.stringify(exportOf(resource, spans)),
        redirect: "manual",
        signal: AbortSignal.timeout(limits.exportMs),
      });
      await response.body?.cancel();
      if (response.ok) this.#failures = 0;
      else {
        this.#warn(`The collector of traces answered with status ${response.status}.`);
        if (RETRYABLE.has(response.status))
          return this.#retryLater(response.headers.get("retry-after"));
      }
      return true;
    } catch (error) {
      // Only the error's name: its message may have the URL, which may contain a key.
      this.#warn(
        `The collector of traces cannot be reached (${error instanceof Error ? error.name : "unknown"}). See OTEL_EXPORTER_OTLP_ENDPOINT.`,
      );
      return this.#retryLater(null);
    }
  }

  #retryLater(retryAfter: string | null): false {
    this.#failures = Math.min(this.#failures + 1, 6);
    const seconds = Math.max(Number(retryAfter) || 0, 2 ** this.#failures / 2);
    this.#notBefore = Date.now() + Math.min(seconds, 60) * 1000;
    return false;
  }

  /** Warns at most once a minute: a collector that is down must not fill the log. */
  #warn(message: string): void {
    if (Date.now() < this.#warned + 60_000) return;
    this.#warned = Date.now();
    console.warn(message);
  }
}

const exportOf = (resource: TraceSettings["resource"], spans: readonly OtlpSpan[]) => ({
  resourceSpans: [
    {
      resource: {
        attributes: [...new Map([...DEFAULT_RESOURCE, ...resource])].map(([key, value]) =>
          attribute(key, value),
        ),
      },
      scopeSpans: [{ scope: { name: "edge-servlets", version: VERSION }, spans }],
    },
  ],
});

/** Attributes of a server for which the variables name no others. */
const DEFAULT_RESOURCE: [string, string][] = [
  ["service.name", "edge-servlets"],
  ["service.version", VERSION],
];
