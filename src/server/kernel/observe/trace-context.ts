import type { Json } from "../core/model.ts";

/**
 * Bounds on a caller's trace context as it is passed on: the minimum that the W3C recommends. A `tracestate` may have
 * half as many members as a `baggage`.
 */
const TRACESTATE_CHARACTERS = 512;
const BAGGAGE_CHARACTERS = 8192;
const TRACE_MEMBERS = 64;

/**
 * The place of a call in a trace, and the trace context that its requests to other servers carry.
 * https://www.w3.org/TR/trace-context, https://www.w3.org/TR/baggage
 */
export interface Trace {
  traceparent?: string;
  tracestate?: string;
  baggage?: string;
  /** True if the work of the call is recorded in spans. */
  isRecorded?: boolean;
  /** The `traceparent` of the earlier request that began this call, in another trace. */
  link?: string;
}

/** A `traceparent` of version 00, or of a later version in the same format. */
const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** https://www.w3.org/TR/trace-context/#tracestate-header-field-values */
const STATE_MEMBER = /^[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,256}$/;

/** https://www.w3.org/TR/baggage/#definition */
const BAGGAGE_MEMBER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]*=[\x20\t!#-+\--[\]-~]*$/;

/** A parsed `traceparent`. */
export interface TraceParent {
  /** 16 bytes in hex. */
  traceId: string;
  /** 8 bytes in hex. */
  spanId: string;
  isSampled: boolean;
}

/** Parses a `traceparent`. Undefined if it is not valid. */
export function parseTraceparent(traceparent: unknown): TraceParent | undefined {
  if (typeof traceparent !== "string") return undefined;
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags!, 16) & 1) === 1 };
}

/** The trace context in a request's headers. Invalid or overlong parts are omitted. */
export function traceInHeaders(headers: Headers): Trace | undefined {
  const traceparent = headers.get("traceparent");
  const baggage = headers.get("baggage");
  if (traceparent === null && baggage === null) return undefined;
  return traceOf({ traceparent, tracestate: headers.get("tracestate"), baggage });
}

/**
 * The trace context in the `_meta` of a request; missing parts come from its headers.
 * https://modelcontextprotocol.io/seps/414-request-meta
 */
export function traceIn(meta: Json, ofHeaders: Trace | undefined): Trace | undefined {
  const { traceparent, tracestate, baggage } = meta;
  if (traceparent === undefined && baggage === undefined) return ofHeaders;
  const own = traceOf({ traceparent, tracestate, baggage });
  if (own === undefined) return ofHeaders;
  // A `tracestate` belongs to its `traceparent`.
  if (own.traceparent === undefined) return { ...ofHeaders, ...own };
  const { traceparent: _, tracestate: _state, ...kept } = ofHeaders ?? {};
  return { ...kept, ...own };
}

/** The valid parts of a trace context; undefined if there are none. */
function traceOf({ traceparent, tracestate, baggage }: Json): Trace | undefined {
  const trace: Trace = {};
  if (typeof traceparent === "string" && parseTraceparent(traceparent) !== undefined) {
    trace.traceparent = traceparent;
    const bounds = { most: TRACE_MEMBERS / 2, length: TRACESTATE_CHARACTERS };
    if (isList(tracestate, STATE_MEMBER, bounds)) trace.tracestate = tracestate;
  }
  const bounds = { most: TRACE_MEMBERS, length: BAGGAGE_CHARACTERS };
  if (isList(baggage, BAGGAGE_MEMBER, bounds)) trace.baggage = baggage;
  return trace.traceparent === undefined && trace.baggage === undefined ? undefined : trace;
}

/** True for a comma-separated list of valid members. */
function isList(
  text: unknown,
  member: RegExp,
  { most, length }: { most: number; length: number },
): text is string {
  if (typeof text !== "string" || text === "" || text.length > length) return false;
  const members = text.split(",");
  return members.length <= most && members.every((one) => member.test(one.trim()));
}

/** Adds the trace context to the headers of an HTTP request; keeps an existing `traceparent` or `baggage`. */
export function addTrace(headers: Headers, trace: Trace | undefined): void {
  if (trace === undefined) return;
  const { traceparent, tracestate, baggage } = trace;
  if (traceparent !== undefined && !headers.has("traceparent")) {
    headers.set("traceparent", traceparent);
    // A `tracestate` of another trace would be wrong here.
    if (tracestate === undefined) headers.delete("tracestate");
    else headers.set("tracestate", tracestate);
  }
  if (baggage !== undefined && !headers.has("baggage")) headers.set("baggage", baggage);
}

const randomHex = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)).toHex();

/** A new `traceparent` in the parent's trace, or in a new trace without a parent. */
export function placeIn(
  parent: TraceParent | undefined,
  isSampled: (traceId: string) => boolean,
): string {
  const traceId = parent?.traceId ?? randomHex(16);
  const flags = (parent?.isSampled ?? isSampled(traceId)) ? "01" : "00";
  return `00-${traceId}-${randomHex(8)}-${flags}`;
}
