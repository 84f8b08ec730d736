import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { vi } from "vitest";

interface Attribute {
  key: string;
  value: Record<string, unknown>;
}

/** A span as it came by OTLP. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
  status: { code?: number };
}

/** A point of a metric as it came by OTLP. */
export interface ReceivedPoint {
  /** Of its metric. */
  name: string;
  attributes: Record<string, unknown>;
  startTimeUnixNano?: string;
  timeUnixNano: string;
  /** Of a counter or a gauge. */
  asInt?: string;
  /** Of a histogram. */
  count?: string;
  sum?: number;
  bucketCounts?: string[];
  explicitBounds?: number[];
}

/** A collector of OpenTelemetry, as far as it takes traces and metrics by OTLP over HTTP in JSON. */
export async function collecting() {
  const requests: { url: string; headers: IncomingHttpHeaders; text: string }[] = [];
  const spans: ReceivedSpan[] = [];
  /** Statuses of the next answers; 200 where there are none. */
  const statuses: number[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    request.on("end", () => {
      requests.push({ url: request.url!, headers: request.headers, text });
      const status = statuses.shift() ?? 200;
      if (status === 200 && request.url !== "/v1/metrics") spans.push(...spansIn(text));
      response.writeHead(status, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    spans,
    statuses,
    /** The spans of this trace, once one of them has this name. */
    spansOf: (traceId: string, ...expected: string[]) =>
      vi.waitFor(
        () => {
          const found = spans.filter((span) => span.traceId === traceId);
          const names = found.map((span) => span.name);
          if (expected.every((name) => names.includes(name))) return found;
          throw new Error(`not all of ${expected.join(", ")} in ${traceId}: ${names.join(", ")}`);
        },
        { timeout: 20_000, interval: 50 },
      ),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The points of all metrics in a message. */
export function pointsIn(text: string): ReceivedPoint[] {
  interface Points {
    dataPoints: (Omit<ReceivedPoint, "name" | "attributes"> & { attributes: Attribute[] })[];
  }
  const { resourceMetrics } = JSON.parse(text) as {
    resourceMetrics: {
      scopeMetrics: {
        metrics: ({ name: string } & Record<"sum" | "gauge" | "histogram", Points>)[];
      }[];
    }[];
  };
  return resourceMetrics
    .flatMap(({ scopeMetrics }) => scopeMetrics)
    .flatMap(({ metrics }) => metrics)
    .flatMap(({ name, sum, gauge, histogram }) =>
      (sum ?? gauge ?? histogram).dataPoints.map((point) => ({
        ...point,
        name,
        attributes: attributesIn(point.attributes),
      })),
    );
}

const attributesIn = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

function spansIn(text: string): ReceivedSpan[] {
  const { resourceSpans } = JSON.parse(text) as {
    resourceSpans: {
      scopeSpans: { spans: (Omit<ReceivedSpan, "attributes"> & { attributes: Attribute[] })[] }[];
    }[];
  };
  return resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans)
    .map((span) => ({
      ...span,
      links: span.links ?? [],
      attributes: attributesIn(span.attributes),
    }));
}
