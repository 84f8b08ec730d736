import { limits } from "../limits.ts";
import { parsed, type TraceParent } from "../tracing/context.ts";

/** A span as the platform tells of it. Times are Unix times in ms. */
export interface CollectedSpan {
  /** In hex, as all ids here. */
  id: string;
  /** Of another invocation, where this one was called by it. */
  parent: string | undefined;
  name: string;
  attributes: Map<string, TailStream.Attribute["value"]>;
  start: number;
  /** Undefined while it is open. */
  end: number | undefined;
  /** True once it was handed over. */
  isSent?: true;
  /** Present for an invocation as a whole: a request, a call of an object, an alarm. */
  invocation?: {
    kind: string;
    /** The class of an object. */
    entrypoint: string | undefined;
    request?: CollectedRequest;
    status?: number;
    outcome?: string;
  };
}

/** What is kept of an HTTP request: its address and headers may be long, and have ids and tokens in them. */
interface CollectedRequest {
  method: string;
  scheme: string;
  /** Undefined for paths that are none of the server's. */
  route: string | undefined;
  /** Undefined if it is not valid. */
  traceparent: string | undefined;
}

/** Paths of this server whose first part is all that is told. */
const ROUTES =
  /^\/(mcp|tools|authorize|token|register|account|ask|secret|connect|console|operator|health)?(?=\/|$)/;

/** What one request has caused, in all objects. */
export class CollectedTrace {
  readonly id: string;
  /** The trace that it is in for callers, once that is known. */
  root: TraceParent | undefined;
  readonly spans = new Map<string, CollectedSpan>();
  /** Unix time in ms of its last event. */
  changed: number;
  /** True if an event came since it was last looked at. */
  hasNews = true;
  /** Spans that there was no room for. */
  dropped = 0;
  #isOver = false;

  constructor(id: string, now: number, known?: TraceParent) {
    this.id = id;
    this.root = known;
    this.changed = now;
  }

  /** True once the request is over, or whatever else has begun it. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Takes an event. What is logged and thrown may have anything in it, and is passed over. */
  take({ event, spanContext, timestamp }: TailStream.TailEvent<TailStream.EventType>): void {
    this.changed = Date.now();
    this.hasNews = true;
    const at = timestamp.getTime();
    const span = this.spans.get(spanContext.spanId ?? "");
    switch (event.type) {
      case "onset":
        return this.#begin(onsetSpan(event, spanContext.spanId, at));
      case "spanOpen": {
        const { name, spanId: id } = event;
        if (name.startsWith(STORAGE)) return;
        const parent = spanContext.spanId;
        return this.#begin({ id, parent, name, attributes: new Map(), start: at, end: undefined });
      }
      case "attributes":
        for (const { name, value } of event.info) span?.attributes.set(...kept(name, value));
        return;
      case "spanClose":
        if (span) span.end = at;
        return;
      case "return":
        // The first of an object that is called several times. What it does after that, nobody waits for.
        if (span?.invocation === undefined || span.end !== undefined) return;
        span.end = at;
        if (event.info) span.invocation.status = event.info.statusCode;
        return;
      case "outcome":
        if (span?.invocation === undefined) return;
        if (span.end === undefined) {
          span.end = at;
          span.invocation.outcome = event.outcome;
        }
        if (!this.spans.has(span.parent ?? "")) this.#isOver = true;
        return;
      case "log":
      case "exception":
      case "diagnosticChannel":
      case "streamDiagnostic":
      case "spanUpdate":
    }
  }

  #begin(span: CollectedSpan): void {
    if (this.spans.size < limits.exportedSpans) this.spans.set(span.id, span);
    else this.dropped++;
  }
}

/** A commit makes dozens of them, and they say nothing that a servlet's author or a server's operator could change. */
const STORAGE = "durable_object_storage_";

function onsetSpan(
  { info, entrypoint, spanId: id }: TailStream.Onset,
  parent: string | undefined,
  start: number,
): CollectedSpan {
  const invocation: CollectedSpan["invocation"] = { kind: info.type, entrypoint };
  if (info.type === "fetch") {
    const { method, url, headers } = info;
    const { protocol, pathname } = new URL(url);
    const [route] = ROUTES.exec(pathname) ?? [];
    const given = headers.find(({ name }) => name.toLowerCase() === "traceparent")?.value;
    invocation.request = {
      method,
      scheme: protocol.slice(0, -1),
      route: route === undefined || route === pathname ? route : `${route}/*`,
      traceparent: parsed(given) && given,
    };
  }
  return { id, parent, name: info.type, attributes: new Map(), start, end: undefined, invocation };
}

/** An attribute as it is kept: of an address its host, and of a text no more than its beginning. */
function kept(
  name: string,
  value: TailStream.Attribute["value"],
): [string, TailStream.Attribute["value"]] {
  if (typeof value !== "string") return [name, value];
  if (name === "url.full") return ["server.address", beginning(URL.parse(value)?.hostname ?? "")];
  return [name, beginning(value)];
}

/** The beginning of a text; a mere slice would keep the whole in memory. */
const beginning = (text: string): string =>
  text.length <= limits.spanCharacters
    ? text
    : new TextDecoder().decode(new TextEncoder().encode(text.slice(0, limits.spanCharacters)));
