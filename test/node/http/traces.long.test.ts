import { randomBytes } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { mkdtemp } from "node:fs/promises";
import { buildWorker } from "../workerd.ts";
import { collecting, type ReceivedSpan } from "./collector.ts";
import { connectV1, steps } from "./official.ts";
import { serving } from "./serving.ts";

/** Traces of a server that hosts itself, as a collector receives them. */
const collector = await collecting();
const folder = await mkdtemp(join(inject("worker"), "exporter-"));
await buildWorker("src/server/kernel/observe/exporter.ts", folder);
const OTEL = {
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_EXPORTER_OTLP_HEADERS: "x-api-key=a%20key",
  OTEL_SERVICE_NAME: "tools",
  OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
};
const { url } = await serving({ variables: OTEL, exporter: `${basename(folder)}/index.js` });

/** What guests' requests reach. */
let world: Server;
let base: string;
const seen: IncomingHttpHeaders[] = [];
beforeAll(async () => {
  world = createServer((request, response) => {
    seen.push(request.headers);
    response.writeHead(request.url === "/missing" ? 404 : 200).end("private result");
  });
  await new Promise<void>((resolve) => world.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(world.address() as AddressInfo).port}`;
});
afterAll(() => {
  world.closeAllConnections();
  world.close();
  collector.close();
});

const newId = (bytes: number) => randomBytes(bytes).toString("hex");

/** The context that a caller sends. */
function newTrace(flags = "01") {
  const [traceId, spanId] = [newId(16), newId(8)];
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${flags}` };
}

interface Sent {
  meta?: object;
  headers?: Record<string, string>;
  params?: object;
  method?: string;
  capabilities?: object;
}

async function call(name: string, args: object, sent: Sent = {}) {
  const { method = "tools/call", headers, params, meta, capabilities = {} } = sent;
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { elicitation: {}, ...capabilities },
    ...meta,
  };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      "mcp-name": name,
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: "request-7",
      method,
      params: { name, arguments: args, ...params, _meta },
    }),
  });
  return (await response.json()) as { result?: any; error?: any };
}

const named = (spans: readonly ReceivedSpan[], name: string) =>
  spans.find((span) => span.name === name)!;

const [INTERNAL, SERVER, CLIENT] = [1, 2, 3];

describe("a request", () => {
  test("is a part of the trace in its _meta, and linked with that of its HTTP request", async () => {
    const { traceId, spanId, traceparent } = newTrace();
    await call("greet", { name: "Ada" }, { meta: { traceparent } });
    const spans = await collector.spansOf(traceId, "tools/call greet", "run hello", "POST /mcp");
    const request = named(spans, "tools/call greet");
    expect(request).toMatchObject({ parentSpanId: spanId, kind: SERVER, status: {} });
    expect(request.attributes).toEqual({
      "mcp.method.name": "tools/call",
      "mcp.protocol.version": "2026-07-28",
      "jsonrpc.request.id": "request-7",
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "greet",
      "network.protocol.name": "http",
      "network.transport": "tcp",
    });
    const http = named(spans, "POST /mcp");
    expect(http).toMatchObject({ kind: SERVER });
    expect(http).not.toHaveProperty("parentSpanId");
    expect(http.attributes).toMatchObject({
      "http.request.method": "POST",
      "http.route": "/mcp",
      "http.response.status_code": "200",
    });
    expect(request.links).toEqual([{ traceId: http.traceId, spanId: http.spanId }]);
    const run = named(spans, "run hello");
    expect(run).toMatchObject({ parentSpanId: request.spanId, kind: INTERNAL });
    expect(run.attributes).toMatchObject({
      "edge_servlets.servlet": "hello",
      "edge_servlets.outcome": "returned",
    });
    expect(BigInt(request.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(run.startTimeUnixNano));
  });

  test("is a part of the trace in its HTTP headers", async () => {
    const { traceId, spanId, traceparent } = newTrace();
    await call("greet", { name: "Ada" }, { headers: { traceparent } });
    const spans = await collector.spansOf(traceId, "tools/call greet", "POST /mcp");
    const http = named(spans, "POST /mcp");
    expect(http.parentSpanId).toBe(spanId);
    expect(named(spans, "tools/call greet")).toMatchObject({
      parentSpanId: http.spanId,
      links: [],
    });
  });

  test("that comes without a trace begins one", async () => {
    await call("greet", { name: "Ada" }, { meta: { "x/none": true }, params: { other: 1 } });
    await call("fetch", { request: { url: `${base}/begun` }, body: "" });
    const { traceparent } = seen.at(-1)!;
    const traceId = String(traceparent).split("-")[1]!;
    const spans = await collector.spansOf(
      traceId,
      "GET",
      "run probe",
      "tools/call fetch",
      "POST /mcp",
    );
    const ids = new Set(spans.map((span) => span.spanId));
    const roots = spans.filter(({ parentSpanId }) => parentSpanId === undefined);
    expect(roots.map(({ name }) => name)).toEqual(["POST /mcp"]);
    for (const span of spans) expect(ids.has(span.parentSpanId ?? roots[0]!.spanId)).toBe(true);
  });

  test("tells how it failed, and takes no name from its caller", async () => {
    const { traceId, traceparent } = newTrace();
    await call("no-such", {}, { meta: { traceparent } });
    await call("fail", {}, { meta: { traceparent }, method: "made/up" });
    await call("fetch", { request: { url: "https://evil.example" } }, { meta: { traceparent } });
    const spans = await collector.spansOf(traceId, "tools/call", "_OTHER", "tools/call fetch");
    expect(named(spans, "tools/call")).toMatchObject({
      status: { code: 2 },
      attributes: {
        "error.type": "-32602",
        "rpc.response.status_code": "-32602",
        "edge_servlets.fault": "invalid_params",
      },
    });
    expect(named(spans, "_OTHER").attributes).toMatchObject({ "error.type": "-32601" });
    expect(named(spans, "tools/call fetch").attributes).toMatchObject({
      "error.type": "tool_error",
    });
    expect(JSON.stringify(spans)).not.toMatch(/such|made\/up|evil/);
  });

  test("that its caller has not sampled is not exported; nor are questions about the server's health", async () => {
    const [unsampled, sampled] = [newTrace("00"), newTrace()];
    await fetch(new URL("/health", url));
    await call("greet", { name: "Ada" }, { meta: { traceparent: unsampled.traceparent } });
    await call("greet", { name: "Ada" }, { meta: { traceparent: sampled.traceparent } });
    await collector.spansOf(sampled.traceId, "POST /mcp");
    expect(collector.spans.filter(({ traceId }) => traceId === unsampled.traceId)).toEqual([]);
    expect(collector.spans.filter(({ name }) => name.includes("health"))).toEqual([]);
  });
});

describe("a guest's HTTP request", () => {
  test("is a span, of which the other server's work is a part", async () => {
    const { traceId, traceparent } = newTrace();
    const meta = { traceparent, tracestate: "vendor=1", baggage: "user=alice" };
    await call("fetch", { request: { url: `${base}/x?key=private-key` }, body: "" }, { meta });
    const spans = await collector.spansOf(traceId, "GET", "run probe");
    const sent = named(spans, "GET");
    expect(sent).toMatchObject({ kind: CLIENT, parentSpanId: named(spans, "run probe").spanId });
    expect(sent.attributes).toMatchObject({
      "http.request.method": "GET",
      "server.address": "127.0.0.1",
      "http.response.status_code": "200",
    });
    expect(seen.at(-1)).toMatchObject({
      traceparent: `00-${traceId}-${sent.spanId}-01`,
      tracestate: "vendor=1",
      baggage: "user=alice",
    });
    expect(spans.filter(({ name }) => name === "fetch")).toEqual([]);
    const all = collector.requests.map(({ text }) => text).join("\n");
    expect(all).not.toMatch(/private|alice|traceparent|url\.full/);
  });

  test("that says of which trace it is keeps that", async () => {
    const [callers, own] = [newTrace(), newTrace().traceparent];
    const request = { url: `${base}/missing`, headers: { traceparent: own, tracestate: "own=1" } };
    const meta = { traceparent: callers.traceparent, tracestate: "vendor=1" };
    await call("fetch", { request, body: "" }, { meta });
    expect(seen.at(-1)).toMatchObject({ traceparent: own, tracestate: "own=1" });
    const spans = await collector.spansOf(callers.traceId, "GET");
    expect(named(spans, "GET")).toMatchObject({
      status: { code: 2 },
      attributes: { "error.type": "404" },
    });
  });
});

describe("a call that goes on later", () => {
  test("asks in a span, and goes on in the trace of the answer, linked with its own", async () => {
    const [first, second] = [newTrace(), newTrace()];
    const args = steps({ do: "http", url: `${base}/once` }, { do: "elicit", message: "Who?" });
    const asked = await call("plan_never", args, { meta: { traceparent: first.traceparent } });
    const { requestState, inputRequests } = asked.result;
    const count = seen.length;
    const inputResponses = Object.fromEntries(
      Object.keys(inputRequests).map((key) => [
        key,
        { action: "accept", content: { value: "Ada" } },
      ]),
    );
    const params = { requestState, inputResponses };
    const meta = { traceparent: second.traceparent };
    const finished = await call("plan_never", args, { meta, params });
    expect(finished).toMatchObject({ result: { resultType: "complete" } });
    expect(seen).toHaveLength(count);

    const before = await collector.spansOf(
      first.traceId,
      "tools/call plan_never",
      "run durable",
      "elicitation/create",
    );
    const run = named(before, "run durable");
    expect(run.attributes).toMatchObject({ "edge_servlets.outcome": "waits" });
    expect(named(before, "elicitation/create")).toMatchObject({
      kind: CLIENT,
      parentSpanId: run.spanId,
      status: {},
      attributes: { "mcp.method.name": "elicitation/create", "edge_servlets.outcome": "waits" },
    });
    const after = await collector.spansOf(second.traceId, "replay durable");
    const { spanId, traceId } = named(before, "tools/call plan_never");
    expect(named(after, "replay durable")).toMatchObject({ links: [{ spanId, traceId }] });
    expect(named(after, "replay durable").attributes).toMatchObject({
      "edge_servlets.replayed": "2",
    });
    expect(after.filter(({ name }) => name === "GET")).toEqual([]);
  });

  test("as a task is linked with the request that made it", async () => {
    const { traceId, traceparent } = newTrace();
    const args = steps({ do: "http", url: `${base}/task` });
    const meta = { traceparent, baggage: "a=1" };
    const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
    const { result } = await call("plan_always", args, { meta, capabilities });
    expect(result.resultType).toBe("task");
    const spans = await collector.spansOf(traceId, "tools/call plan_always");
    const made = named(spans, "tools/call plan_always");
    const reached = seen.findLast(({ baggage }) => baggage === "a=1")!;
    const later = String(reached["traceparent"]).split("-")[1]!;
    expect(later).not.toBe(traceId);
    const rest = await collector.spansOf(
      later,
      "tools/call plan_always",
      "Task.alarm",
      "GET",
      "run durable",
    );
    expect(named(rest, "tools/call plan_always")).toMatchObject({
      links: [{ traceId, spanId: made.spanId }],
      parentSpanId: named(rest, "Task.alarm").spanId,
    });
    expect(named(rest, "GET")).toMatchObject({ parentSpanId: named(rest, "run durable").spanId });
  });
});

test("a servlet that keeps state commits in a span of the object that has it", async () => {
  const { traceId, traceparent } = newTrace();
  await call("counting-next", {}, { meta: { traceparent } });
  // From the object over the call of it to the request: all in one trace, though its parts are exported apart.
  const way = async () => {
    const spans = await collector.spansOf(traceId, "commit counting");
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    const names: string[] = [];
    const { attributes, parentSpanId } = named(spans, "commit counting");
    expect(Number(attributes["edge_servlets.state_bytes"])).toBeGreaterThan(0);
    for (let span = byId.get(parentSpanId!); span; span = byId.get(span.parentSpanId!))
      names.push(span.name);
    return names;
  };
  await expect
    .poll(way)
    .toEqual([
      "ServletState.run",
      "durable_object_subrequest",
      "run counting",
      "tools/call counting-next",
    ]);
});

test("a session's calls are spans in the session's object, under a fingerprint of its id", async () => {
  const { client, transport } = await connectV1(url, {});
  const { traceId, spanId, traceparent } = newTrace();
  const params = { name: "greet", arguments: { name: "Ada" }, _meta: { traceparent } };
  await client.callTool(params);
  const spans = await collector.spansOf(traceId, "tools/call greet");
  const request = named(spans, "tools/call greet");
  expect(request).toMatchObject({ parentSpanId: spanId, kind: SERVER });
  expect(request.attributes).toMatchObject({
    "mcp.protocol.version": "2025-11-25",
    "mcp.session.id": expect.stringMatching(/^[0-9a-f]{32}$/),
  });
  const all = collector.requests.map(({ text }) => text).join("\n");
  expect(all).not.toContain(transport.sessionId);
  await client.close();
});

test("a tool that is called without MCP is a span of GenAI", async () => {
  const { traceId, traceparent } = newTrace();
  const call_id = crypto.randomUUID();
  const body = JSON.stringify({ tool_id: "Greet@1.0.0", call_id, input: { name: "Ada" } });
  const tools = await fetch(new URL("/tools", url)).then((response) => response.json() as any);
  const { id } = tools.items.find((item: any) => /greet/i.test(item.id));
  const headers = { "content-type": "application/json", traceparent };
  const request = body.replace("Greet@1.0.0", id);
  const sent = { method: "POST", headers, body: JSON.stringify({ request: JSON.parse(request) }) };
  const response = await fetch(new URL("/tools/call", url), sent);
  expect(await response.json()).toMatchObject({ result: { success: true } });
  const spans = await collector.spansOf(traceId, `execute_tool ${id}`, "CallRecord.run");
  expect(named(spans, `execute_tool ${id}`)).toMatchObject({
    parentSpanId: named(spans, "CallRecord.run").spanId,
    attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": id },
  });
});

test("a collector that is away for a moment gets everything later", async () => {
  collector.statuses.push(503, 503);
  const { traceId, traceparent } = newTrace();
  await call("greet", { name: "Ada" }, { meta: { traceparent } });
  await collector.spansOf(traceId, "tools/call greet");
  expect(collector.statuses).toEqual([]);
});

test("the collector is told which server it is, in the form and with the headers that it asks for", async () => {
  const { traceId, traceparent } = newTrace();
  await call("greet", { name: "Ada" }, { meta: { traceparent } });
  await collector.spansOf(traceId, "tools/call greet");
  const { url: path, headers, text } = collector.requests[0]!;
  expect(path).toBe("/v1/traces");
  expect(headers).toMatchObject({ "content-type": "application/json", "x-api-key": "a key" });
  const { resourceSpans } = JSON.parse(text) as { resourceSpans: [{ resource: object }] };
  expect(resourceSpans[0].resource).toMatchObject({
    attributes: expect.arrayContaining([
      { key: "service.name", value: { stringValue: "tools" } },
      { key: "deployment.environment.name", value: { stringValue: "test" } },
    ]),
  });
});
