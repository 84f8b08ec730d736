import { describe, expect, test } from "vitest";
import {
  addTrace,
  parseTraceparent,
  traceIn,
  traceInHeaders,
} from "../../../src/server/kernel/observe/trace-context.ts";

const PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const OTHER = "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-00";

describe("the trace context of a request", () => {
  test("is what its _meta has, and else what its headers have", () => {
    const headers = traceInHeaders(
      new Headers({ traceparent: OTHER, tracestate: "a=1", baggage: "of=headers" }),
    );
    expect(headers).toEqual({ traceparent: OTHER, tracestate: "a=1", baggage: "of=headers" });
    expect(traceIn({}, headers)).toBe(headers);
    expect(traceIn({ traceparent: PARENT }, headers)).toEqual({
      traceparent: PARENT,
      baggage: "of=headers",
    });
    expect(traceIn({ traceparent: PARENT, tracestate: "b=2", baggage: "c=3" }, headers)).toEqual({
      traceparent: PARENT,
      tracestate: "b=2",
      baggage: "c=3",
    });
    expect(traceIn({ traceparent: "wrong" }, headers)).toEqual(headers);
    expect(traceIn({ traceparent: PARENT }, undefined)).toEqual({ traceparent: PARENT });
  });

  test.each([
    ["no text", 7],
    ["empty", ""],
    ["a megabyte", "a".repeat(1 << 20)],
    ["of version ff", PARENT.replace("00-", "ff-")],
    ["with capitals", PARENT.toUpperCase()],
    ["without a trace", PARENT.replace(/[0-9a-f]{32}/, "0".repeat(32))],
    ["without a span", PARENT.replace("00f067aa0ba902b7", "0".repeat(16))],
    ["given twice", `${PARENT}, ${PARENT}`],
    ["with a line break", `${PARENT}\r\nx-more: 1`],
    ["with more at its end", `${PARENT}-more`],
  ])("has no traceparent that is %s", (_, traceparent) => {
    expect(parseTraceparent(traceparent)).toBeUndefined();
    expect(traceIn({ traceparent, tracestate: "a=1" }, undefined)).toBeUndefined();
  });

  const many = (count: number) => Array.from({ length: count }, (_, nth) => `k${nth}=v`).join(",");

  test.each([
    ["a megabyte", `a=${"b".repeat(1 << 20)}`],
    ["of too many members", many(33)],
    ["with a line break", "a=1\r\nx-more: 1"],
    ["with a control character", "a=\u0001"],
    ["beyond ASCII", "a=\u00e9"],
    ["without a value", "a"],
    ["no text", ["a=1"]],
  ])("has no tracestate that is %s", (_, tracestate) => {
    expect(traceIn({ traceparent: PARENT, tracestate }, undefined)).toEqual({
      traceparent: PARENT,
    });
  });

  test.each([
    ["a megabyte", `a=${"b".repeat(1 << 20)}`],
    ["of too many members", many(65)],
    ["with a line break", "a=1\r\nx-more: 1"],
    ["beyond ASCII", "a=\u202e"],
    ["with quotes", 'a="b"'],
    ["no text", { a: 1 }],
  ])("has no baggage that is %s", (_, baggage) => {
    expect(traceIn({ traceparent: PARENT, baggage }, undefined)).toEqual({ traceparent: PARENT });
    expect(traceIn({ baggage }, undefined)).toBeUndefined();
  });

  test("has lists at their limits", () => {
    const trace = { traceparent: PARENT, tracestate: many(32), baggage: many(64) };
    expect(traceIn(trace, undefined)).toEqual(trace);
    expect(traceIn({ baggage: "a=1;p;q=2, b=%C3%A9" }, undefined)).toEqual({
      baggage: "a=1;p;q=2, b=%C3%A9",
    });
  });
});

test("headers that a request has of its own are kept", () => {
  const trace = { traceparent: PARENT, tracestate: "a=1", baggage: "b=2" };
  const headers = new Headers({ traceparent: OTHER, tracestate: "own=1", baggage: "own=2" });
  addTrace(headers, trace);
  expect(Object.fromEntries(headers)).toEqual({
    traceparent: OTHER,
    tracestate: "own=1",
    baggage: "own=2",
  });
  const mixed = new Headers({ tracestate: "own=1" });
  addTrace(mixed, { traceparent: PARENT });
  expect(Object.fromEntries(mixed)).toEqual({ traceparent: PARENT });
});
