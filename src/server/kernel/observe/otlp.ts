import { parseTraceparent, type TraceParent } from "./trace-context.ts";
import { sampledAfter, sampledAnew, type TraceSettings } from "./otel-settings.ts";
import { attribute, nanoseconds, type OtlpAttribute } from "./otlp-values.ts";
import { LINK, PARENT, PLACE } from "./spans.ts";
import type { CollectedSpan, CollectedTrace } from "./collected.ts";

/** A span in OTLP's JSON: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding */
export interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: OtlpAttribute[];
  links?: { traceId: string; spanId: string }[];
  status: { code?: number };
}

const KIND = { internal: 1, server: 2, client: 3 };
const ERROR = 2;

/** Attributes that are exported. The platform's other attributes may contain whole URLs and SQL statements. */
const EXPORTED =
  /^(mcp|gen_ai|jsonrpc|rpc|network|server|edge_servlets)\.|^(error\.type|http\.request\.method|http\.response\.status_code|url\.scheme)$/;

/** Outcomes of an invocation that are not failures: clients may disconnect at any time. */
const SUCCESSFUL = new Set(["ok", "canceled", "responseStreamDisconnected"]);

/** A place in the trace that callers see: the caller's own trace if the request named one. */
type Place = Pick<TraceParent, "traceId" | "spanId">;

/**
 * Returns the spans of a trace that are ready and not yet exported, in the form of OTLP, and marks them as sent. A span
 * is ready when it has ended and its place in the caller's trace is known, or the trace `isOver`. The place is an
 * attribute of the span itself or of one around it, which the platform may report only when that span ends.
 */
export function exportedOf(
  trace: CollectedTrace,
  settings: TraceSettings,
  isOver: boolean,
): OtlpSpan[] {
  const places = new Places(trace, settings, isOver);
  const ready = [...trace.spans.values()].filter(
    (span) => span.end !== undefined && span.isSent === undefined && places.knows(span),
  );
  for (const span of ready) span.isSent = true;
  return ready
    .filter(
      (span) => !isDuplicate(span, trace) && !isHealthCheck(span) && !sendsMetrics(span, trace),
    )
    .filter((span) => places.isSampled(places.of(span)))
    .map((span) => otlpSpan(span, trace, places));
}

/** Finds the places of spans in the traces of callers. */
class Places {
  readonly #trace: CollectedTrace;
  readonly #settings: TraceSettings;
  readonly #known = new Map<string, Place>();
  readonly #isOver: boolean;
  /** By trace id: whether the server has sampled that trace. */
  readonly #sampled: Map<string, boolean>;
  /** The `traceparent` header of the request, if it is valid. */
  readonly header: string | undefined;
  /** The trace of spans that are not below one of the server's own spans. */
  readonly #root: TraceParent | undefined;

  constructor(trace: CollectedTrace, settings: TraceSettings, isOver: boolean) {
    this.#trace = trace;
    this.#settings = settings;
    this.#isOver = isOver;
    const all = [...trace.spans.values()];
    const own = all.flatMap(({ attributes }) => parseTraceparent(attributes.get(PLACE)) ?? []);
    this.#sampled = new Map(own.map(({ traceId, isSampled }) => [traceId, isSampled]));
    const header = all.find(({ invocation }) => invocation?.request)?.invocation?.request;
    const caller = parseTraceparent(header?.traceparent);
    this.header = caller && header?.traceparent;
    const ofCaller = caller && { ...caller, isSampled: sampledAfter(settings, caller) };
    const { id } = trace;
    const anew = { traceId: id, spanId: "", isSampled: sampledAnew(settings, id) };
    trace.root ??= ofCaller ?? own[0] ?? (isOver ? anew : undefined);
    this.#root = trace.root;
  }

  /** True if the place of a span is final: no later event can move it to another trace. */
  knows(span: CollectedSpan): boolean {
    if (this.#isOver || span.attributes.has(PLACE)) return true;
    const parent = this.#trace.around(span);
    if (parent === undefined) return this.#root !== undefined;
    const mayHavePlace = parent.invocation === undefined && !PLATFORM_SPAN.test(parent.name);
    return (!mayHavePlace || parent.end !== undefined) && this.knows(parent);
  }

  of(span: CollectedSpan): Place {
    const known = this.#known.get(span.id);
    if (known !== undefined) return known;
    const own = parseTraceparent(span.attributes.get(PLACE));
    const parent = this.#trace.around(span);
    // A parent is older than its spans, so this ends.
    const { traceId } = own ?? (parent ? this.of(parent) : this.#root!);
    const place = { traceId, spanId: own?.spanId ?? span.id };
    this.#known.set(span.id, place);
    return place;
  }

  isSampled({ traceId }: Place): boolean {
    const isRoot = traceId === this.#root?.traceId;
    const anew = () => sampledAnew(this.#settings, traceId);
    return this.#sampled.get(traceId) ?? (isRoot ? this.#root.isSampled : anew());
  }
}

/** Names of spans that the platform makes. */
const PLATFORM_SPAN = /_subrequest$|^fetch$|^durable_object_|^(kv|r2|jsrpc|cache|worker)_/;

function otlpSpan(span: CollectedSpan, trace: CollectedTrace, places: Places): OtlpSpan {
  const { start, end = start } = span;
  const { traceId, spanId } = places.of(span);
  const { name, kind, attributes } = described(span);
  const { parent, links } = relations(span, trace, places);
  const hasFailed = attributes.some(({ key }) => key === "error.type");
  return {
    traceId,
    spanId,
    ...(parent !== undefined && { parentSpanId: parent }),
    name,
    kind,
    startTimeUnixNano: nanoseconds(start),
    endTimeUnixNano: nanoseconds(Math.max(start, end)),
    attributes,
    ...(links.length > 0 && { links }),
    status: hasFailed ? { code: ERROR } : {},
  };
}

/** The parent of a span, which must be in the same trace, and links to the spans of other traces that led to it. */
function relations(span: CollectedSpan, trace: CollectedTrace, places: Places) {
  const { traceId } = places.of(span);
  const around = trace.around(span);
  const ambient = around && places.of(around);
  const given = span.attributes.get(PARENT);
  const remote = parseTraceparent(
    span.invocation?.request?.traceparent ?? (given === places.header ? undefined : given),
  );
  // A parent that was sent and forgotten already has the platform's id.
  const outer = trace.parentOf(span);
  const before = around === undefined && outer !== undefined && { traceId, spanId: outer };
  const parent = [remote, ambient, before || undefined].find(
    (one) => one?.traceId === traceId,
  )?.spanId;
  const earlier = parseTraceparent(span.attributes.get(LINK));
  const links = [ambient, earlier]
    .filter((one) => one !== undefined)
    .filter((one) => one.traceId !== traceId || (one === ambient && one.spanId !== parent))
    .map((one) => ({ traceId: one.traceId, spanId: one.spanId }));
  return { parent, links };
}

function described(span: CollectedSpan): Pick<OtlpSpan, "name" | "kind" | "attributes"> {
  const { invocation, attributes, name } = span;
  const exported = attributesOf(attributes);
  if (invocation === undefined) {
    const isAsk = attributes.has("edge_servlets.asks");
    const isRequest = attributes.has("mcp.method.name") && !isAsk;
    const isSent = isAsk || attributes.has("http.request.method") || name.endsWith("_subrequest");
    const kind = isSent ? KIND.client : KIND.internal;
    return { name, kind: isRequest ? KIND.server : kind, attributes: exported };
  }
  const { request, status, outcome = "ok", entrypoint } = invocation;
  const failure = SUCCESSFUL.has(outcome) ? (status ?? 0) >= 500 && String(status) : outcome;
  const failed = failure === false ? [] : [attribute("error.type", failure)];
  if (request === undefined) {
    const method = attributes.get("jsrpc.method") ?? invocation.kind;
    const called = typeof method === "string" ? method : invocation.kind;
    return {
      name: [entrypoint ?? [], called].flat().join("."),
      kind: KIND.internal,
      attributes: [...exported, ...failed],
    };
  }
  const { method: verb, scheme, route } = request;
  return {
    name: [verb, route ?? []].flat().join(" "),
    kind: KIND.server,
    attributes: [
      attribute("http.request.method", verb),
      attribute("url.scheme", scheme),
      ...(route === undefined ? [] : [attribute("http.route", route)]),
      ...(status === undefined ? [] : [attribute("http.response.status_code", status)]),
      ...exported,
      ...failed,
    ],
  };
}

function attributesOf(attributes: CollectedSpan["attributes"]): OtlpAttribute[] {
  const exported = [...attributes].filter(([key]) => EXPORTED.test(key) && !OURS.has(key));
  return exported.map(([key, value]) => attribute(key, value));
}

/** Attributes that become fields of an OTLP span instead. */
const OURS = new Set([PLACE, PARENT, LINK]);

/** True for the platform's span of a request that also has a span of the server's own. */
const isDuplicate = (span: CollectedSpan, trace: CollectedTrace): boolean =>
  span.name === "fetch" && trace.around(span)?.attributes.has("http.request.method") === true;

/** True for health checks, which orchestrators send every few seconds. */
const isHealthCheck = ({ invocation }: CollectedSpan) => invocation?.request?.route === "/health";

/** True for the export of metrics, and the requests that it makes. */
function sendsMetrics(span: CollectedSpan, trace: CollectedTrace): boolean {
  const { kind, entrypoint } = span.invocation ?? {};
  if (kind === "alarm" && entrypoint === "Usage") return true;
  const around = trace.around(span);
  return around !== undefined && sendsMetrics(around, trace);
}
