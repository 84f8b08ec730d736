/** Metrics of the server: cumulative counters that the Durable Object `Usage` exports to a collector by OTLP. */
import { limits } from "../../kernel/core/limits.ts";
import { runsOf } from "../../kernel/settings/env.ts";
import { COLLECTOR } from "../../kernel/settings/own-names.ts";
import { firstRow } from "../../kernel/storage/tables.ts";
import { addTool, METRIC_TOOLS, type CountsBatch, type ToolCounts } from "./counts.ts";
import { BUCKETS, OTHERS } from "../../kernel/observe/counted.ts";
import {
  isOtelSet,
  metricSettings,
  type MetricSettings,
} from "../../kernel/observe/otel-settings.ts";
import {
  attribute,
  nanoseconds,
  resourceAttributes,
  SCOPE,
} from "../../kernel/observe/otlp-values.ts";

/** The collector's URL, and the fetcher that reaches it. */
interface MetricsTarget extends MetricSettings {
  endpoint: string;
  collector: Pick<Fetcher, "fetch">;
}

/**
 * The target of this server's metrics; undefined if it exports none. A self-hosted server exports through the binding that
 * `npm start` adds; `npm run dev` exports none. Throws an `Error` for an invalid variable.
 */
export function metricsFrom(env: object): MetricsTarget | undefined {
  if (!isOtelSet(env)) return undefined;
  const { endpoint, ...settings } = metricSettings(env);
  const direct = runsOf(env) === undefined ? PLATFORM : undefined;
  const collector = (env as { [COLLECTOR]?: Fetcher })[COLLECTOR] ?? direct;
  return endpoint === undefined || collector === undefined
    ? undefined
    : { ...settings, endpoint, collector };
}

/** On Cloudflare, the Worker connects to the collector directly. */
const PLATFORM: MetricsTarget["collector"] = { fetch: (...request) => fetch(...request) };

/** Age at which an unchanged counter is deleted: its tool was probably removed. */
const KEPT_MS = 30 * 86_400_000;

/** Counters of tools, and of refused requests by `CountedRefusals.name`. `since` and `changed` are Unix ms. */
const TABLE = `
CREATE TABLE IF NOT EXISTS metric_tools (servlet TEXT NOT NULL, tool TEXT NOT NULL, since INTEGER NOT NULL,
  changed INTEGER NOT NULL, counts TEXT NOT NULL, PRIMARY KEY (servlet, tool)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS metric_refusals (name TEXT PRIMARY KEY, since INTEGER NOT NULL, count INTEGER NOT NULL);`;

type ToolRow = Record<"servlet" | "tool" | "counts", string> & Record<"since" | "changed", number>;

/** Gauges by servlet, read when metrics are exported: stored bytes and waiting calls. */
interface Gauges {
  bytes: ReadonlyMap<string, number>;
  waiting: ReadonlyMap<string, number>;
}

/** The counters in the tables of a Durable Object. They are cumulative and stored, so a lost export loses no counts. */
export class Metrics {
  readonly #sql: SqlStorage;
  readonly #target: MetricsTarget;
  /** The last failure that was logged; undefined after a successful export. */
  #warned: string | undefined;

  constructor(sql: SqlStorage, target: MetricsTarget) {
    this.#sql = sql;
    this.#target = target;
    sql.exec(TABLE);
  }

  get intervalMs(): number {
    return this.#target.intervalMs;
  }

  /** Adds the counts of an isolate. `now` is Unix ms. */
  add({ tools = [], refused = [] }: Pick<CountsBatch, "tools" | "refused">, now: number): void {
    this.#sql.exec("DELETE FROM metric_tools WHERE changed < ?", now - KEPT_MS);
    for (const counts of tools) this.#addTool(counts, now);
    for (const { name, count } of refused)
      this.#sql.exec(
        "INSERT INTO metric_refusals VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
        name,
        now,
        count,
      );
  }

  #addTool(more: ToolCounts, now: number): void {
    const { servlet, tool } = more;
    const known = firstRow(
      this.#sql.exec<ToolRow>(
        "SELECT * FROM metric_tools WHERE servlet = ? AND tool = ?",
        servlet,
        tool,
      ),
    );
    if (known === undefined && servlet !== OTHERS) {
      const { count } = this.#sql
        .exec<{ count: number }>("SELECT COUNT(*) AS count FROM metric_tools")
        .one();
      if (count >= METRIC_TOOLS)
        return this.#addTool({ ...more, servlet: OTHERS, tool: OTHERS }, now);
    }
    const { since = now, counts } = known ?? {};
    const all = counts === undefined ? more : (JSON.parse(counts) as ToolCounts);
    if (all !== more) addTool(all, more);
    const row = [servlet, tool, since, now, JSON.stringify(all)];
    this.#sql.exec("INSERT OR REPLACE INTO metric_tools VALUES (?, ?, ?, ?, ?)", ...row);
  }

  /** Exports all metrics. Never throws: counters are cumulative, so the next export includes a failed one. */
  async send(now: number, gauges: Gauges): Promise<void> {
    const { endpoint, headers, collector } = this.#target;
    let failure: string | undefined;
    try {
      const response = await collector.fetch(endpoint, {
        method: "POST",
        headers: [...headers, ["content-type", "application/json"]],
        body: JSON.stringify(this.#message(now, gauges)),
        redirect: "manual",
        signal: AbortSignal.timeout(limits.exportMs),
      });
      await response.body?.cancel();
      if (!response.ok)
        failure = `The collector of metrics answered with status ${response.status}.`;
    } catch (error) {
      // Log only the error's name: its message may include the URL, which may contain a key.
      failure = `The collector of metrics cannot be reached (${error instanceof Error ? error.name : "unknown"}).`;
    }
    if (failure !== undefined && failure !== this.#warned)
      console.warn(
        `${failure} See OTEL_EXPORTER_OTLP_METRICS_ENDPOINT; OTEL_METRICS_EXPORTER=none sends no metrics.`,
      );
    this.#warned = failure;
  }

  /** The export request: https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/metrics/v1/metrics.proto */
  #message(now: number, { bytes, waiting }: Gauges) {
    const rows = this.#sql.exec<ToolRow>("SELECT * FROM metric_tools").toArray();
    const tools = rows.map(({ servlet, tool, since, counts }) => ({
      since,
      attributes: { [SERVLET]: servlet, [TOOL]: tool },
      counts: JSON.parse(counts) as ToolCounts,
    }));
    const refusals = this.#sql
      .exec<{ name: string; since: number; count: number }>("SELECT * FROM metric_refusals")
      .toArray();
    const point = (attributes: Record<string, string | number>, since?: number) => ({
      attributes: Object.entries(attributes).map(([key, value]) => attribute(key, value)),
      ...(since !== undefined && { startTimeUnixNano: nanoseconds(Math.min(since, now)) }),
      timeUnixNano: nanoseconds(now),
    });
    const gaugeOf = (values: ReadonlyMap<string, number>) => ({
      gauge: {
        dataPoints: [...values].map(([servlet, value]) => ({
          ...point({ [SERVLET]: servlet }),
          asInt: String(value),
        })),
      },
    });
    const runs = tools.flatMap(({ since, attributes, counts }) =>
      Object.entries(counts.outcomes).map(([outcome, count]) => ({
        ...point({ ...attributes, [OUTCOME]: outcome }, since),
        asInt: String(count),
      })),
    );
    const durations = tools.map(({ since, attributes, counts: { sums, ms } }) => ({
      ...point(attributes, since),
      count: String(sums.runs),
      sum: ms / 1000,
      bucketCounts: bucketCounts(sums.times).map(String),
      explicitBounds: BOUNDS,
    }));
    const fuel = tools.map(({ since, attributes, counts: { sums } }) => ({
      ...point(attributes, since),
      asInt: String(Math.round(sums.fuel)),
    }));
    const refused = refusals.map(({ name, since, count }) => {
      const [status, code = ""] = name.split(" ");
      return { ...point({ [STATUS]: Number(status), [FAULT]: code }, since), asInt: String(count) };
    });
    const metrics = [
      { name: "edge_servlets.runs", unit: "{run}", sum: counter(runs) },
      {
        name: "edge_servlets.run.duration",
        unit: "s",
        histogram: { aggregationTemporality: CUMULATIVE, dataPoints: durations },
      },
      { name: "edge_servlets.fuel", unit: "1", sum: counter(fuel) },
      { name: "edge_servlets.refused_requests", unit: "{request}", sum: counter(refused) },
      { name: "edge_servlets.waiting_calls", unit: "{call}", ...gaugeOf(waiting) },
      { name: "edge_servlets.stored_bytes", unit: "By", ...gaugeOf(bytes) },
    ];
    const resource = { attributes: resourceAttributes(this.#target.resource) };
    return { resourceMetrics: [{ resource, scopeMetrics: [{ scope: SCOPE, metrics }] }] };
  }
}

const SERVLET = "edge_servlets.servlet";
const TOOL = "edge_servlets.tool";
const OUTCOME = "edge_servlets.outcome";
const FAULT = "edge_servlets.fault";
const STATUS = "http.response.status_code";

/** `AGGREGATION_TEMPORALITY_CUMULATIVE` of OTLP. */
const CUMULATIVE = 2;

const counter = (dataPoints: readonly object[]) => ({
  aggregationTemporality: CUMULATIVE,
  isMonotonic: true,
  dataPoints,
});

/** Buckets of `Sums.times` in one bucket of a histogram: two doublings of time, a factor of four. */
const JOINED = 4;

/** The upper bounds of a histogram's buckets, in seconds: 1 ms, 4 ms, … 262 s. */
const BOUNDS = Array.from({ length: BUCKETS / JOINED }, (_, nth) => 4 ** nth / 1000);

/** The counts of a histogram's buckets: one for each bound, and one above the last bound. */
function bucketCounts(times: readonly number[]): number[] {
  const [first = 0, ...others] = times;
  const joined = BOUNDS.map((_bound, nth) =>
    others.slice(nth * JOINED, (nth + 1) * JOINED).reduce((sum, count) => sum + count, 0),
  );
  return [first, ...joined];
}
