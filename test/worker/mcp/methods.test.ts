import type { ClientRequest } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import type { MethodName, MethodRow } from "../../../src/server/kernel/mcp/method.ts";
import { rowIn } from "../../../src/server/kernel/mcp/method.ts";
import { methodsWith } from "../../../src/server/kernel/mcp/methods.ts";

/** Compile errors are what these cases are about: `npm run lint` finds an `@ts-expect-error` that expects none. */
test("a method without a row, and a row without a handler, do not compile", () => {
  const row: MethodRow = { list: "tools", cache: "as lists" };
  // @ts-expect-error: it has no handler.
  const idle: MethodRow = { namedBy: "name", cache: "never" };
  // @ts-expect-error: the other methods have no row.
  const table: Record<MethodName, MethodRow> = { "tools/list": row };
  expect([idle, table]).toHaveLength(2);
});

test("each request of the protocol's newest client types has a row", () => {
  const known = (name: ClientRequest["method"]): MethodName => name;
  const methods = methodsWith([]);
  expect(rowIn(methods, known("tools/call"))).toHaveProperty("namedBy", "name");
  expect(rowIn(methods, "toString")).toEqual({});
});
