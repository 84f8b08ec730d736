/**
 * A streaming tail worker for workerd: it receives the events of the server's Worker, sends them to a collector as
 * spans, and forwards the server's metrics. Only self-hosted servers need it, because Cloudflare exports traces itself.
 * It is a separate Worker.
 */
import { limits } from "./limits.ts";
import type { TraceParent } from "./trace-context.ts";
import { metricSettings, traceSettings, type TraceSettings } from "./otel-settings.ts";
import { CollectedTrace } from "./collected.ts";
import { exportedOf, type OtlpSpan } from "./otlp.ts";
import { resourceAttributes, SCOPE } from "./otlp-values.ts";

/** Traces that may still get spans. */
const KNOWN_TRACES = 1000;
/** How often spans are sent. */
const EXPORT_EVERY_MS = 1000;
/** How long a trace is held until its request ends and names the caller's trace that it belongs to. */
const HELD_TRACE_MS = 600_000;

/** Collects the spans of each request, and sends them when they are complete. */
class Exporter {
  readonly #settings;
  readonly #sender: Sender;
  readonly #traces = new Map<string, CollectedTrace>();
  /** Callers' traces that were partly sent, by the platform's trace ids: more spans may come later. */
  readonly #known = new Map<string, TraceParent>();
  /** Unix time in ms at which it last collected spans. */
  #looked = 0;

  constructor(env: object) {
    this.#settings = traceSettings(env);
    this.#sender = new Sender(this.#settings);
  }

  /**
   * Returns the handler for the events of one invocation. It never throws, because the platform would then send no more
   * events.
   */
  listen(onset: TailStream.TailEvent<TailStream.Onset>) {
    const { traceId } = onset.spanContext;
    const take = (event: TailStream.TailEvent<TailStream.EventType>) => {
      try {
        // Only an onset opens a trace: other events may belong to spans that were already sent.
        const { type } = event.event;
        const begins = type === "onset" || type === "spanOpen";
        const trace = this.#traces.get(traceId) ?? (begins ? this.#begin(traceId) : undefined);
        trace?.take(event);
      } catch (error) {
        report(error);
      }
    };
    take(onset);
    return take;
  }

  #begin(id: string): CollectedTrace {
    const trace = new CollectedTrace(id, Date.now(), this.#known.get(id));
    this.#traces.set(id, trace);
    return trace;
  }

  /** Sends spans every `EXPORT_EVERY_MS` until none are left. Returns at once if another call is doing so. */
  async run(): Promise<void> {
    const { endpoint } = this.#settings;
    // Twice the longest time that one round of another run can take.
    const isRunning = Date.now() < this.#looked + 2 * (EXPORT_EVERY_MS + limits.exportMs);
    if (endpoint === undefined || isRunning) return;
    try {
      let hasMore = false;
      while (this.#traces.size > 0 || !this.#sender.isEmpty) {
        this.#looked = Date.now();
        if (!hasMore) await scheduler.wait(EXPORT_EVERY_MS);
        this.#collect(Date.now());
        hasMore = await this.#sender.send(endpoint);
      }
    } finally {
      this.#looked = 0;
    }
  }

  /** Passes finished spans to the sender, and forgets the traces that are over. */
  #collect(now: number): void {
    let held = 0;
    for (const trace of this.#traces.values()) {
      held += trace.spans.size;
      const isQuiet = trace.changed + EXPORT_EVERY_MS <= now;
      const isLate = trace.changed + HELD_TRACE_MS <= now || held > limits.queuedSpans;
      const isOver = (trace.isOver && isQuiet) || isLate;
      if (!isOver && !trace.hasNews) continue;
      if (isOver) this.#traces.delete(trace.id);
      try {
        this.#sender.add(exportedOf(trace, this.#settings, isOver), trace.dropped);
      } catch (error) {
        report(error);
      }
      if (isOver && trace.root !== undefined) this.#known.set(trace.id, trace.root);
      trace.dropped = 0;
      trace.hasNews = false;
    }
    const over = this.#known.size - KNOWN_TRACES;
    for (const id of [...this.#known.keys()].slice(0, Math.max(0, over))) this.#known.delete(id);
  }
}

const report = (error: unknown) => console.error(error instanceof Error ? error.stack : "");

let exporter: Exporter | undefined;

export default {
  tailStream(onset, env, context) {
    exporter ??= new Exporter(env as object);
    const take = exporter.listen(onset);
    context.waitUntil(exporter.run());
    return take;
  },
  /** Forwards metrics to the collector, with its keys, which the server's own Worker does not have. */
  async fetch(request, env) {
    const { endpoint, headers } = metricSettings(env as object);
    if (endpoint === undefined) return new Response(null, { status: 404 });
    return fetch(endpoint, {
      method: "POST",
      headers: [...headers, ["content-type", "application/json"]],
      body: await request.arrayBuffer(),
      redirect: "manual",
    });
  },
} satisfies ExportedHandler;

/** Spans in one export request. */
const SENT_SPANS = 512;

/** Statuses after which the same request may be retried: https://opentelemetry.io/docs/specs/otlp/#failures-1 */
const RETRYABLE = new Set([429, 502, 503, 504]);

/** Queues spans and sends them to a collector by OTLP over HTTP, in JSON. */
class Sender {
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

  /**
   * Sends one batch. Returns true if more can be sent at once. Never throws: a batch that failed is kept for a later
   * call.
   */
  async send(endpoint: string): Promise<boolean> {
    if (this.#dropped > 0) {
      this.#warn(`${this.#dropped} spans were dropped: there was no room for them.`);
      this.#dropped = 0;
    }
    if (this.isEmpty || Date.now() < this.#notBefore) return false;
    const batch = this.#queue.splice(0, SENT_SPANS);
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
        body: JSON.stringify({
          resourceSpans: [
            {
              resource: { attributes: resourceAttributes(resource) },
              scopeSpans: [{ scope: SCOPE, spans }],
            },
          ],
        }),
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
