import { createHash } from "node:crypto";
import { afterAll, describe, expect, test, vi } from "vitest";
import { collecting, pointsIn } from "../http/collector.ts";
import { build, host, project, request } from "./hosting.ts";

/** Metrics of a server as its user starts it. */
const collector = await collecting();
afterAll(() => collector.close());
const folder = await project();
await build(folder);

const EVERY_SECOND = {
  OTEL_METRIC_EXPORT_INTERVAL: "1000",
  TEST_LIMITS: '{"usageMs":10}',
};
const args = ["--from-env", "TEST_LIMITS"];

/** The newest metrics, once one of these points has this value. */
const metricsWith = (name: string, attributes: object, value: string) =>
  vi.waitFor(
    () => {
      const latest = collector.requests.findLast(({ url }) => url === "/v1/metrics");
      if (latest === undefined) throw new Error("no metrics have come");
      expect(pointsIn(latest.text)).toContainEqual(
        expect.objectContaining({ name, attributes, asInt: value }),
      );
      return latest;
    },
    { timeout: 30_000, interval: 50 },
  );

const greet = (url: URL, name: unknown = "Ada", headers = {}) =>
  request(url, "tools/call", { name: "greet", arguments: { name } }, headers).then((response) =>
    response.text(),
  );

const TOOL = "edge_servlets.tool";
const RETURNED = {
  "edge_servlets.servlet": "hello",
  [TOOL]: "greet",
  "edge_servlets.outcome": "returned",
};

describe("start", () => {
  test("sends counters that survive a restart to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names", async () => {
    const variables = {
      ...EVERY_SECOND,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_METRICS_HEADERS: "x-api-key=collectors-key",
      OTEL_SERVICE_NAME: "greeter",
      API_KEYS: JSON.stringify({ ada: createHash("sha256").update("ada-key").digest("hex") }),
    };
    const key = { authorization: "Bearer ada-key" };
    const server = await host(folder, { args, variables });
    for (let nth = 0; nth < 3; nth++)
      expect(await greet(server.url, "Ada", key)).toContain("Hello, Ada!");
    await greet(server.url);
    const refused = { "http.response.status_code": "401", "edge_servlets.fault": "unauthorized" };
    await metricsWith("edge_servlets.refused_requests", refused, "1");
    const { headers, text } = await metricsWith("edge_servlets.runs", RETURNED, "3");
    expect(headers["x-api-key"]).toBe("collectors-key");
    expect(headers["content-type"]).toBe("application/json");
    expect(text).toContain('{"key":"service.name","value":{"stringValue":"greeter"}}');
    // Neither who has called nor with what.
    expect(text).not.toMatch(/ada/i);
    const all = pointsIn(text);
    const { "edge_servlets.outcome": _, ...tool } = RETURNED;
    const ofTool = (metric: string) =>
      all.find(({ name, attributes }) => name === metric && attributes[TOOL] === "greet");
    expect(ofTool("edge_servlets.fuel")).toMatchObject({ attributes: tool });
    const duration = ofTool("edge_servlets.run.duration");
    expect(duration).toMatchObject({ attributes: tool, count: "3" });
    expect(duration!.bucketCounts).toHaveLength(duration!.explicitBounds!.length + 1);
    expect(await server.stop()).toBe(0);
    expect(server.output()).not.toContain("collectors-key");

    const again = await host(folder, { args, variables });
    await greet(again.url, "Ada", key);
    const later = pointsIn((await metricsWith("edge_servlets.runs", RETURNED, "4")).text);
    const since = (points: typeof all) =>
      points.find(
        ({ name, attributes }) => name === "edge_servlets.runs" && attributes[TOOL] === "greet",
      )!.startTimeUnixNano;
    expect(since(later)).toBe(since(all));
    await again.end();
    // The sending of metrics is no work of the server that traces show.
    expect(collector.spans.some(({ name }) => name.startsWith("Usage.alarm"))).toBe(false);
  });

  test("loses no counts while the collector is down, and logs that once", async () => {
    const variables = {
      ...EVERY_SECOND,
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${collector.url}/v1/metrics`,
    };
    const before = collector.requests.length;
    collector.statuses.push(503, 503);
    const server = await host(await copyOf(), { args, variables });
    await greet(server.url);
    const { text } = await vi.waitFor(
      () => {
        const [, , third] = collector.requests.slice(before);
        if (third === undefined) throw new Error("it was not sent again");
        return third;
      },
      { timeout: 30_000, interval: 50 },
    );
    expect(pointsIn(text)).toContainEqual(
      expect.objectContaining({ name: "edge_servlets.runs", attributes: RETURNED, asInt: "1" }),
    );
    expect(server.output().match(/collector of metrics answered with status 503/g)).toHaveLength(1);
    expect(collector.requests.slice(before).every(({ url }) => url === "/v1/metrics")).toBe(true);
    await server.end();
  });
});

/** A project without counts. */
async function copyOf(): Promise<string> {
  const other = await project();
  await build(other);
  return other;
}
