import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import {
  configureTracing,
  inHttpSpan,
  inLaterSpan,
  inRequestSpan,
  inSpan,
} from "../../../src/server/kernel/observe/spans.ts";

/** Spans as they are recorded. test/node/http/traces.long.test.ts has them by the platform, up to a collector. */
let spans: { name: string; attributes: Record<string, unknown> }[];
let isTraced: boolean;
const recorder = {
  getActiveSpan: () => ({ isTraced, setAttribute: () => {} }),
  enterSpan<T>(
    name: string,
    work: (span: {
      isTraced: boolean;
      setAttribute(key: string, value: string | number | boolean): void;
    }) => T,
  ): T {
    const attributes: Record<string, unknown> = {};
    spans.push({ name, attributes });
    return work({
      isTraced: true,
      setAttribute: (key, value) => void (attributes[key] = value),
    });
  },
};
const EXPORTED = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };

beforeEach(() => {
  [spans, isTraced] = [[], true];
  configureTracing(recorder, EXPORTED);
});
afterEach(() => configureTracing(undefined, {}));

const start = () => ({ name: "tools/call greet", attributes: {} });
const PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

describe("while nobody listens", () => {
  beforeEach(() => {
    isTraced = false;
  });

  test("there are no spans, and requests carry the caller's trace unchanged", async () => {
    const received = { traceparent: PARENT, tracestate: "a=1" };
    const never = () => {
      throw new Error("described");
    };
    const trace = await inRequestSpan(received, never, async (own) => own);
    expect(trace).toBe(received);
    await inSpan(trace, never, async (span) => span.set({ a: 1 }));
    const request = new Request("https://example.com/", { headers: received });
    const sent = await inHttpSpan(trace, request, async (one) => Response.json(one === request));
    expect(await sent.json()).toBe(true);
    expect(spans).toEqual([]);
  });

  test("a call that goes on later has the trace that it began in, recorded or not", async () => {
    const earlier = { traceparent: PARENT, baggage: "a=1", isRecorded: true, link: PARENT };
    const trace = await inLaterSpan(earlier, start, async (own) => own);
    expect(trace).toEqual({ traceparent: PARENT, baggage: "a=1" });
    expect(spans).toEqual([]);
  });
});

test("strings from outside are shortened and made printable", async () => {
  const name = `run ${"\u202e\u{1f600}".repeat(200)}`;
  const attributes = { text: `${"a".repeat(1000)}\n`, other: "b\u0000\u202e", none: undefined };
  await inRequestSpan(
    undefined,
    () => ({ name, attributes }),
    async () => {},
  );
  const [span] = spans;
  expect(new TextEncoder().encode(span!.name).length).toBeLessThanOrEqual(64);
  expect(span!.name).not.toMatch(/\u202e|\ufffd/);
  expect(span!.attributes).toMatchObject({
    text: "a".repeat(limits.spanCharacters),
    other: "b\\u{0}\\u{202e}",
  });
  expect(span!.attributes).not.toHaveProperty("none");
});

test("a request has a limited number of spans, and its work is done without more", async () => {
  const { requestSpans } = limits;
  let done = 0;
  await inRequestSpan(undefined, start, async (trace) => {
    for (let nth = 0; nth < requestSpans + 5; nth++)
      await inSpan(trace, start, async () => void done++);
    const sent = new Request("https://example.com/", {
      headers: { traceparent: trace!.traceparent! },
    });
    // Beyond, the request's own span is the parent.
    await inHttpSpan(trace, sent, async (one) => {
      expect(one.headers.get("traceparent")).toBe(trace!.traceparent);
      return new Response();
    });
  });
  expect(done).toBe(requestSpans + 5);
  expect(spans).toHaveLength(requestSpans);
});

test("if the platform exports spans with its own ids, requests carry the caller's traceparent unchanged", async () => {
  configureTracing(recorder, {});
  const received = { traceparent: PARENT };
  await inRequestSpan(received, start, async (trace) => {
    const headers = { traceparent: trace!.traceparent! };
    await inHttpSpan(trace, new Request("https://example.com/", { headers }), async (one) => {
      expect(one.headers.get("traceparent")).toBe(PARENT);
      return new Response();
    });
  });
  expect(spans.map(({ name }) => name)).toEqual(["tools/call greet", "GET"]);
  expect(spans[0]!.attributes).toEqual({ "edge_servlets.parent": PARENT });
});

test("there are no spans on a machine of one's own without a collector, where nobody listens", async () => {
  configureTracing(recorder, { EDGE_SERVLETS_RUNS: "self-hosted" });
  await inRequestSpan(undefined, start, async (trace) => expect(trace).toBe(undefined));
  configureTracing(recorder, { EDGE_SERVLETS_RUNS: "self-hosted", ...EXPORTED });
  await inRequestSpan(undefined, start, async () => {});
  expect(spans.map(({ name }) => name)).toEqual(["tools/call greet"]);
});

test("a failed request to a host records only the class of the error", async () => {
  await inRequestSpan(undefined, start, async (trace) => {
    const request = new Request("https://example.com/secret", { method: "PURGE" });
    const failing = inHttpSpan(trace, request, () =>
      Promise.reject(new TypeError("cannot reach https://example.com/secret")),
    );
    await expect(failing).rejects.toThrow("cannot reach");
  });
  expect(spans[1]).toMatchObject({
    name: "HTTP",
    attributes: { "http.request.method": "_OTHER", "error.type": "TypeError" },
  });
  expect(JSON.stringify(spans)).not.toContain("secret");
});
