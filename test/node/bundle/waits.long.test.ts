import { expect, test } from "vitest";
import { pluginMayAsk } from "../../../src/tools/bundle/waits.ts";
import { bundling } from "./bundling.ts";
import { assembled } from "./wasm/wat-guests.ts";

/** Which servlets are known to have no calls that wait. */
const { bundle } = bundling();

const script = (name: string, handler: string) =>
  `import { defineServlet } from "edge-servlets/servlet";
import * as z from "zod/mini";
export default defineServlet({
  tools: { ${name}: { description: "T", input: z.object({ a: z.string() }), handler: ${handler} } },
});`;

test("servlets in TypeScript that mention no way to wait", async () => {
  const handlers = {
    plain: "({ a }) => a.toUpperCase()",
    form: '(_, { elicit }) => elicit({ message: "?", schema: { type: "object", properties: {} } }).then(() => "")',
    context: '(_, context) => context.sleep(1).then(() => "")',
    fetching: '() => fetch("https://example.com").then(() => "")',
    timer: '() => new Promise((end) => setTimeout(() => end(""), 1))',
    returned: '() => ({ resultType: "input_required", requestState: "x" })',
    evaluating: "({ a }) => String(new Function(a)())",
  };
  const calling = { "calling/servlet.json": '{"may_call": ["plain:*"]}' };
  const members = await bundle({
    ...calling,
    "calling/servlet.js": script(
      "calling",
      '(_, { tools }) => tools.plain({ a: "" }).then(() => "")',
    ),
    ...Object.fromEntries(
      Object.entries(handlers).map(([name, handler]) => [
        `${name}/servlet.js`,
        script(name, handler),
      ]),
    ),
  });
  const names = members.filter(({ neverWaits }) => neverWaits).map(({ found }) => found.name);
  expect(names).toEqual(["plain"]);
  const named = (may: boolean | undefined) =>
    members.filter(({ mayAsk }) => mayAsk === may).map(({ found }) => found.name);
  expect(named(true).toSorted()).toEqual(["form", "returned"]);
  expect(named(undefined)).toEqual(["evaluating"]);
});

test("plugins that import nothing that waits, keep no state and return no question", async () => {
  const plugin = (more = "") => `(module ${more}
    (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
    (import "extism:host/env" "output_set" (func $output (param i64 i64)))
    (memory (export "memory") 1)
    (func (export "describe") (result i32)
      (call $output (call $alloc (i64.const 0)) (i64.const 0)) (i32.const 0))
    (func (export "call") (result i32)
      (call $output (call $alloc (i64.const 0)) (i64.const 0)) (i32.const 0)))`;
  const sleeping = `(import "wasi_snapshot_preview1" "poll_oneoff"
    (func $poll (param i32 i32 i32 i32) (result i32)))
    (func (export "uses") (drop (call $poll (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))))`;
  const dynamic = { lists: "dynamic" };
  const members = await bundle({
    "plain/plain.wat": plugin(),
    "plain/servlet.json": JSON.stringify(dynamic),
    "asking/asking.wat": plugin().replace(
      '(memory (export "memory") 1)',
      '(memory (export "memory") 1) (data (i32.const 8) "{\\"resultType\\":\\"input_required\\"}")',
    ),
    "asking/servlet.json": JSON.stringify(dynamic),
    "keeping/keeping.wat": plugin(),
    "keeping/servlet.json": JSON.stringify({ ...dynamic, state: "session" }),
    "sleeping/sleeping.wat": plugin()
      .replace(/\(module /, `(module ${sleeping.split("(func (export")[0]}`)
      .replace(
        '(func (export "call") (result i32)',
        '(func (export "call") (result i32) (drop (call $poll (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))',
      ),
    "sleeping/servlet.json": JSON.stringify(dynamic),
  });
  const names = members.filter(({ neverWaits }) => neverWaits).map(({ found }) => found.name);
  expect(names).toEqual(["plain"]);
  expect(members.filter(({ mayAsk }) => mayAsk).map(({ found }) => found.name)).toEqual(["asking"]);
});

test.each([
  ["create_elicitation", true],
  // Its device flow shows a code to the user.
  ["get_access_token", true],
  ["call_tool", false],
])("a plugin that imports %s may ask: %s", async (name, mayAsk) => {
  const wasm = await assembled(
    `(import "extism:host/user" "${name}" (func (param i64) (result i64)))`,
  );
  expect(pluginMayAsk(wasm)).toBe(mayAsk);
});
