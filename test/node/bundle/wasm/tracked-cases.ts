import { beforeAll, expect, test } from "vitest";
import type { Ending, Program } from "../../../../src/server/kernel/wasm/call.ts";
import { idleInstances } from "../../../../src/server/kernel/wasm/pool.ts";
import { assembled, callGuest, programOf } from "./wat-guests.ts";

/**
 * Guests that write in every way there is, each in checked mode: a call throws where the instance that it
 * leaves differs from a new one by a byte.
 */

export const PAGES = 6;
export const END = PAGES * 65536;
export const MAXIMUM = 16;

/** Parts of all these guests. A case is a function of an address, 12288, whose result is its code. */
const PARTS = `
  (import "extism:host/env" "input_load_u8" (func $input (param i64) (result i32)))
  (import "extism:host/env" "error_set" (func $error (param i64)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (type $case (func (param i32) (result i32)))
  (memory (export "memory") ${PAGES})
  (data (i32.const 8190) "pristine")
  (data (i32.const ${END - 4}) "last")
  (data $passive "abcdefghijklmnopqrstuvwxyz")
  (tag $tag (param i32))
  (global $count (mut i32) (i32.const 7))
  (func $next (param $at i32) (result i32) (i32.add (local.get $at) (i32.const 4096)))
  (func $throw (param $at i32) (throw $tag (local.get $at)))`;

export type Case = [name: string, body: string, code: number | "trapped"];

/** Runs each case three times in one instance. */
export function runs(cases: Case[], parts = "") {
  let program: Program;
  beforeAll(async () => {
    const functions = cases.map(
      ([, body], at) =>
        `(func $case${at} (param $at i32) (result i32) (local $a i32) (local $b i32) (local $n i32) ${body})`,
    );
    const names = cases.map((_, at) => `$case${at}`).join(" ");
    const plugin = await assembled(`${PARTS} ${parts} ${functions.join("\n")}
      (table funcref (elem ${names}))
      (func (export "call") (result i32)
        (call_indirect (type $case) (i32.const 12288) (call $input (i64.const 0))))`);
    program = await programOf(plugin, MAXIMUM * 65536, true);
  });
  const rows = cases.map(([name, , code], at) => ({ name, at, code }));
  test.each(rows)("$name", async ({ at, code }) => {
    for (let round = 0; round < 3; round++) {
      expect(codeOf(await callGuest(program, String.fromCharCode(at)))).toBe(code);
      expect(idleInstances(program)).toBe(1);
    }
  });
}

/** The code of a call's end, or how else it ended. */
function codeOf(ending: Ending): number | string {
  if (ending.kind === "returned") return 0;
  if (ending.kind !== "refused") return ending.kind;
  const [, code] = ending.message.match(/ended with code (-?\d+) and no message/) ?? [];
  return code === undefined ? ending.message : Number(code);
}

export const at = "(local.get $at)";
export const num = (value: number) => `(i32.const ${value})`;
export const sum = (...parts: string[]) =>
  parts.reduce((one, other) => `(i32.add ${one} ${other})`);
export const u8 = (address: string) => `(i32.load8_u ${address})`;
/** Runs `body` with $n from `count` down to 1. */
export const times = (count: number, body: string) =>
  `(local.set $n ${num(count)}) (loop $turn ${body} (br_if $turn (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))`;

/** `(i32.store8 …)` of a byte that is not zero. */
export const byte = (base: string, offset = 0) =>
  `(i32.store8 offset=${offset} ${base} (i32.const 9))`;
/** Sets $a to the address of the block so many blocks after that of $at. */
export const toBlock = (count: number) => `(local.set $a (i32.add ${at} ${num(count * 4096)}))`;
export const a = "(local.get $a)";
/** How many of these addresses hold the byte that `byte` writes. */
export const written = (...addresses: number[]) =>
  sum(...addresses.map((one) => `(i32.eq ${u8(num(one))} (i32.const 9))`));
export const [B0, B1, B2, B3] = [12288, 16384, 20480, 24576];
