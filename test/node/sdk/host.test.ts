import { afterEach, beforeEach, expect, test } from "vitest";
import { callHost, running } from "../../../src/kit/host.ts";

/** Calls of host functions that features add, from the kit. */
let asked: unknown[];
let answer: object;
const before = globalThis.__host;
beforeEach(() => {
  asked = [];
  running.call = true;
  const call = (name: string, payload: string) => {
    asked.push([name, JSON.parse(payload)]);
    return JSON.stringify(answer);
  };
  globalThis.__host = { call } as typeof __host;
});
afterEach(() => {
  running.call = false;
  globalThis.__host = before;
});

test("a member of a feature gives what its host function gives", async () => {
  answer = { result: { rows: 1 } };
  expect(await callHost("query()", "sql.query", { sql: "x" })).toEqual({ rows: 1 });
  expect(asked).toEqual([["call_host", { name: "sql.query", payload: { sql: "x" } }]]);
});

test("a member of a feature that the server lacks throws the reason", async () => {
  answer = { failed: "There is no host function." };
  await expect(callHost("query()", "sql.query", {})).rejects.toThrow(
    "query(): There is no host function.",
  );
});

test("a member of a feature cannot be called at module scope", async () => {
  running.call = false;
  await expect(callHost("query()", "sql.query", {})).rejects.toThrow(/only inside a handler/);
  expect(asked).toEqual([]);
});
