import type { ClientRequest } from "@modelcontextprotocol/client";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { MethodRow } from "../../../src/server/kernel/mcp/method.ts";
import { rowIn } from "../../../src/server/kernel/mcp/method.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { features } from "../../all-features.ts";
import { bundle } from "../../bundle.gen.ts";

/** The case is about a compile error: `npm run lint` finds an `@ts-expect-error` that expects none. */
test("a row without a handler does not compile", () => {
  const row: MethodRow = { list: "tools", cache: "as lists" };
  // @ts-expect-error: it has no handler.
  const idle: MethodRow = { namedBy: "name", cache: "never" };
  expect([row, idle]).toHaveLength(2);
});

/** The requests of the protocol's newest client types, each with the feature that answers it. */
const REQUESTS: Record<ClientRequest["method"], string> = {
  "completion/complete": "kernel",
  initialize: "kernel",
  "logging/setLevel": "kernel",
  ping: "kernel",
  "prompts/get": "kernel",
  "prompts/list": "kernel",
  "resources/list": "kernel",
  "resources/read": "kernel",
  "resources/subscribe": "sessions",
  "resources/templates/list": "kernel",
  "resources/unsubscribe": "sessions",
  "server/discover": "kernel",
  "subscriptions/listen": "sessions",
  "tools/call": "kernel",
  "tools/list": "kernel",
};

test("each request of the protocol's newest client types has a row", () => {
  const { methods } = new Kernel({ ...bundle, features }, env);
  const here = new Set(["kernel", ...features.map(({ name }) => name)]);
  const due = Object.entries(REQUESTS).filter(([, feature]) => here.has(feature));
  expect(Object.keys(methods)).toEqual(expect.arrayContaining(due.map(([method]) => method)));
  expect(rowIn(methods, "toString")).toEqual({});
});
