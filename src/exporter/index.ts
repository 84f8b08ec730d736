/**
 * A streaming tail worker of workerd: it is told what the server's Worker does, and sends that to a collector. Only for
 * servers that host themselves, as Cloudflare exports traces by itself. It stands alone, as a script of its own.
 */
import { limits } from "../limits.ts";
import type { TraceParent } from "../tracing/context.ts";
import { traceSettings } from "../tracing/settings.ts";
import { CollectedTrace } from "./collected.ts";
import { exportedOf } from "./otlp.ts";
import { Sender } from "./sender.ts";

/** Collects what belongs to a request until it is over, and sends it. */
class Exporter {
  readonly #settings;
  readonly #sender: Sender;
  readonly #traces = new Map<string, CollectedTrace>();
  /** The traces of callers of which some was sent, by the platform's ids: more of them may come later. */
  readonly #known = new Map<string, TraceParent>();
  /** Unix time in ms at which it last looked for what to send. */
  #looked = 0;

  constructor(env: object) {
    this.#settings = traceSettings(env);
    this.#sender = new Sender(this.#settings);
  }

  /** Takes the events of one invocation. Never throws, as no more events would come. */
  listen(onset: TailStream.TailEvent<TailStream.Onset>) {
    const { traceId } = onset.spanContext;
    const take = (event: TailStream.TailEvent<TailStream.EventType>) => {
      try {
        // The end of what was sent already is no news.
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

  /** Sends what is ready from time to time, until there is nothing left. One of its runs does so for all. */
  async run(): Promise<void> {
    const { endpoint } = this.#settings;
    // Twice as long as one round of another run can take.
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

  /** Hands over what is ready, and forgets the traces that are over. */
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
