import * as z from "zod/mini";
import { once } from "../core/once.ts";

const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;

/** Parses `a=1,b=2`, with percent-encoded values. Throws a `URIError`. */
function pairsIn(text: string): [string, string][] {
  return text
    .split(",")
    .filter((pair) => pair.trim() !== "")
    .map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw new URIError("must be a list such as name=value,name=value");
      return [pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())];
    });
}

/** A header's name and value: https://www.rfc-editor.org/rfc/rfc9110#section-5.5 */
const NAME = /^[!#$%&'*+.^_`|~\w-]+$/;
const VALUE = /^[\t\x20-\x7e]*$/;

/**
 * OpenTelemetry's standard variables, for metrics and, on a self-hosted server, for traces:
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables
 */
const schema = once(() => {
  const url = z.url({ protocol: /^https?$/, error: "must be an http or https URL" }).check(
    z.refine((text) => !/^[^/]*\/\/[^/?#]*@/.test(text), {
      error: "must be without a user and a password: name them in OTEL_EXPORTER_OTLP_HEADERS",
      abort: true,
    }),
  );

  const pairs = z.pipe(
    z._default(z.string(), ""),
    z.transform((text: string, context) => {
      try {
        return pairsIn(text);
      } catch {
        // The message omits the value, because headers may contain secrets.
        const message = "must be a list such as name=value,name=value, with percent-encoded values";
        context.issues.push({ code: "custom", message, input: undefined });
        return z.NEVER;
      }
    }),
  );

  /** Pairs that are valid as headers: an invalid pair would make each export fail. */
  const headers = pairs.check(
    z.refine((list) => list.every(([name, value]) => NAME.test(name) && VALUE.test(value)), {
      error: "must be names and values of HTTP headers",
    }),
  );

  return z.object({
    OTEL_EXPORTER_OTLP_ENDPOINT: z.optional(url),
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: z.optional(url),
    OTEL_EXPORTER_OTLP_HEADERS: headers,
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: headers,
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: z.optional(url),
    OTEL_EXPORTER_OTLP_METRICS_HEADERS: headers,
    OTEL_METRICS_EXPORTER: z._default(z.enum(["otlp", "none"]), "otlp"),
    OTEL_METRIC_EXPORT_INTERVAL: z._default(
      z.coerce.number().check(z.minimum(1000), z.maximum(3_600_000)),
      60_000,
    ),
    OTEL_SERVICE_NAME: z.optional(z.string()),
    OTEL_RESOURCE_ATTRIBUTES: pairs,
    OTEL_TRACES_SAMPLER: z._default(z.enum(SAMPLERS), "parentbased_always_on"),
    OTEL_TRACES_SAMPLER_ARG: z._default(z.coerce.number().check(z.minimum(0), z.maximum(1)), 1),
    OTEL_SDK_DISABLED: z._default(z.string(), "false"),
  });
});

export const otelSettingNames = (): readonly string[] => Object.keys(schema().shape);

/** The destination of traces or metrics. */
interface Destination {
  /** The URL of the collector, for OTLP over HTTP as JSON; undefined if nothing is exported. */
  endpoint: string | undefined;
  headers: [string, string][];
  /** Attributes of the server itself. */
  resource: [string, string][];
}

/** Settings of the export of traces. */
export interface TraceSettings extends Destination {
  sampler: (typeof SAMPLERS)[number];
  /** The share of traces that `traceidratio` samples, from 0 to 1. */
  ratio: number;
}

/** Settings of the export of metrics. */
export interface MetricSettings extends Destination {
  /** The time between two exports. */
  intervalMs: number;
}

/** Reads the `OTEL_…` variables for traces. Throws an `Error` that names an invalid variable. */
export function traceSettings(env: object): TraceSettings {
  const data = variablesIn(env);
  return {
    ...destinationOf(data, env, "TRACES"),
    sampler: data.OTEL_TRACES_SAMPLER,
    ratio: data.OTEL_TRACES_SAMPLER_ARG,
  };
}

/** Reads the `OTEL_…` variables for metrics. Throws an `Error` that names an invalid variable. */
export function metricSettings(env: object): MetricSettings {
  const data = variablesIn(env);
  const { endpoint, ...others } = destinationOf(data, env, "METRICS");
  return {
    ...others,
    endpoint: data.OTEL_METRICS_EXPORTER === "none" ? undefined : endpoint,
    intervalMs: data.OTEL_METRIC_EXPORT_INTERVAL,
  };
}

type Variables = z.infer<ReturnType<typeof schema>>;

/** True if any `OTEL_…` variable exists. */
export const isOtelSet = (env: object): boolean =>
  Object.keys(env).some((name) => name.startsWith("OTEL_"));

function variablesIn(env: object): Variables {
  const given = Object.entries(env).filter(
    ([name, value]) => name.startsWith("OTEL_") && value !== "",
  );
  const { data, error } = z.safeParse(schema(), Object.fromEntries(given));
  if (data !== undefined) return data;
  const [issue] = error.issues;
  throw new Error(`The setting ${issue?.path.join(".")} is not valid: ${issue?.message}.`);
}

function destinationOf(data: Variables, env: object, kind: "TRACES" | "METRICS"): Destination {
  const base = data.OTEL_EXPORTER_OTLP_ENDPOINT;
  const endpoint =
    data[`OTEL_EXPORTER_OTLP_${kind}_ENDPOINT`] ??
    (base && `${base.replace(/\/$/, "")}/v1/${kind.toLowerCase()}`);
  const { OTEL_SERVICE_NAME: name } = data;
  const { SERVER_NAME: own = "", SERVER_VERSION: version = "" } = env as Record<string, string>;
  const all = [...data.OTEL_EXPORTER_OTLP_HEADERS, ...data[`OTEL_EXPORTER_OTLP_${kind}_HEADERS`]];
  const sent = new Map(all.map(([header, value]) => [header.toLowerCase(), value]));
  // The exporter sets the content type itself.
  sent.delete("content-type");
  return {
    endpoint: data.OTEL_SDK_DISABLED.toLowerCase() === "true" ? undefined : endpoint,
    headers: [...sent],
    resource: [
      ...attributesOf({ "service.name": own, "service.version": version }),
      ...data.OTEL_RESOURCE_ATTRIBUTES,
      ...(name === undefined ? [] : [["service.name", name] satisfies [string, string]]),
    ],
  };
}

/** The attributes whose value is not empty. */
const attributesOf = (all: Record<string, string>): [string, string][] =>
  Object.entries(all).filter(([, value]) => value !== "");

/** True if a trace that begins here is exported. Depends only on the trace's id, so that all spans of a trace agree. */
export function sampledAnew({ sampler, ratio }: TraceSettings, traceId: string): boolean {
  if (sampler.endsWith("always_on")) return true;
  if (sampler.endsWith("always_off")) return false;
  // The last 7 bytes are random: https://www.w3.org/TR/trace-context-2/#randomness-of-trace-id
  return Number.parseInt(traceId.slice(-14, -1), 16) / 2 ** 52 < ratio;
}

/** True if a trace that a caller began is exported, given the caller's own sampling decision. */
export const sampledAfter = (
  settings: TraceSettings,
  parent: { traceId: string; isSampled: boolean },
) =>
  settings.sampler.startsWith("parentbased_")
    ? parent.isSampled
    : sampledAnew(settings, parent.traceId);
