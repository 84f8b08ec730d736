/// <reference types="@cloudflare/vitest-plugin/types" />
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, onTestFinished, test, vi } from "vitest";
import { countingIn } from "../../../src/server/features/usage/counting.ts";
import { Counts, type CountsBatch } from "../../../src/server/features/usage/counts.ts";
import type { CountedRun } from "../../../src/server/kernel/observe/counted.ts";
import { Metrics, metricsFrom } from "../../../src/server/features/usage/metrics.ts";
import { Usage } from "../../../src/server/features/usage/usage-object.ts";
import { eventually } from "../../worker/waiting.ts";

type Json = Record<string, any>;

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 1);

const run = (given: Partial<CountedRun> = {}): CountedRun => ({
  servlet: "hello",
  tool: "greet",
  caller: "ada",
  outcome: "returned",
  ms: 3,
  fuel: 100,
  ...given,
});

/** What an isolate sends that has counted these runs. */
function taken(runs: readonly CountedRun[]): CountsBatch {
  const counts = new Counts(10, true);
  for (const one of runs) counts.add(one);
  return counts.take()!;
}

/** Metrics in the table of a new object, what its collector is sent, and how it answers. */
async function metricsIn(
  work: (metrics: Metrics, sent: Json[], answers: Response[]) => Promise<void>,
) {
  const sent: Json[] = [];
  const answers: Response[] = [];
  const collector = {
    fetch: async (_url: RequestInfo | URL, { body }: RequestInit = {}) => {
      sent.push(JSON.parse(body as string) as Json);
      return answers.shift() ?? new Response();
    },
  };
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };
  const target = { ...metricsFrom(settings)!, collector } as ConstructorParameters<
    typeof Metrics
  >[1];
  await runInDurableObject(env.USAGE!.getByName(crypto.randomUUID()), (_usage, { storage }) =>
    work(new Metrics(storage.sql, target), sent, answers),
  );
}

const NOTHING = { bytes: new Map<string, number>(), waiting: new Map<string, number>() };

const metric = (message: Json, name: string): Json =>
  message["resourceMetrics"][0].scopeMetrics[0].metrics.find((one: Json) => one["name"] === name);

/** The values of a counter or gauge, by the values of their attributes. */
const valuesOf = (message: Json, name: string): Record<string, number> =>
  Object.fromEntries(
    ((metric(message, name)["sum"] ?? metric(message, name)["gauge"]) as Json)["dataPoints"].map(
      ({ attributes, asInt }: Json) => [
        attributes.map(({ value }: Json) => Object.values(value).join("")).join(" "),
        Number(asInt),
      ],
    ),
  );

test("counters add up by servlet, tool and outcome, and keep their start time", () =>
  metricsIn(async (metrics, sent) => {
    metrics.add(taken([run(), run({ outcome: "trapped" }), run({ tool: "other" })]), NOW);
    metrics.add({ refused: [{ name: "429 too_many", count: 2 }] }, NOW);
    await metrics.send(NOW + 1, NOTHING);
    metrics.add(taken([run({ caller: "bob" })]), NOW + HOUR);
    metrics.add({ refused: [{ name: "429 too_many", count: 1 }] }, NOW + HOUR);
    await metrics.send(NOW + HOUR + 1, { ...NOTHING, bytes: new Map([["hello", 5]]) });
    const [first, second] = sent;
    expect(valuesOf(first!, "edge_servlets.runs")).toEqual({
      "hello greet returned": 1,
      "hello greet trapped": 1,
      "hello other returned": 1,
    });
    expect(valuesOf(second!, "edge_servlets.runs")).toMatchObject({ "hello greet returned": 2 });
    expect(valuesOf(second!, "edge_servlets.fuel")).toEqual({
      "hello greet": 300,
      "hello other": 100,
    });
    expect(valuesOf(second!, "edge_servlets.refused_requests")).toEqual({ "429 too_many": 3 });
    expect(valuesOf(second!, "edge_servlets.stored_bytes")).toEqual({ hello: 5 });
    const { sum } = metric(second!, "edge_servlets.runs");
    expect(sum).toMatchObject({ aggregationTemporality: 2, isMonotonic: true });
    expect(sum.dataPoints[0]).toMatchObject({
      startTimeUnixNano: `${NOW}000000`,
      timeUnixNano: `${NOW + HOUR + 1}000000`,
    });
  }));

test("each duration is counted in one bucket, and each bucket spans a factor of four", () =>
  metricsIn(async (metrics, sent) => {
    const times = [0, 0.9, 1, 3.9, 4.1, 15, 17, 200_000, 263_000, 10_000_000];
    metrics.add(taken(times.map((ms) => run({ ms }))), NOW);
    await metrics.send(NOW, NOTHING);
    const [point] = metric(sent[0]!, "edge_servlets.run.duration")["histogram"].dataPoints;
    const { explicitBounds, bucketCounts, count, sum } = point;
    expect(explicitBounds.slice(0, 4)).toEqual([0.001, 0.004, 0.016, 0.064]);
    expect(explicitBounds.at(-1)).toBe(262.144);
    expect(bucketCounts.map(Number)).toEqual([2, 2, 2, 1, 0, 0, 0, 0, 0, 1, 2]);
    expect(count).toBe("10");
    expect(sum).toBeCloseTo(times.reduce((all, ms) => all + ms, 0) / 1000);
  }));

test("a failed export loses no counts, and is logged once", () =>
  metricsIn(async (metrics, sent, answers) => {
    onTestFinished(() => void vi.restoreAllMocks());
    const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
    answers.push(new Response(null, { status: 500 }), new Response(null, { status: 500 }));
    metrics.add(taken([run()]), NOW);
    for (let nth = 0; nth < 3; nth++) await metrics.send(NOW + nth, NOTHING);
    expect(valuesOf(sent[2]!, "edge_servlets.runs")).toEqual({ "hello greet returned": 1 });
    const lines = warned.mock.calls.flat().filter((line) => String(line).includes("of metrics"));
    expect(lines).toEqual([expect.stringContaining("answered with status 500")]);
  }));

test("tools beyond a thousand are counted together, in each isolate and in total", () =>
  metricsIn(async (metrics, sent) => {
    const named = (first: number, count: number) =>
      Array.from({ length: count }, (_, nth) => run({ tool: `t${first + nth}` }));
    expect(taken(named(0, 1500)).tools).toHaveLength(1001);
    for (let nth = 0; nth < 3; nth++) metrics.add(taken(named(500 * nth, 500)), NOW);
    await metrics.send(NOW, NOTHING);
    const values = valuesOf(sent[0]!, "edge_servlets.runs");
    expect(Object.keys(values)).toHaveLength(1001);
    expect(values["(others) (others) returned"]).toBe(500);
  }));

test("counters of tools that were not called for a month are deleted", () =>
  metricsIn(async (metrics, sent) => {
    metrics.add(taken([run()]), NOW);
    metrics.add(taken([run({ tool: "other" })]), NOW + 31 * 24 * HOUR);
    await metrics.send(NOW, NOTHING);
    expect(Object.keys(valuesOf(sent[0]!, "edge_servlets.runs"))).toEqual(["hello other returned"]);
  }));

test("runs are counted by tool only if metrics are exported, and copies forward the counts", async () => {
  const plain = new Counts(10);
  plain.add(run());
  expect(plain.take()!.tools).toEqual([]);
  const add = vi.fn<(more: CountsBatch) => Promise<void>>(async () => {});
  const copy = countingIn(() => ({ add }))!;
  copy.taken(taken([run()]));
  copy.taken(taken([run({ outcome: "waits" })]));
  await eventually(() => expect(add).toHaveBeenCalledOnce());
  expect(add.mock.calls[0]![0].tools).toMatchObject([
    { servlet: "hello", tool: "greet", ms: 6, outcomes: { returned: 1, waits: 1 } },
  ]);
});

test("metrics are exported again after the clock was a year ahead", () =>
  runInDurableObject(env.USAGE!.getByName(crypto.randomUUID()), async (_usage, state) => {
    const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318", OTEL_COLLECTOR: {} };
    const usage = new Usage(state, { ...env, ...settings } as typeof env);
    await state.storage.setAlarm(Date.now() + 365 * 24 * HOUR);
    await usage.add(taken([run()]));
    expect(await state.storage.getAlarm()).toBeLessThanOrEqual(Date.now() + 60_000);
    await state.storage.deleteAlarm();
  }));

test("a server exports metrics if a collector is named and reachable", () => {
  const OTEL_EXPORTER_OTLP_ENDPOINT = "http://collector:4318";
  const named = { OTEL_EXPORTER_OTLP_ENDPOINT };
  expect(metricsFrom({})).toBeUndefined();
  expect(metricsFrom(named)).toMatchObject({ endpoint: "http://collector:4318/v1/metrics" });
  expect(metricsFrom({ ...named, OTEL_METRICS_EXPORTER: "none" })).toBeUndefined();
  expect(metricsFrom({ ...named, OTEL_SDK_DISABLED: "true" })).toBeUndefined();
  const dev = { ...named, EDGE_SERVLETS_RUNS: "on-loopback" };
  expect(metricsFrom(dev)).toBeUndefined();
  const OTEL_COLLECTOR = { fetch };
  expect(metricsFrom({ ...dev, OTEL_COLLECTOR })!.collector).toBe(OTEL_COLLECTOR);
});
