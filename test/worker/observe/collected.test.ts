import { expect, test } from "vitest";
import { CollectedTrace } from "../../../src/server/kernel/observe/collected.ts";
import { exportedOf } from "../../../src/server/kernel/observe/otlp.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { traceSettings } from "../../../src/server/kernel/observe/otel-settings.ts";

/** What callers and guests can make long is not kept at its length: a trace may be held for minutes. */
const LONG = 100_000;
const TRACE = "a".repeat(32);
const settings = traceSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" });

function traceOf(url: string, attributes: Record<string, string>, traceparent = "") {
  const trace = new CollectedTrace(TRACE, Date.now());
  const take = (event: object, spanId = "1".repeat(16)) =>
    trace.take({
      event,
      spanContext: { traceId: TRACE, spanId },
      timestamp: new Date(),
    } as TailStream.TailEvent<TailStream.EventType>);
  const info = {
    type: "fetch",
    method: "POST",
    url,
    headers: [{ name: "Traceparent", value: traceparent }],
  };
  take({ type: "onset", spanId: "1".repeat(16), info }, "");
  take({ type: "spanOpen", name: "fetch", spanId: "2".repeat(16) });
  const named = Object.entries(attributes).map(([name, value]) => ({ name, value }));
  take({ type: "attributes", info: named }, "2".repeat(16));
  take({ type: "spanClose" }, "2".repeat(16));
  take({ type: "return" });
  return trace;
}

const textOf = ({ spans }: CollectedTrace) =>
  JSON.stringify(
    [...spans.values()].map((span) => ({ ...span, attributes: [...span.attributes] })),
  );

test("long addresses, headers and texts are not kept", () => {
  const url = `https://server.example/mcp/${"x".repeat(LONG)}?secret=1`;
  const sent = `https://other.example/${"y".repeat(LONG)}`;
  const trace = traceOf(
    url,
    { "url.full": sent, "mcp.method.name": "z".repeat(LONG) },
    "w".repeat(LONG),
  );
  expect(textOf(trace).length).toBeLessThan(10 * limits.spanCharacters);
  expect(textOf(trace)).not.toContain("secret");
});

test("routes and hosts are told of them", () => {
  const trace = traceOf("https://server.example/ask/token", {
    "url.full": "https://other.example:8443/a?b",
  });
  const [request, sent] = exportedOf(trace, settings, true);
  expect(request?.name).toBe("POST /ask/*");
  expect(sent?.attributes).toEqual([
    { key: "server.address", value: { stringValue: "other.example" } },
  ]);
});

test.each(["/", "/mcp", "/tools/x", "/unknown/token", "/health/x", "/mcpx"])(
  "the route of %s has no more than its first part",
  (path) => {
    const [request] = exportedOf(traceOf(`http://server.example${path}`, {}), settings, true);
    expect(request?.name).toMatch(/^POST( \/[a-z]*(\/\*)?)?$/);
    expect(JSON.stringify(request)).not.toMatch(/token|unknown|mcpx/);
  },
);

test("health checks are not told", () => {
  expect(exportedOf(traceOf("http://server.example/health", {}), settings, true)).toHaveLength(1);
});

test("the RPC layer's spans are left out, and what is in them belongs to the span around them", () => {
  const trace = new CollectedTrace(TRACE, Date.now());
  const take = (event: object, spanId?: string) =>
    trace.take({
      event,
      spanContext: { traceId: TRACE, spanId },
      timestamp: new Date(),
    } as TailStream.TailEvent<TailStream.EventType>);
  const onset = (spanId: string, entrypoint?: string) => ({
    type: "onset",
    spanId,
    info: { type: "jsrpc" },
    ...(entrypoint && { entrypoint }),
  });
  const open = (name: string, spanId: string, parent: string) =>
    take({ type: "spanOpen", name, spanId }, parent);
  const outcome = { type: "outcome", outcome: "ok" };
  take(onset("caller"));
  // The called object's events come by another stream, here before those of the spans around it.
  take(onset("object", "Task"), "call");
  open("durable_object_subrequest", "subrequest", "caller");
  open("jsRpcSession", "session", "subrequest");
  open("jsRpcCall", "call", "session");
  open("jsRpcCall", "called", "object");
  open("work", "work", "called");
  take({ type: "attributes", info: [{ name: "jsrpc.method", value: "get" }] }, "object");
  for (const id of ["work", "called", "call", "session", "subrequest"])
    take({ type: "spanClose" }, id);
  take(outcome, "object");
  expect(trace.isOver).toBe(false);
  take(outcome, "caller");
  expect(trace.isOver).toBe(true);
  const told = exportedOf(trace, settings, true).map((span) => [span.parentSpanId, span.name]);
  expect(told).toEqual([
    [undefined, "jsrpc"],
    ["subrequest", "Task.get"],
    ["caller", "durable_object_subrequest"],
    ["object", "work"],
  ]);
});
