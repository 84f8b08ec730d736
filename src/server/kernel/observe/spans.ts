import { limits } from "./limits.ts";
import { beginningOf, printable } from "../core/text.ts";
import { runsOf } from "../settings/env.ts";
import { parseTraceparent, placeIn, type Trace } from "./trace-context.ts";
import {
  isOtelSet,
  sampledAfter,
  sampledAnew,
  traceSettings,
  type TraceSettings,
} from "./otel-settings.ts";

/** Attributes of a span; undefined ones are omitted. Never secrets, arguments or results. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** An open span. */
export interface Span {
  set(attributes: Attributes): void;
}

/** The name and first attributes of a span. Names must have few distinct values. */
export interface SpanStart {
  name: string;
  attributes: Attributes;
}

/** The tracing API of the platform: https://developers.cloudflare.com/workers/observability/traces/custom-spans */
interface Platform {
  getActiveSpan(): PlatformSpan | undefined;
  enterSpan<T>(name: string, work: (span: PlatformSpan) => T): T;
}

interface PlatformSpan {
  readonly isTraced: boolean;
  setAttribute(name: string, value: string | number | boolean): unknown;
}

/**
 * Attributes that the platform's spans cannot express yet: the place of a span in its caller's trace, its parent there,
 * and the place that it links to. Each is a `traceparent`; `src/server/kernel/observe` exports spans accordingly.
 */
export const PLACE = "edge_servlets.traceparent";
export const PARENT = "edge_servlets.parent";
export const LINK = "edge_servlets.link";

const NO_SPAN: Span = { set() {} };

let platform: Platform | undefined;
/** Undefined if the platform itself exports the spans: its ids are not available here. */
let exported: TraceSettings | undefined;

/**
 * Records spans with the platform's tracing API; without it, no spans are recorded. A self-hosted server without a
 * collector records none either: nobody would see them, and asking the platform costs a small call a few percent.
 * Throws an `Error` for an invalid setting.
 */
export function configureTracing(tracing: Platform | undefined, env: object): void {
  const settings = isOtelSet(env) ? traceSettings(env) : undefined;
  exported = settings?.endpoint === undefined ? undefined : settings;
  platform = runsOf(env) !== undefined && exported === undefined ? undefined : tracing;
}

/**
 * True if this request or alarm is being traced. In a call of a Durable Object the platform does not say: the caller
 * checks, and passes the answer in `Trace.isRecorded`.
 */
export const isListening = (): boolean => platform?.getActiveSpan()?.isTraced === true;

/** The number of recorded spans of each trace. */
const counts = new WeakMap<Trace, number>();

/** The platform's API, if the trace is recorded and has room for one more span. */
function recorder(trace: Trace | undefined): Platform | undefined {
  if (trace?.isRecorded !== true) return undefined;
  const count = counts.get(trace) ?? 0;
  if (count >= limits.requestSpans) return undefined;
  counts.set(trace, count + 1);
  return platform;
}

/** Runs work in a span of its own if the call is recorded, else without one. */
export function inSpan<T>(
  trace: Trace | undefined,
  start: () => SpanStart,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const recording = recorder(trace);
  return recording === undefined ? work(NO_SPAN) : entered(recording, start(), work);
}

function entered<T>(
  recording: Platform,
  { name, attributes }: SpanStart,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  return recording.enterSpan(nameOf(name), (own) => {
    const span = spanOf(own);
    span.set(attributes);
    return work(span);
  });
}

/**
 * Begins the work of a request, in a span if it is traced. `received` is the trace context of the request; the work
 * gets the new one that its own requests must carry.
 */
export function inRequestSpan<T>(
  received: Trace | undefined,
  start: () => SpanStart,
  work: (trace: Trace | undefined, span: Span) => Promise<T>,
): Promise<T> {
  if (received?.isRecorded !== true && !isListening()) return work(received, NO_SPAN);
  const { link, ...given } = received ?? {};
  const trace: Trace = { ...given, isRecorded: true };
  const place = newPlace(received);
  if (place !== undefined) trace.traceparent = place;
  const whole = () => {
    const { name, attributes } = start();
    const traced = { [PLACE]: place, [PARENT]: received?.traceparent, [LINK]: link };
    return { name, attributes: { ...attributes, ...traced } };
  };
  return inSpan(trace, whole, (span) => work(trace, span));
}

/**
 * Begins work that continues an earlier request. That may be days later, so it is recorded in a trace of its own, which
 * links to the trace of the request; if it is not recorded, it stays in the trace of the request.
 */
export function inLaterSpan<T>(
  earlier: Trace | undefined,
  start: () => SpanStart,
  work: (trace: Trace | undefined, span: Span) => Promise<T>,
): Promise<T> {
  const { isRecorded: _, link: _link, ...stored } = earlier ?? {};
  if (!isListening()) return work(stored, NO_SPAN);
  const { traceparent: link, baggage } = stored;
  const known = { ...(link !== undefined && { link }), ...(baggage !== undefined && { baggage }) };
  return inRequestSpan(known, start, work);
}

/** The attributes of an HTTP request's span. */
interface SentRequest {
  url: string | URL;
  method: string;
  headers: Headers;
}

/**
 * Sends an HTTP request of a recorded call in a span. The request becomes a child of the span, unless it has a
 * `traceparent` of its own.
 */
export function inHttpSpan<R extends SentRequest>(
  trace: Trace | undefined,
  request: R,
  send: (request: R) => Promise<Response>,
): Promise<Response> {
  const recording = recorder(trace);
  if (trace === undefined || recording === undefined) return send(request);
  const { protocol, hostname, port } = new URL(request.url);
  const isOwn = request.headers.get("traceparent") !== (trace.traceparent ?? null);
  const place = isOwn ? undefined : newPlace(trace);
  const method = METHODS.has(request.method) ? request.method : undefined;
  const start = {
    name: method ?? "HTTP",
    attributes: {
      "http.request.method": method ?? "_OTHER",
      "server.address": hostname,
      "server.port": Number(port) || (protocol === "https:" ? 443 : 80),
      "url.scheme": protocol.slice(0, -1),
      [PLACE]: place,
    },
  };
  return entered(recording, start, async (span) => {
    if (place !== undefined) request.headers.set("traceparent", place);
    try {
      const response = await send(request);
      const { status } = response;
      const failure = status >= 400 ? String(status) : undefined;
      span.set({ "http.response.status_code": status, "error.type": failure });
      return response;
    } catch (error) {
      // Only the error's name: its message may contain a URL.
      span.set({ "error.type": error instanceof Error ? error.name : "_OTHER" });
      throw error;
    }
  });
}

/** https://opentelemetry.io/docs/specs/semconv/registry/attributes/http/#http-request-method */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]);

/** A new `traceparent` in this trace; undefined if the platform exports the spans with its own ids. */
function newPlace({ traceparent }: Trace = {}): string | undefined {
  const settings = exported;
  if (settings === undefined) return undefined;
  const parent = parseTraceparent(traceparent);
  const known = parent && { ...parent, isSampled: sampledAfter(settings, parent) };
  return placeIn(known, (traceId) => sampledAnew(settings, traceId));
}

const spanOf = (own: PlatformSpan): Span => ({
  set(attributes) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value === undefined) continue;
      own.setAttribute(name, typeof value === "string" ? textOf(value) : value);
    }
  },
});

/** Makes a string from outside, such as a name that a servlet's author has chosen, printable and short. */
const textOf = (text: string) => printable(beginningOf(text.toWellFormed(), limits.spanCharacters));

/** Shortens a name: the platform would cut it after 64 bytes, possibly inside a character. */
function nameOf(name: string): string {
  const text = printable(beginningOf(name.toWellFormed(), 64));
  // oxlint-disable-next-line no-control-regex
  return /[^\0-\x7f]/.test(text) ? beginningOf(text, 21) : text.slice(0, 64);
}
