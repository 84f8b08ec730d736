import { expect, test } from "vitest";
import {
  metricSettings,
  sampledAfter,
  sampledAnew,
  traceSettings,
} from "../../../src/server/kernel/observe/otel-settings.ts";

test("variables of OpenTelemetry say where traces go", () => {
  expect(traceSettings({})).toMatchObject({
    endpoint: undefined,
    sampler: "parentbased_always_on",
  });
  const base = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/" };
  expect(traceSettings(base).endpoint).toBe("http://collector:4318/v1/traces");
  const own = { ...base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://traces.example/in?key=1" };
  expect(traceSettings(own).endpoint).toBe("https://traces.example/in?key=1");
  expect(traceSettings({ ...base, OTEL_SDK_DISABLED: "TRUE" }).endpoint).toBeUndefined();
  expect(
    traceSettings({
      ...base,
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic%20YTpi=, x-tenant = 7",
      OTEL_RESOURCE_ATTRIBUTES: "service.name=a,host.name=b",
      OTEL_SERVICE_NAME: "tools",
    }),
  ).toMatchObject({
    headers: [
      ["authorization", "Basic YTpi="],
      ["x-tenant", "7"],
    ],
    resource: [
      ["service.name", "a"],
      ["host.name", "b"],
      ["service.name", "tools"],
    ],
  });
});

test("OTEL variables set the collector and the interval of metrics", () => {
  expect(metricSettings({})).toMatchObject({ endpoint: undefined, intervalMs: 60_000 });
  const base = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/" };
  expect(metricSettings(base).endpoint).toBe("http://collector:4318/v1/metrics");
  const own = {
    ...base,
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "https://metrics.example/in?key=1",
    OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=7,x-key=a",
    OTEL_EXPORTER_OTLP_METRICS_HEADERS: "x-key=b",
    OTEL_METRIC_EXPORT_INTERVAL: "5000",
  };
  expect(metricSettings(own)).toMatchObject({
    endpoint: "https://metrics.example/in?key=1",
    headers: [
      ["x-tenant", "7"],
      ["x-key", "b"],
    ],
    intervalMs: 5000,
  });
  expect(traceSettings(own).endpoint).toBe("http://collector:4318/v1/traces");
  expect(metricSettings({ ...own, OTEL_METRICS_EXPORTER: "none" }).endpoint).toBeUndefined();
});

test("traces have the server's own name and version, unless OTEL variables set others", () => {
  const own = { SERVER_NAME: "weather", SERVER_VERSION: "1.2" };
  const named = [
    ["service.name", "weather"],
    ["service.version", "1.2"],
  ];
  expect(traceSettings(own).resource).toEqual(named);
  expect(traceSettings({ SERVER_NAME: "" }).resource).toEqual([]);
  const last = (settings: object) =>
    new Map(traceSettings({ ...own, ...settings }).resource).get("service.name");
  expect(last({ OTEL_RESOURCE_ATTRIBUTES: "service.name=a" })).toBe("a");
  expect(last({ OTEL_RESOURCE_ATTRIBUTES: "service.name=a", OTEL_SERVICE_NAME: "b" })).toBe("b");
});

test.each([
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"],
  ["OTEL_TRACES_SAMPLER", "sometimes"],
  ["OTEL_TRACES_SAMPLER_ARG", "2"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "secret-without-name"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "secret-name=%"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "a=secret%0d%0ax-b:1"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "secret name=1"],
  ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=secret%E2%82%AC"],
  ["OTEL_EXPORTER_OTLP_METRICS_HEADERS", "a=secret%E2%82%AC"],
  ["OTEL_METRICS_EXPORTER", "prometheus"],
  ["OTEL_METRIC_EXPORT_INTERVAL", "0.1"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "https://user:secret@collector.example"],
])("%s=%s is not valid, and the error does not quote secrets", (name, value) => {
  expect(() => traceSettings({ [name]: value })).toThrow(`The setting ${name} is not valid`);
  expect(() => traceSettings({ [name]: value })).not.toThrow("secret");
});

test("a header of traces comes before the same one of all signals, and none changes what is sent", () => {
  const { headers } = traceSettings({
    OTEL_EXPORTER_OTLP_HEADERS: "Authorization=old,x-tenant=7,Content-Type=text/plain",
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: "authorization=new",
  });
  expect(headers).toEqual([
    ["authorization", "new"],
    ["x-tenant", "7"],
  ]);
});

test("samplers take their share of traces, and parentbased samplers follow the caller", () => {
  const ids = Array.from({ length: 4000 }, () =>
    crypto.getRandomValues(new Uint8Array(16)).toHex(),
  );
  const settings = (sampler: string) =>
    traceSettings({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: "0.25" });
  const ratio = settings("traceidratio");
  const taken = ids.filter((id) => sampledAnew(ratio, id));
  expect(taken.length).toBeGreaterThan(800);
  expect(taken.length).toBeLessThan(1200);
  expect(ids.filter((id) => sampledAnew(settings("always_on"), id))).toHaveLength(4000);
  expect(ids.filter((id) => sampledAnew(settings("always_off"), id))).toHaveLength(0);
  const [traceId] = taken as [string];
  const unsampled = { traceId, isSampled: false };
  expect(sampledAfter(ratio, unsampled)).toBe(true);
  expect(sampledAfter(settings("parentbased_traceidratio"), unsampled)).toBe(false);
});
