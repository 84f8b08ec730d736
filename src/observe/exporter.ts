/**
 * A streaming tail worker for workerd: it receives the events of the server's Worker, and sends them as spans to a
 * collector. Only self-hosted servers need it, because Cloudflare exports traces itself. It is a separate Worker.
 */
import { limits } from "../core/limits.ts";
import type { TraceParent } from "./trace-context.ts";
import { traceSettings } from "./trace-settings.ts";
import { CollectedTrace } from "./collected.ts";
import { exportedOf } from "./otlp.ts";
import { Sender } from "./sender.ts";

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

  /** Returns the handler for the events of one invocation. It never throws, because then no more events would come. */
  listen(onset: TailStream.TailEvent<TailStream.Onset>) {
    const { traceId } = onset.spanContext;
    const take = (event: TailStream.TailEvent<TailStream.EventType>) => {
      try {
        // Only a beginning opens a trace: other events may belong to spans that were sent already.
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

  /** Sends spans every `exportEveryMs` until none are left. Returns at once if another call is doing so. */
  async run(): Promise<void> {
    const { endpoint } = this.#settings;
    // Twice the longest time that one round of another run can take.
    const isRunning = Date.now() < this.#looked + 2 * (limits.exportEveryMs + limits.exportMs);
    if (endpoint === undefined || isRunning) return;
    try {
      let hasMore = false;
      while (this.#traces.size > 0 || !this.#sender.isEmpty) {
        this.#looked = Date.now();
        if (!hasMore) await scheduler.wait(limits.exportEveryMs);
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
      const isQuiet = trace.changed + limits.exportEveryMs <= now;
      const isLate = trace.changed + limits.heldTraceMs <= now || held > limits.queuedSpans;
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
    const over = this.#known.size - limits.knownTraces;
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
} satisfies ExportedHandler;
