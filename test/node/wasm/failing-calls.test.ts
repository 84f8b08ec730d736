import { beforeAll, describe, expect, test } from "vitest";
import type { Ending, Program } from "../../../src/server/kernel/wasm/call.ts";
import { idleInstances } from "../../../src/server/kernel/wasm/pool.ts";
import type { Setup } from "../../../src/server/kernel/wasm/setup.ts";
import { liveWorld } from "../../../src/server/kernel/wasm/world.ts";
import { Wait } from "../../../src/server/kernel/core/suspension.ts";
import { assembled, callGuest, programOf } from "../bundle/wasm/wat-guests.ts";

/**
 * A call that fails is put back like one that succeeds, and its instance serves the next. Each case first
 * grows the memory, writes into both memories and changes a global.
 */
const CASES: Record<string, string> = {
  "looks around": `
    (return (i32.or (i32.ne (memory.size) (i32.const 6)) (i32.or (global.get $count)
      (i32.or (i32.load8_u (i32.const 9000)) (i64.ne (call $load (i64.const 50000)) (i64.const 0))))))`,
  returns: "(return (i32.const 0))",
  traps: "(unreachable)",
  "traps beyond its memory": "(i32.store (i32.const -4) (i32.const 1))",
  "traps in the host": "(drop (call $random (i32.const -8) (i32.const 16)))",
  throws: "(throw $tag)",
  "says that it failed": "(call $error (call $alloc (i64.const 8))) (return (i32.const 1))",
  exits: "(call $exit (i32.const 3))",
  "computes too long": `(loop $on
      (i32.store8
        (local.tee $at (i32.and (i32.add (local.get $at) (i32.const 4097)) (i32.const 0x3ffff)))
        (i32.const 1))
      (br $on))`,
  "recurses too deeply": "(drop (call $deep (i32.const 8192)))",
  sleeps: `(call $sleep) (return (i32.const 0))`,
  "catches what ends it and writes on": `
    (try (do (call $sleep))
      (catch_all (memory.fill (i32.const 110000) (i32.const 7) (i32.const 80000))))
    (return (i32.const 0))`,
};
const names = Object.keys(CASES);

const GUEST = `
  (import "extism:host/env" "input_load_u8" (func $input (param i64) (result i32)))
  (import "extism:host/env" "load_u64" (func $load (param i64) (result i64)))
  (import "extism:host/env" "store_u64" (func $store (param i64 i64)))
  (import "extism:host/env" "error_set" (func $error (param i64)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 6)
  (tag $tag)
  (global $count (mut i32) (i32.const 0))
  (func $leave
    (drop (memory.grow (i32.const 1)))
    (memory.fill (i32.const 8190) (i32.const 7) (i32.const 100000))
    (i64.store (i32.const 458744) (i64.const -1))
    (drop (call $random (i32.const 200000) (i32.const 9000)))
    (drop (call $alloc (i64.const 60000)))
    (call $store (i64.const 50000) (i64.const -1))
    (global.set $count (i32.const 1)))
  (func $deep (param $at i32) (result i32)
    (i32.store (local.get $at) (i32.const -1))
    (i32.add
      (call $deep (i32.and (i32.add (local.get $at) (i32.const 4097)) (i32.const 0x3ffff)))
      (i32.const 1)))
  ;; For a minute: a subscription to a clock, all zero but for its timeout.
  (func $sleep
    (memory.fill (i32.const 300000) (i32.const 0) (i32.const 48))
    (i64.store (i32.const 300024) (i64.const 60000000000))
    (drop (call $poll (i32.const 300000) (i32.const 300100) (i32.const 1) (i32.const 300200))))
  (func (export "call") (result i32) (local $at i32)
    (if (call $input (i64.const 0)) (then (call $leave)))
    ${names.map((name, at) => `(if (i32.eq (call $input (i64.const 0)) (i32.const ${at})) (then ${CASES[name]}))`).join("\n")}
    (i32.const 99))`;

/** A client that leaves as soon as the guest sleeps. */
function leaving(): Partial<Setup> {
  const client = new AbortController();
  const sleep = (ms: number, signal: AbortSignal) => {
    const slept = liveWorld.sleep(ms, signal);
    client.abort();
    return slept;
  };
  return { world: { ...liveWorld, sleep }, signal: () => client.signal };
}

const suspending = (): Partial<Setup> => ({
  gate: () => {
    throw new Wait({ kind: "sleep", until: 0, ms: 1 });
  },
});

describe("an instance serves the next call", () => {
  let program: Program;
  beforeAll(async () => {
    program = await programOf(await assembled(GUEST), 16 * 65536);
  });
  const call = (name: string, setup: Partial<Setup> = {}) =>
    callGuest(program, String.fromCharCode(names.indexOf(name)), setup);

  test.each<[string, Ending["kind"] | "cancelled", (() => Partial<Setup>)?]>([
    ["returns", "returned"],
    ["traps", "trapped"],
    ["traps beyond its memory", "trapped"],
    ["traps in the host", "trapped"],
    ["throws", "trapped"],
    ["says that it failed", "refused"],
    ["exits", "refused"],
    ["computes too long", "trapped", () => ({ fuel: 3_000_000 })],
    ["recurses too deeply", "trapped"],
    ["sleeps", "cancelled", leaving],
    ["sleeps", "suspended", suspending],
    ["catches what ends it and writes on", "cancelled", leaving],
    ["catches what ends it and writes on", "suspended", suspending],
  ])("of one that %s: %s", async (name, kind, setup) => {
    for (let round = 0; round < 5; round++) {
      const end = await call(name, setup?.()).then(
        (ending) => ending.kind,
        (error) => error.code ?? error,
      );
      expect(end).toBe(kind);
      expect(idleInstances(program)).toBe(1);
      expect(await call("looks around")).toMatchObject({ kind: "returned" });
      expect(idleInstances(program)).toBe(1);
    }
  });
});

/** Recurses to the given depth, by two functions, and fills another block in each of the last calls. */
const RECURSING = `
  (import "extism:host/env" "input_load_u64" (func $input (param i64) (result i64)))
  (memory (export "memory") 6)
  ;; A number of three digits of 7 bits.
  (func $number (param $at i64) (result i32)
    (local $digits i32)
    (local.set $digits (i32.wrap_i64 (call $input (local.get $at))))
    (i32.or
      (i32.and (local.get $digits) (i32.const 127))
      (i32.or
        (i32.and (i32.shr_u (local.get $digits) (i32.const 1)) (i32.const 0x3f80))
        (i32.and (i32.shr_u (local.get $digits) (i32.const 2)) (i32.const 0x1fc000)))))
  (func $deep (param $left i32) (param $at i32) (result i32)
    (if (i32.le_u (local.get $left) (i32.const 80))
      (then
        (local.set $at (i32.add (local.get $at) (i32.const 4096)))
        (memory.fill (local.get $at) (i32.const 7) (i32.const 4096))))
    (if (i32.eqz (local.get $left)) (then (return (i32.const 0))))
    (i32.add
      (call $deep (i32.sub (local.get $left) (i32.const 1)) (local.get $at))
      (i32.const 3)))
  (func $first (param $left i32) (param $rest i32) (param $sum i64) (result i64)
    (if (i32.eqz (local.get $left))
      (then (return (i64.extend_i32_u (call $deep (local.get $rest) (i32.const 0))))))
    (i64.add
      (local.get $sum)
      (call $first
        (i32.sub (local.get $left) (i32.const 1))
        (local.get $rest)
        (i64.mul (local.get $sum) (i64.load (i32.const 5000))))))
  ;; The function that marks ranges has several callers, so that it is not inlined.
  (func (export "call_tool") (result i32)
    (memory.copy (i32.load (i32.const 0)) (i32.load (i32.const 4)) (i32.load (i32.const 8)))
    (memory.fill (i32.load (i32.const 0)) (i32.load (i32.const 4)) (i32.load (i32.const 8)))
    (i32.const 0))
  (func (export "call") (result i32)
    (drop (call $first (call $number (i64.const 4)) (call $number (i64.const 0)) (i64.const 5)))
    (i32.const 0))`;
const digits = (value: number) =>
  String.fromCharCode(value & 127, (value >> 7) & 127, (value >> 14) & 127, 0);

test("where the stack ends, nothing is written that is not put back", async () => {
  const program = await programOf(await assembled(RECURSING));
  const ends = async (first: number, deep: number) =>
    (await callGuest(program, `${digits(deep)}${digits(first)}\0\0\0\0`)).kind;
  // The first function shifts by a few bytes where in the second the stack ends.
  for (let first = 0; first < 16; first++) {
    let [fits, overflows] = [100, 100_000];
    while (overflows - fits > 50) {
      const middle = (fits + overflows) >> 1;
      if ((await ends(first, middle)) === "returned") fits = middle;
      else overflows = middle;
    }
    await ends(first, overflows + 50);
  }
  expect(idleInstances(program)).toBe(1);
});
