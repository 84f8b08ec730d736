import { describe } from "vitest";
import {
  a,
  at,
  B0,
  B1,
  B2,
  B3,
  byte,
  type Case,
  END,
  num,
  runs,
  sum,
  times,
  toBlock,
  u8,
  written,
} from "./tracked-cases.ts";

/** Stores of every width, and those that share a base. */

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

const counted = "(global.get $count)";
const count = (value: number) => `(global.set $count ${num(value)})`;
const wide = (value: string) => `(i64.extend_i32_u ${value})`;
const low = (value: string) => `(i32.wrap_i64 ${value})`;

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
        "of a global that is set by a call, in an arm, and in a loop",
        `${count(B0)} ${byte(counted)} (call $bump) ${byte(counted)} (if (i32.load8_u (i32.const 8190)) (then (call $bump))) ${byte(counted)} ${times(2, `${byte(counted, 9)} ${count(B0 + 16384)}`)} ${byte(counted, 1)} ${written(B0, B1, B2, B2 + 9, B3 + 4096 + 9, B3 + 4096 + 1)}`,
        6,
      ],
      [
        "of a global that an arm sets",
        `${count(B1)} ${byte(counted)} (if (i32.load8_u (i32.const 100)) (then (nop)) (else ${count(B2)} ${byte(counted)})) ${byte(counted, 1)} (block $out ${count(B3)} (br_if $out (i32.load8_u (i32.const 8190))) ${count(B2)}) ${byte(counted)} ${written(B1, B2, B2 + 1, B3)}`,
        4,
      ],
      [
        "of a global that has grown by a constant, as a stack pointer",
        `${count(B2 + 40)} ${byte(counted)} (global.set $count (i32.sub ${counted} (i32.const 32))) ${byte(counted)} ${byte(counted, 8)} (global.set $count (i32.sub ${counted} (i32.const 32))) ${byte(counted)} (global.set $count (i32.add (i32.const 4096) ${counted})) ${byte(counted)} ${written(B2 + 40, B2 + 8, B2 + 16, B2 - 24, B3 - 24)}`,
        5,
      ],
      [
        "a constant apart",
        `${toBlock(1)} ${byte(a, 50)} ${byte(`(i32.sub ${a} (i32.const 50))`, 60)} ${byte(`(i32.sub ${a} (i32.const 1))`)} ${byte(`(i32.add ${a} (i32.const 100))`)} ${byte(`(i32.add (i32.const 4090) ${a})`, 20)} ${byte(`(i32.sub (i32.const 32768) ${a})`)} ${written(B1 + 50, B1 + 10, B1 - 1, B1 + 100, B2 + 14, B1)}`,
        6,
      ],
      [
        "a constant apart, where one is negative",
        `(local.set $a (i32.const -8)) ${byte(`(i32.add ${a} (i32.const 20))`, 4)} ${byte(`(i32.add ${a} (i32.const 16))`, 4)} (if (i32.load8_u (i32.const 100)) (then ${byte(a, 16)})) ${written(16, 12)}`,
        2,
      ],
      [
        "a constant apart, with a store below the first byte that is not run",
        `(local.set $a (i32.add ${at} (i32.const -12283))) ${byte(a)} (if (i32.load8_u (i32.const 100)) (then ${byte(`(i32.sub ${a} (i32.const 200))`, 8)})) ${written(5)}`,
        1,
      ],
      [
        "a constant apart, the lower one beyond 32 bits",
        `(local.set $a (i32.const 5)) ${byte(a)} ${byte(`(i32.sub ${a} (i32.const 6))`, 8)} ${num(1)}`,
        "trapped",
      ],
      [
        "in the lower half of a number of 64 bits",
        `${toBlock(1)} ${byte(low(wide(a)))} ${byte(low(wide(a)), 200)} ${byte(low(`(i64.add ${wide(a)} (i64.const 4096))`))} ${toBlock(3)} ${byte(low(wide(a)))} ${byte(low(`(i64.shl ${wide(a)} (i64.const 1))`))} ${written(B1, B1 + 200, B2, B3, B3 * 2)}`,
        5,
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
    `(func $bump (global.set $count (i32.add (global.get $count) (i32.const 4096))))
    (func $recur (param $at i32) (param $n i32) (result i32)
      ${byte(at)}
      (if (local.get $n) (then (local.set $at (call $recur (call $next ${at}) (i32.sub (local.get $n) (i32.const 1))))))
      ${byte(at, 1)}
      (i32.sub ${at} (i32.const 4096)))`,
  );
});
