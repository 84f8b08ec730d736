import { beforeAll, describe, expect, test } from "vitest";
import type { Ending, Program } from "../../../../src/wasm/call.ts";
import { idleInstances } from "../../../../src/wasm/pool.ts";
import { assembled, callGuest, programOf } from "./wat-guests.ts";

/**
 * Guests that write in every way there is, each in checked mode: a call throws where the instance that it
 * leaves differs from a new one by a byte.
 */

const PAGES = 6;
const END = PAGES * 65536;
const MAXIMUM = 16;

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

type Case = [name: string, body: string, code: number | "trapped"];

/** Runs each case three times in one instance. */
function runs(cases: Case[], parts = "") {
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
    program = await programOf(plugin, MAXIMUM * 65536);
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

const at = "(local.get $at)";
const num = (value: number) => `(i32.const ${value})`;
const sum = (...parts: string[]) => parts.reduce((one, other) => `(i32.add ${one} ${other})`);
const u8 = (address: string) => `(i32.load8_u ${address})`;
/** Runs `body` with $n from `count` down to 1. */
const times = (count: number, body: string) =>
  `(local.set $n ${num(count)}) (loop $turn ${body} (br_if $turn (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))`;

describe("memory in bulk", () => {
  const trapping = (name: string, body: string): Case => [
    name,
    `(i32.store8 ${at} (i32.const 9)) ${body} (i32.const 1)`,
    "trapped",
  ];
  runs([
    [
      "a fill of all of it",
      `(memory.fill (i32.const 0) (i32.const 7) ${num(END)}) ${sum(u8(num(0)), u8(num(END - 1)), u8(num(8191)))}`,
      21,
    ],
    [
      "a fill across a border",
      `(memory.fill (i32.sub ${at} (i32.const 3)) (i32.const 7) (i32.const 5)) ${sum(u8("(i32.const 12285)"), u8("(i32.const 12289)"), u8("(i32.const 12290)"))}`,
      14,
    ],
    [
      "a fill of many blocks, of one byte at both ends",
      `(memory.fill (i32.sub ${at} (i32.const 1)) (i32.const 7) (i32.const 12290)) ${sum(u8("(i32.const 12287)"), u8("(i32.const 24576)"), u8("(i32.const 24577)"))}`,
      14,
    ],
    [
      "an initialisation across a border",
      `(memory.init $passive (i32.sub ${at} (i32.const 4)) (i32.const 1) (i32.const 8)) (i32.load (i32.sub ${at} (i32.const 4)))`,
      0x65646362,
    ],
    [
      "an overlapping copy upward",
      `(memory.copy (i32.const 8194) (i32.const 8190) (i32.const 8)) (i32.load (i32.const 8194))`,
      0x73697270,
    ],
    [
      "an overlapping copy downward",
      `(memory.copy (i32.const 8188) (i32.const 8190) (i32.const 8)) (i32.load (i32.const 8192))`,
      0x656e6974,
    ],
    [
      "a copy from the end to many blocks",
      `(memory.copy ${at} ${num(END - 20000)} (i32.const 20000)) (i32.load (i32.add ${at} (i32.const 19996)))`,
      0x7473616c,
    ],
    [
      "lengths of zero",
      `(memory.fill ${at} (i32.const 7) (i32.const 0)) (memory.copy ${at} ${at} (i32.const 0)) (memory.init $passive ${at} (i32.const 26) (i32.const 0)) (memory.fill ${num(END)} (i32.const 7) (i32.const 0)) ${u8(at)}`,
      0,
    ],
    trapping(
      "a length of zero beyond the end",
      `(memory.fill (i32.const -1) (i32.const 7) (i32.const 0))`,
    ),
    trapping(
      "a fill that wraps around",
      `(memory.fill (i32.const -4096) (i32.const 7) (i32.const 8192))`,
    ),
    trapping("a fill of nearly 4 GiB", `(memory.fill ${at} (i32.const 7) (i32.const -1))`),
    trapping(
      "a fill that ends where addresses do",
      `(memory.fill ${at} (i32.const 7) (i32.sub (i32.const 0) ${at}))`,
    ),
    trapping(
      "a fill beyond the largest memory",
      `(memory.fill ${at} (i32.const 7) ${num(MAXIMUM * 65536 * 2)})`,
    ),
    trapping(
      "a copy to where it wraps around",
      `(memory.copy (i32.const -16) ${at} (i32.const 32))`,
    ),
    trapping(
      "a copy from where it wraps around",
      `(memory.copy ${at} (i32.const -16) (i32.const 32))`,
    ),
    trapping(
      "an initialisation that wraps around",
      `(memory.init $passive (i32.const -4) (i32.const 0) (i32.const 8))`,
    ),
    trapping(
      "an initialisation beyond the segment",
      `(memory.init $passive ${at} (i32.const 20) (i32.const 8))`,
    ),
    [
      "the host's writes",
      `(drop (call $random (i32.sub ${at} (i32.const 5000)) (i32.const 10000))) (i32.ne (i32.const 0) (i32.or (i32.load offset=4 ${at}) (i32.load offset=8 ${at})))`,
      1,
    ],
  ]);
});

describe("the size of memory", () => {
  runs([
    [
      "a page more in each call, written at its end",
      `(local.set $n (memory.grow (i32.const 1)))
       (i32.store8 ${num(END + 65535)} (i32.const 1))
       (i32.store16 ${num(END - 1)} (i32.const -1))
       ${sum("(local.get $n)", "(i32.mul (memory.size) (i32.const 100))")}`,
      706,
    ],
    [
      "as much as there is, page by page, all of it written",
      `(loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
       (local.set $n (i32.load8_u ${num(END + 70000)}))
       (memory.fill (i32.const 0) (i32.const 7) ${num(MAXIMUM * 65536)})
       ${sum("(local.get $n)", "(memory.size)")}`,
      16,
    ],
    [
      "nothing, too much, and far too much",
      sum(
        "(i32.eq (memory.grow (i32.const 0)) (i32.const 6))",
        "(i32.eq (memory.grow (i32.const 11)) (i32.const -1))",
        "(i32.eq (memory.grow (i32.const -1)) (i32.const -1))",
        "(i32.eq (memory.grow (i32.const 0x80000000)) (i32.const -1))",
        "(i32.eq (memory.grow (i32.const -7)) (i32.const -1))",
        "(i32.eq (memory.grow (i32.const 10)) (i32.const 6))",
        "(i32.eq (memory.grow (i32.const 1)) (i32.const -1))",
        "(memory.size)",
      ),
      23,
    ],
    [
      "new pages are zero",
      `(drop (memory.grow (i32.const 10)))
       (local.set $a ${num(END)})
       (loop $next
         (local.set $b (i32.or (local.get $b) (i32.load (local.get $a))))
         (br_if $next (i32.lt_u (local.tee $a (i32.add (local.get $a) (i32.const 4))) ${num(MAXIMUM * 65536)})))
       (memory.fill ${num(END)} (i32.const 255) ${num((MAXIMUM - PAGES) * 65536)})
       (local.get $b)`,
      0,
    ],
    [
      "a write between its own size and the true one",
      `(i32.store ${num(END + 65530)} (i32.const 5)) (i32.load ${num(END + 65530)})`,
      5,
    ],
  ]);
});

/** Every store, with the width in bytes of what it writes. */
const STORES: [store: string, bytes: number, value: string][] = [
  ["i32.store", 4, "(i32.const -1)"],
  ["i32.store8", 1, "(i32.const -1)"],
  ["i32.store16", 2, "(i32.const -1)"],
  ["i64.store", 8, "(i64.const -1)"],
  ["i64.store8", 1, "(i64.const -1)"],
  ["i64.store16", 2, "(i64.const -1)"],
  ["i64.store32", 4, "(i64.const -1)"],
  ["f32.store", 4, "(f32.const -nan:0x7fffff)"],
  ["f64.store", 8, "(f64.const -nan:0xfffffffffffff)"],
  ["v128.store", 16, "(v128.const i64x2 -1 -1)"],
  ["v128.store8_lane", 1, "(v128.const i64x2 -1 -1)"],
  ["v128.store16_lane", 2, "(v128.const i64x2 -1 -1)"],
  ["v128.store32_lane", 4, "(v128.const i64x2 -1 -1)"],
  ["v128.store64_lane", 8, "(v128.const i64x2 -1 -1)"],
];

/** A store with any offset, whose lane is the first. */
function storing(store: string, value: string) {
  const isLane = store.endsWith("_lane");
  return (base: string, offset = 0) =>
    `(${store} offset=${offset} align=1 ${isLane ? "0" : ""} ${base} ${value})`;
}

function storeCases(name: string, bytes: number, value: string): Case[] {
  const store = storing(name, value);
  const high = (address: number) => `(i32.shr_u ${u8(num(address))} (i32.const 5))`;
  const cases: Case[] = [
    [
      "around a border, at each distance",
      times(20, store(`(i32.sub (i32.const 12298) (local.get $n))`)) +
        sum(high(12278), high(12287), high(12288)),
      21,
    ],
    [
      "the same by offsets of one base",
      Array.from({ length: 20 }, (_, k) => store(at, k)).join(" ") + high(12288 + 18 + bytes),
      7,
    ],
    [
      "at the last byte, by a base, an offset and a constant",
      `${store(`(i32.add ${at} ${num(END - bytes - 12288)})`)}
       ${store(`(i32.sub ${at} (i32.const 12288))`, END - bytes)}
       ${store(num(END - bytes))} ${store(num(4), END - bytes - 4)}
       ${sum(high(END - 1), high(END - bytes))}`,
      14,
    ],
    [
      "with large offsets, rising and falling, of one base",
      [0, 255, 256, 257, 4095, 4096, 100_000, 300_000, 299_999, 99_000, 5_000, 4_097, 241, 240]
        .map((offset) => store(at, offset))
        .join(" ") + sum(high(12288 + 300_000), high(12288 + 99_000), high(12288 + 4095)),
      21,
    ],
    [
      "with constant bases, over the border of a block",
      `${store(num(20479))} ${store(num(20470))} ${store(num(20470), 4096)} ${store(num(0), 20481)} ${sum(high(20479), high(20470), high(24566), high(20481))}`,
      28,
    ],
    [
      "beyond the end: nothing is written",
      `${store(at)} ${store(at, 4_294_967_295)} ${num(1)}`,
      "trapped",
    ],
    [
      "where the address wraps around: nothing is written",
      `${store(at)} ${store(num(-1), 2)} ${num(1)}`,
      "trapped",
    ],
  ];
  return cases.map(([what, code, result]) => [`${name} ${what}`, code, result]);
}

describe("stores", () => {
  runs(STORES.flatMap((store) => storeCases(...store)));
});

/** `(i32.store8 …)` of a byte that is not zero. */
const byte = (base: string, offset = 0) => `(i32.store8 offset=${offset} ${base} (i32.const 9))`;
/** Sets $a to the address of the block so many blocks after that of $at. */
const toBlock = (count: number) => `(local.set $a (i32.add ${at} ${num(count * 4096)}))`;
const a = "(local.get $a)";
/** How many of these addresses hold the byte that `byte` writes. */
const written = (...addresses: number[]) =>
  sum(...addresses.map((one) => `(i32.eq ${u8(num(one))} (i32.const 9))`));
const [B0, B1, B2, B3] = [12288, 16384, 20480, 24576];

describe("bases", () => {
  runs(
    [
      [
        "of a tee",
        `${byte("(local.tee $a (call $next (local.get $at)))")} ${byte(a, 100)} ${byte("(local.tee $a (call $next (local.get $a)))")} ${byte(a, 200)} ${written(B1, B1 + 100, B2, B2 + 200)}`,
        4,
      ],
      [
        "set between two stores",
        `${toBlock(0)} ${byte(a)} ${toBlock(1)} ${byte(a)} ${toBlock(2)} ${byte(a, 5)} ${written(B0, B1, B2 + 5)}`,
        3,
      ],
      [
        "read, then set, then stored to",
        `${toBlock(1)} ${byte(a)} ${a} ${toBlock(2)} (i32.const 9) (i32.store8 offset=300) ${byte(a)} ${written(B1, B1 + 300, B2)}`,
        3,
      ],
      [
        "of a value that sets them",
        `${toBlock(1)} ${a} (block (result i32) ${toBlock(3)} (i32.const 9)) (i32.store8) ${byte(a)} ${written(B1, B3)}`,
        2,
      ],
      [
        "copied to another local",
        `${toBlock(1)} (local.set $b ${a}) ${toBlock(2)} ${byte("(local.get $b)")} ${byte(a)} (local.set $b ${a}) ${byte("(local.get $b)", 250)} ${written(B1, B2, B2 + 250)}`,
        3,
      ],
      [
        "of a block",
        `${byte("(block (result i32) (br_if 0 (i32.const 16384) (i32.load8_u (i32.const 8190))) (drop) (i32.const 0))")} ${written(B1)}`,
        1,
      ],
      [
        "of an if",
        `${toBlock(1)} ${byte(`(if (result i32) (i32.load8_u (i32.const 100)) (then ${a}) (else ${toBlock(2)} ${a}))`)} ${byte(a)} ${written(B2)}`,
        1,
      ],
      [
        "of a select",
        `${byte(`(select ${at} (call $next ${at}) (i32.load8_u (i32.const 100)))`)} ${written(B1)}`,
        1,
      ],
      [
        "of a loop",
        `${toBlock(0)} ${byte(`(loop $l (result i32) (local.set $a (call $next ${a})) (br_if $l (i32.lt_u ${a} (i32.const 20480))) ${a})`)} ${written(B2)}`,
        1,
      ],
      [
        "of the function before",
        `${byte(at)} ${byte("(call $next (local.get $at))")} ${byte("(call $next (call $next (local.get $at)))")} ${written(B0, B1, B2)}`,
        3,
      ],
      [
        "of memory, written over by the store itself",
        `(i32.store ${at} (i32.const 16384)) (i32.store (i32.load ${at}) (i32.const 0x09090909)) (i32.store ${at} (i32.const 20480)) (i32.store (i32.load ${at}) (i32.const 0x09090909)) ${written(B1, B2)}`,
        2,
      ],
      [
        "of parameters of a block",
        `(call $next ${at}) (i32.const 9) (block (param i32 i32) (i32.store8)) (call $next (call $next ${at})) (i32.const 9) (block (param i32 i32) (result i32 i32) ) (i32.store8) ${written(B1, B2)}`,
        2,
      ],
      [
        "of a global",
        `(global.set $count (i32.const 16384)) ${byte("(global.get $count)")} (global.set $count (i32.const 20480)) ${byte("(global.get $count)")} ${written(B1, B2)}`,
        2,
      ],
      [
        "moved by each turn of a loop, before the store",
        times(
          4,
          `(local.set $a (i32.add ${at} (i32.shl (local.get $n) (i32.const 12)))) ${byte(a)}`,
        ) + written(B1, B2, B3, B3 + 4096),
        4,
      ],
      [
        "moved by each turn of a loop, after the store",
        `${toBlock(0)} ${byte(a, 8)} ${times(4, `${byte(a)} (local.set $a (call $next ${a}))`)} ${written(B0, B1, B2, B3)}`,
        4,
      ],
      [
        "moved by a loop in the loop",
        `${toBlock(0)} (local.set $b (i32.const 2)) (loop $outer ${byte(a, 8)} ${times(2, `${byte(a, 16)} (local.set $a (call $next ${a}))`)} ${byte(a, 24)} (br_if $outer (local.tee $b (i32.sub (local.get $b) (i32.const 1))))) ${written(B0 + 8, B0 + 16, B1 + 16, B2 + 8, B2 + 16, B3 + 16, B2 + 24, B3 + 4096 + 24)}`,
        8,
      ],
      [
        "with a store that is skipped",
        `(block $skip (br_if $skip (i32.load8_u (i32.const 8190))) ${byte(at)}) ${byte(at, 7)} ${written(B0 + 7)}`,
        1,
      ],
      [
        "with a store in one arm",
        `${toBlock(1)} (if (i32.load8_u (i32.const 100)) (then ${byte(a)}) (else ${byte(at)})) ${byte(a, 7)} ${byte(at, 4100)} ${written(B0, B1 + 7, B0 + 4100)}`,
        3,
      ],
      [
        "set in one arm",
        `${toBlock(1)} ${byte(a)} (if (i32.load8_u (i32.const 8190)) (then ${toBlock(2)})) ${byte(a)} ${written(B1, B2)}`,
        2,
      ],
      [
        "set in the other arm",
        `${toBlock(1)} ${byte(a)} (if (i32.load8_u (i32.const 100)) (then ${byte(a, 3)}) (else ${toBlock(2)} ${byte(a, 3)})) ${byte(a)} ${written(B1, B2, B2 + 3)}`,
        3,
      ],
      [
        "set on one way of a table",
        `${toBlock(1)} ${byte(a)} (block $x (block $y (block $z (br_table $z $y $x (i32.sub (i32.load8_u (i32.const 8190)) (i32.const 111)))) ${toBlock(3)}) ${toBlock(2)} ${byte(a)}) ${byte(a, 1)} ${written(B1, B2, B2 + 1)}`,
        3,
      ],
      [
        "set in a block that is left early",
        `${toBlock(1)} ${byte(a)} (block $out ${toBlock(2)} (br_if $out (i32.load8_u (i32.const 8190))) ${toBlock(1)}) ${byte(a)} ${written(B1, B2)}`,
        2,
      ],
      [
        "in code that is never reached",
        `(block $out ${byte(at)} (br $out) ${byte(a)} (memory.fill ${at} (i32.const 1) (i32.const 9)) (drop (memory.grow (i32.const 1)))) ${byte(at, 9)} ${written(B0, B0 + 9)}`,
        2,
      ],
      [
        "in each turn of a recursion",
        `(drop (call $recur ${at} (i32.const 8))) ${written(B0, B1, B2, B3 + 1, B1 + 1)}`,
        5,
      ],
      [
        "that rise, then fall by the width of what is marked together",
        `${toBlock(2)} ${byte(a, 256)} ${byte(a, 100)} ${byte(a, 0)} ${byte(a, 1)} (local.set $b (i32.sub ${a} (i32.const 200))) (i64.store offset=250 (local.get $b) (i64.const 0x0909090909090909)) (i64.store offset=10 (local.get $b) (i64.const 0x0909090909090909)) (i64.store offset=0 (local.get $b) (i64.const 0x0909090909090909)) ${written(B2 + 256, B2 + 50, B2 + 57, B2 - 190, B2 - 200)}`,
        5,
      ],
    ],
    `(func $recur (param $at i32) (param $n i32) (result i32)
      ${byte(at)}
      (if (local.get $n) (then (local.set $at (call $recur (call $next ${at}) (i32.sub (local.get $n) (i32.const 1))))))
      ${byte(at, 1)}
      (i32.sub ${at} (i32.const 4096)))`,
  );
});

describe("older exceptions", () => {
  runs([
    [
      "a base set before the exception",
      `${toBlock(1)} ${byte(a)} (try (do ${toBlock(2)} (call $throw ${at}) ${toBlock(1)}) (catch $tag (drop) ${byte(a, 1)})) ${byte(a, 2)} ${written(B1, B2 + 1, B2 + 2)}`,
      3,
    ],
    [
      "a store that the exception skips",
      `(try (do (call $throw ${at}) ${byte(at)}) (catch_all ${byte(at, 4)})) ${byte(at, 8)} ${written(B0 + 4, B0 + 8)}`,
      2,
    ],
    [
      "a base that is the exception's value",
      `(try (do (call $throw (call $next ${at}))) (catch $tag (local.set $a) ${byte(a)})) ${byte(a, 1)} ${written(B1, B1 + 1)}`,
      2,
    ],
    [
      "handed on, with bases set on the way",
      `${toBlock(0)} (try $outer (do (try (do (try (do ${toBlock(1)} ${byte(a)} (call $throw ${at})) (delegate $outer))) (catch_all ${toBlock(3)} (rethrow 0)))) (catch_all ${byte(a, 2)})) ${written(B1, B1 + 2)}`,
      2,
    ],
    [
      "thrown again",
      `${toBlock(0)} (try (do (try $inner (do ${toBlock(1)} ${byte(a)} (call $throw ${at})) (catch_all ${toBlock(2)} (rethrow $inner)))) (catch_all ${byte(a, 2)})) ${written(B1, B2 + 2)}`,
      2,
    ],
    [
      "not caught",
      `${byte(at)} ${toBlock(1)} (try (do (i64.store ${a} (i64.const -1)) (throw $tag ${at})) (delegate 0)) (i32.const 1)`,
      "trapped",
    ],
  ]);
});

describe("exceptions by tables", () => {
  runs([
    [
      "a base set before the exception",
      `${toBlock(1)} ${byte(a)} (block $all (try_table (catch_all $all) ${toBlock(2)} ${byte(a)} (call $throw ${at}) ${toBlock(1)})) ${byte(a, 2)} ${written(B1, B2, B2 + 2)}`,
      3,
    ],
    [
      "a store that the exception skips",
      `(block $all (try_table (catch_all $all) (call $throw ${at}) ${byte(at)})) ${byte(at, 8)} ${written(B0 + 8)}`,
      1,
    ],
    [
      "a base that is the exception's value",
      `${byte(`(block $caught (result i32) (try_table (catch $tag $caught) (call $throw (call $next ${at}))) ${at})`)} ${written(B1)}`,
      1,
    ],
    [
      "to a loop",
      `${toBlock(0)} (local.set $n (i32.const 3)) (block $done (loop $again ${byte(a)} (br_if $done (i32.eqz (local.get $n))) (local.set $n (i32.sub (local.get $n) (i32.const 1))) (try_table (catch_all $again) (local.set $a (call $next ${a})) (call $throw ${at})))) ${byte(a, 1)} ${written(B0, B1, B2, B3, B3 + 1)}`,
      5,
    ],
  ]);
});
