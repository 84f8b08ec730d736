import { limits } from "./limits.ts";
import { parseTraceparent, type TraceParent } from "./trace-context.ts";
import { beginningOf } from "../core/text.ts";

/** Spans of one trace that are held until it is sent. */
const EXPORTED_SPANS = 5000;

/** A span as the platform reports it. Times are Unix times in ms. */
export interface CollectedSpan {
  /** In hex, like all ids here. */
  id: string;
  /** The id of the enclosing span; for an invocation by another one, that of the caller. */
  parent: string | undefined;
  name: string;
  attributes: Map<string, TailStream.Attribute["value"]>;
  start: number;
  /** Undefined while the span is open. */
  end: number | undefined;
  /** True once it was passed to the sender, or dropped by sampling. */
  isSent?: true;
  /** Present if the span is a whole invocation: a request, a call of a Durable Object, an alarm. */
  invocation?: {
    kind: string;
    /** The class of a Durable Object. */
    entrypoint: string | undefined;
    request?: CollectedRequest;
    status?: number;
    outcome?: string;
  };
}

/** The stored part of an HTTP request. Its URL and headers may be long, and may hold ids and tokens. */
interface CollectedRequest {
  method: string;
  scheme: string;
  /** The first segment of the path; undefined for a path that the server does not have. */
  route: string | undefined;
  /** Undefined if it is not valid. */
  traceparent: string | undefined;
}

/**
 * The first segments of this server's paths. Only these are exported, because the rest of a path may have ids and
 * tokens.
 */
const ROUTES =
  /^\/(mcp|tools|authorize|token|register|account|ask|secret|connect|console|operator|health)?(?=\/|$)/;

/** All spans that one request has caused, in the Worker and in Durable Objects. */
export class CollectedTrace {
  readonly id: string;
  /** Its place in the trace that callers see, once known. */
  root: TraceParent | undefined;
  readonly spans = new Map<string, CollectedSpan>();
  /** The parents of omitted spans, by id: the children of such a span belong to the nearest span that is kept. */
  readonly #leftOut = new Map<string, string | undefined>();
  /** Unix time in ms of its last event. */
  changed: number;
  /** True if an event came since the exporter last collected spans. */
  hasNews = true;
  /** The number of spans that were dropped for lack of room. */
  dropped = 0;
  #isOver = false;

  constructor(id: string, now: number, known?: TraceParent) {
    this.id = id;
    this.root = known;
    this.changed = now;
  }

  /** True once its outermost invocation has ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The id of the nearest enclosing span that is not omitted; undefined for the outermost. */
  parentOf(span: CollectedSpan): string | undefined {
    let id = span.parent;
    while (id !== undefined && this.#leftOut.has(id)) id = this.#leftOut.get(id);
    return id;
  }

  /** The enclosing span; undefined for the outermost, and if it was sent and forgotten. */
  around(span: CollectedSpan): CollectedSpan | undefined {
    return this.spans.get(this.parentOf(span) ?? "");
  }

  /** Takes an event. Ignores logs and exceptions: they may contain anything, secrets included. */
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
        if (RPC.has(name)) return this.#leaveOut(id, parent);
        return this.#begin({ id, parent, name, attributes: new Map(), start: at, end: undefined });
      }
      case "attributes":
        for (const { name, value } of event.info) span?.attributes.set(...kept(name, value));
        return;
      case "spanClose":
        if (span) span.end = at;
        return;
      case "return":
        // Only the first return of a Durable Object that is called several times counts: nobody waits for later work.
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
        if (this.around(span) === undefined) this.#isOver = true;
        return;
      case "log":
      case "exception":
      case "diagnosticChannel":
      case "streamDiagnostic":
      case "spanUpdate":
    }
  }

  #leaveOut(id: string, parent: string | undefined): void {
    // A call has two spans that are kept and three that are omitted.
    if (this.#leftOut.size < 2 * EXPORTED_SPANS) this.#leftOut.set(id, parent);
  }

  #begin(span: CollectedSpan): void {
    if (this.spans.size < EXPORTED_SPANS) this.spans.set(span.id, span);
    else this.dropped++;
  }
}

/**
 * Spans of storage operations are dropped: a commit makes dozens, and neither servlet authors nor operators can change
 * them.
 */
const STORAGE = "durable_object_storage_";

/**
 * Spans of the RPC layer are omitted: the object's own span names the method, and these three for each call add
 * nothing.
 */
const RPC = new Set(["jsRpcSession", "jsRpcCall"]);

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
      traceparent: parseTraceparent(given) && given,
    };
  }
  return { id, parent, name: info.type, attributes: new Map(), start, end: undefined, invocation };
}

/** An attribute in its stored form: the host of a URL, and only the beginning of a text. */
function kept(
  name: string,
  value: TailStream.Attribute["value"],
): [string, TailStream.Attribute["value"]] {
  if (typeof value !== "string") return [name, value];
  if (name === "url.full") return ["server.address", beginning(URL.parse(value)?.hostname ?? "")];
  return [name, beginning(value)];
}

/** The beginning of a text; a mere slice would keep the whole text in memory. */
const beginning = (text: string): string =>
  text.length <= limits.spanCharacters
    ? text
    : new TextDecoder().decode(new TextEncoder().encode(beginningOf(text, limits.spanCharacters)));
