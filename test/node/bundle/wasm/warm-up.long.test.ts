import { expect, test } from "vitest";
import { dialects } from "../../../../src/server/kernel/servlets/dialects.ts";
import { nobodysCall } from "../../../../src/server/kernel/servlets/servlet.ts";
import { callExport, type Program } from "../../../../src/server/kernel/wasm/call.ts";
import { nobody } from "../../../../src/server/kernel/wasm/pool.ts";
import { liveWorld } from "../../../../src/server/kernel/wasm/world.ts";
import type { Member } from "../../../../src/tools/bundle/bundle.ts";
import { bundling } from "../bundling.ts";

const { bundle } = bundling();

/**
 * A servlet that counts in its memory how often its lists were asked for and its tool was called, and
 * answers both, with four letters that its start has drawn and four that the call draws.
 */
const counting = ({ start = "", list = "", call = "", exports = "" }) => `(module
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
  (import "extism:host/env" "config_get" (func $config (param i64) (result i64)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
 (import "extism:host/env" "var_set" (func $var_set (param i64 i64)))
  (import "extism:host/env" "error_set" (func $error (param i64)))
  (memory (export "memory") 8)
  (data (i32.const 0) "{\\"tools\\":[{\\"name\\":\\"count\\",\\"inputSchema\\":{\\"type\\":\\"object\\"}}]}")
  (data (i32.const 100) "{\\"content\\":[{\\"type\\":\\"text\\",\\"text\\":\\"00 aaaa aaaa\\"}]}")
  (func $block (param $at i32) (param $length i32) (result i64)
    (local $block i64) (local $i i32)
    (local.set $block (call $alloc (i64.extend_i32_u (local.get $length))))
    (loop $more
      (call $store
        (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))
        (i32.load8_u (i32.add (local.get $at) (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $i) (local.get $length))))
    (local.get $block))
  (func $say (param $at i32) (param $length i32)
    (call $output (call $block (local.get $at) (local.get $length)) (i64.extend_i32_u (local.get $length))))
  (func $letters (param $at i32) (local $i i32)
    (drop (call $random (local.get $at) (i32.const 4)))
    (loop $more
      (i32.store8
        (i32.add (local.get $at) (local.get $i))
        (i32.add (i32.const 97) (i32.and (i32.load8_u (i32.add (local.get $at) (local.get $i))) (i32.const 15))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $i) (i32.const 4)))))
  (func $count (param $at i32)
    (i32.store8 (local.get $at) (i32.add (i32.load8_u (local.get $at)) (i32.const 1))))
  (func (export "_initialize") ${start})
  ${exports}
  (func (export "list_tools") (result i32)
    (call $count (i32.const 135)) ${list}
    (call $say (i32.const 0) (i32.const 60))
    (i32.const 0))
  (func (export "call_tool") (result i32)
    (call $count (i32.const 136)) ${call}
    (call $say (i32.const 100) (i32.const 51))
    (i32.const 0)))`;

const START_LETTERS = "(call $letters (i32.const 138))";
const CALL_LETTERS = "(call $letters (i32.const 143))";
const CONFIG = "(drop (call $config (call $block (i32.const 0) (i32.const 4))))";

const SET_VARIABLE =
  "(call $var_set (call $block (i32.const 0) (i32.const 4)) (call $block (i32.const 0) (i32.const 4)))";

const WARM = '"warm": [{ "tool": "count" }, { "tool": "count" }]';
interface Case {
  guest: Parameters<typeof counting>[0];
  manifest?: string;
}

/** Files of servlets that are called so; they have prefixes, as they all have the same tool. */
const filesOf = (cases: Record<string, Case>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(cases).flatMap(([name, { guest, manifest = "" }]) => [
      [`${name}/counting.wat`, counting(guest)],
      [`${name}/servlet.json`, `{ "prefix": "${name}-"${manifest && `, ${manifest}`} }`],
    ]),
  );

/** The texts of so many calls of the tool. */
async function texts({ prepared, dialect, startsOnce }: Member, count = 2): Promise<string[]> {
  const program: Program = {
    module: await WebAssembly.compile(prepared.wasm),
    ...(prepared.base && { base: prepared.base.bytes.buffer }),
    ...(prepared.packages && { packages: prepared.packages.bytes.buffer }),
    ...(prepared.patch && { patch: prepared.patch.bytes.buffer }),
    startsOnce,
    restorable: true,
    checked: true,
    userFunctions: dialects[dialect].userFunctions,
  };
  const servlet = dialects[dialect].connect({
    exports: prepared.exports,
    idsAsGiven: false,
    run: async (name, input, _call, read) =>
      read(await callExport(program, name, input, { ...nobody, world: liveWorld })),
  });
  const said: string[] = [];
  for (let at = 0; at < count; at++) {
    const result = await servlet.callTool("count", {}, nobodysCall);
    said.push(JSON.stringify(result).match(/"text":"([^"]*)"/)![1]!);
  }
  return said;
}

const ONCE = '"start": "once"';
const TIME = "(drop (call $clock (i32.const 0) (i64.const 0) (i32.const 200)))";
const wizer = (name: string) =>
  `(func (export "${name}") (i32.store8 (i32.const 138) (i32.const 122)))`;

/** Takes more fuel than a call has, and half of what there is while a bundle is made: products of floats are the dearest. */
const LONG = `(i32.store (i32.const 300) (i32.const 0)) (loop $long
  (f64.store (i32.const 400) ${"(f64.mul ".repeat(30)} (f64.load (i32.const 400)) ${"(f64.const 1.5))".repeat(30)})
  (i32.store (i32.const 300) (i32.add (i32.load (i32.const 300)) (i32.const 1)))
  (br_if $long (i32.lt_u (i32.load (i32.const 300)) (i32.const 11000000))))`;

test("what is computed once, while a bundle is made, has a tank of its own", async () => {
  const [call, start] = await bundle(
    filesOf({ "long-start": { guest: { start: LONG } }, "long-call": { guest: { call: LONG } } }),
  );
  expect(await texts(start!, 1)).toHaveLength(1);
  expect(await texts(call!, 1)).toEqual([expect.stringContaining("computed for too long")]);
});

test("calls begin after start functions, lists and warm-up calls", async () => {
  const members = await bundle(
    filesOf({
      listed: { guest: {} },
      "config-in-list": { guest: { list: CONFIG } },
      "random-in-list": { guest: { list: CALL_LETTERS } },
      "time-in-list": { guest: { list: TIME } },
      "variable-in-list": { guest: { list: SET_VARIABLE } },
      warm: { guest: { call: CALL_LETTERS }, manifest: WARM },
      seeded: { guest: { start: START_LETTERS } },
      once: { guest: { start: START_LETTERS, call: CALL_LETTERS }, manifest: ONCE },
      "once-again": { guest: { start: START_LETTERS, call: CALL_LETTERS }, manifest: ONCE },
      wizer: { guest: { exports: wizer("wizer-initialize") } },
      "old-wizer": { guest: { exports: wizer("wizer.initialize") } },
    }),
  );
  const member = (name: string) => members.find(({ found }) => found.name === name)!;
  const said = async (name: string) => texts(member(name));

  expect(await said("listed")).toEqual(["11 aaaa aaaa", "11 aaaa aaaa"]);
  for (const name of ["config-in-list", "random-in-list", "time-in-list", "variable-in-list"]) {
    expect(await said(name)).toEqual(["01 aaaa aaaa", "01 aaaa aaaa"]);
  }

  const warm = await said("warm");
  expect(warm.map((text) => text.slice(0, 2))).toEqual(["13", "13"]);
  // Random numbers of a call stay its own.
  expect(warm[0]).not.toBe(warm[1]);

  expect(member("seeded").prepared.patch).toBeUndefined();
  const [one, two] = await said("seeded");
  expect(one).not.toBe(two);

  const [first, second] = await said("once");
  expect(first!.slice(0, 7)).toBe(second!.slice(0, 7));
  expect(first!.slice(3, 7)).not.toBe("aaaa");
  expect(first!.slice(8)).not.toBe(second!.slice(8));
  expect(member("once-again").prepared.hash).toBe(member("once").prepared.hash);

  for (const name of ["wizer", "old-wizer"]) {
    expect(await said(name)).toEqual(["11 zaaa aaaa", "11 zaaa aaaa"]);
  }
});

test("what cannot be warmed up is refused, with the reason", async () => {
  const cases: Record<string, Case & { reason: string | RegExp }> = {
    variable: {
      guest: { call: SET_VARIABLE },
      manifest: WARM,
      reason: "warm-up call of count sets a variable",
    },
    config: {
      guest: { call: CONFIG },
      manifest: WARM,
      reason: "warm-up call of count asks for config_get: a warm-up may ask for the time",
    },
    trap: {
      guest: { call: "unreachable" },
      manifest: WARM,
      reason: "warm-up call of count failed: The servlet crashed",
    },
    endless: {
      guest: { call: "(loop $on (br $on))" },
      manifest: `${WARM}, "compute_limit": 0.1`,
      reason: /warm-up call of count failed: .*comput/,
    },
    failing: {
      guest: { call: "(call $error (call $block (i32.const 0) (i32.const 8)))" },
      manifest: WARM,
      reason: /warm-up call of count failed: ..tools/,
    },
    seeded: {
      guest: { start: START_LETTERS },
      manifest: WARM,
      reason: 'asks for random numbers as it starts: add "start": "once"',
    },
    "config-at-start": {
      guest: { start: CONFIG },
      manifest: ONCE,
      reason: "asks for config_get as it starts",
    },
  };
  const message = await bundle(filesOf(cases)).then(
    () => "nothing was refused",
    (error: Error) => error.message,
  );
  for (const [name, { reason }] of Object.entries(cases)) {
    const line = message.split("\n").find((one) => one.includes(`/${name}:`));
    expect(line).toMatch(reason);
  }
});
