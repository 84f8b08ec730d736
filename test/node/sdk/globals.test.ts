import { beforeAll, describe, expect, test } from "vitest";
import {
  loadServlet,
  type Script,
  type ServletUnderTest,
} from "../../../src/tools/testing/index.ts";

/** Globals that have to do with time, chance and the end of things; for others see standards.test.ts. */
let servlet: ServletUnderTest;
beforeAll(async () => {
  servlet = await loadServlet("test/node/sdk/servlets/globals");
});

const structured = async (tool: string, script?: Script) => {
  const { result } = await servlet.callTool(tool, {}, script);
  expect(result).not.toHaveProperty("isError");
  return result.structuredContent as Record<string, unknown>;
};

const said = (text: string) => ({ content: [{ type: "text", text }] });

describe("timers", () => {
  test("run in the order of their time", async () => {
    expect(await structured("timers")).toEqual({
      order: ["a 10", "b 10", "at once 10", "tick 15", "c 20", "tick 30", "tick 45"],
    });
  });

  test("come after microtasks", async () => {
    const { result } = await servlet.callTool("microtasks");
    expect(result).toEqual(said("now,microtask,promise,timer"));
  });

  test("that nobody waits for do not run", async () => {
    const { result, logs } = await servlet.callTool("left_over");
    const told = expect.stringMatching(
      /^warn: .*before 1 of its timers.*[^]*setTimeout\n +at .*globals\/servlet\.ts:\d+/,
    );
    expect({ result, logs }).toEqual({ result: said("done"), logs: [told] });
  });

  test("that fail are in the log", async () => {
    const { result, logs } = await servlet.callTool("failing_timer");
    expect(result).toEqual(said("fine"));
    expect(logs).toEqual([
      expect.stringMatching(
        /^error: A timer's callback failed: Error: in a timer\n +at .*test\/node\/sdk\/servlets\/globals\/servlet\.ts:\d+/,
      ),
    ]);
  });
});

test("clocks go from the call's time on", async () => {
  const now = Date.UTC(2030, 0, 1);
  expect(await structured("clock", { now })).toEqual({
    built: 0,
    timeOrigin: now,
    before: [now, 0, "2030-01-01T00:00:00.000Z"],
    after: [now + 250, 250],
  });
});

test("a rejection that is handled late is not in the log", async () => {
  const { result, logs } = await servlet.callTool("late");
  expect({ result, logs }).toEqual({ result: said("fine"), logs: [] });
});

test("Math.random has nothing in common with that of other calls or of the build", async () => {
  const [first, second] = [await structured("random"), await structured("random")];
  expect(first).toMatchObject({ distinct: 1000, within: true });
  // One in 10^20 runs is further off.
  expect(Math.abs(Number(first["halves"]) - 500)).toBeLessThan(150);
  expect(first["built"]).toEqual(second["built"]);
  const numbers = [first["first"], second["first"], ...(first["built"] as number[])];
  expect(new Set([...numbers, 0]).size).toBe(5);
});

test("crypto fills what it is given, and makes UUIDs of version 4", async () => {
  const { uuids, ...rest } = await structured("crypto");
  expect(rest).toEqual({
    untouched: true,
    filled: true,
    largest: 32_768,
    quota: "QuotaExceededError",
  });
  const uuid = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;
  expect(uuids).toEqual([expect.stringMatching(uuid), expect.stringMatching(uuid)]);
  expect(new Set(uuids as string[]).size).toBe(2);
});

describe("AbortSignal", () => {
  test("aborts once", async () => {
    expect(await structured("abort")).toEqual({
      order: ["onabort", "listener abort", "object"],
      before: false,
      after: [true, "AbortError"],
      any: [true, true],
      already: "why",
    });
  });

  test("aborts in time", async () => {
    expect((await servlet.callTool("abort_in_time")).result).toEqual(said("TimeoutError after 50"));
  });
});

test("a Response of one's own", async () => {
  expect(await structured("response")).toEqual({
    json: [201, "application/json", '{"a":1}'],
    form: ["application/x-www-form-urlencoded;charset=UTF-8", "a=1+2", ""],
    empty: "",
  });
});
