/**
 * The instructions that `npm run bench -- fuel` measures, in WebAssembly's text format. Each depends on
 * the one before it, so that neither compiler can drop it or do several at once.
 */

import { arithmetic, vectors } from "./fuel-arithmetic.ts";
import { each, one, RANDOM, bits, FAR, LONG, type Row } from "./fuel-rows.ts";

const memory: Row[] = [
  one("i32.load", "(local.set $i (i32.and (i32.load (local.get $i)) (i32.const 1020)))"),
  one(
    "i64.load, across lines",
    "(local.set $a (i64.load offset=60 (i32.and (i32.wrap_i64 (local.get $a)) (i32.const 0x7ff040))))",
  ),
  one(
    "i32.store",
    "(i32.store (local.get $i) (local.get $j)) (local.set $i (i32.and (i32.add (local.get $i) (i32.const 64)) (i32.const 0xffff)))",
  ),
  one(
    "i32.load, next line",
    `(local.set $j (i32.add (local.get $j) (i32.load (local.get $i)))) (local.set $i (i32.and (i32.add (local.get $i) (i32.const 64)) (i32.const ${FAR - 3})))`,
  ),
  one(
    "i32.load, cache miss",
    `${RANDOM} (local.set $a (i64.add (local.get $a) (i64.load32_u (i32.and (i32.wrap_i64 (i64.shr_u (local.get $a) (i64.const 30))) (i32.const ${FAR - 3})))))`,
  ),
  one(
    "i32.load, cache misses at once",
    `${RANDOM} (local.set $j (i32.add (local.get $j) (i32.load (i32.and (i32.wrap_i64 (i64.shr_u (local.get $a) (i64.const 30))) (i32.const ${FAR - 3})))))`,
  ),
  one(
    "i32.store, cache miss",
    `${RANDOM} (i32.store (i32.and (i32.wrap_i64 (i64.shr_u (local.get $a) (i64.const 30))) (i32.const ${FAR - 3})) (local.get $j))`,
  ),
  one(
    "v128.load, across lines",
    "(local.set $a (i64x2.extract_lane 0 (v128.load offset=60 (i32.and (i32.wrap_i64 (local.get $a)) (i32.const 0x7ff040)))))",
  ),
  one(
    "v128.load v128.store",
    "(v128.store (i32.const 4096) (i32x4.add (v128.load (i32.const 4096)) (local.get $w)))",
  ),
  one("memory.size", "(local.set $i (i32.add (local.get $i) (memory.size)))"),
  ...each(
    "1 16 300 60000 16000000",
    (n) => `(memory.fill (i32.const 4096) (local.get $i) (i32.const ${n}))`,
    { times: [1] },
  ).map((row) => ({ ...row, name: `memory.fill ${row.name}` })),
  ...each(
    "1 16 300 60000 16000000",
    (n) => `(memory.copy (i32.const 4096) (i32.const 8191) (i32.const ${n}))`,
    { times: [1] },
  ).map((row) => ({ ...row, name: `memory.copy ${row.name}` })),
  one(
    "memory.copy 256, cache miss",
    `${RANDOM} (memory.copy (i32.and (i32.wrap_i64 (i64.shr_u (local.get $a) (i64.const 30))) (i32.const ${FAR - 3})) (i32.const 4096) (i32.const 256))`,
    { times: [1, 8] },
  ),
  one(
    "memory.copy of variable length",
    "(memory.copy (i32.const 4096) (i32.const 8000) (i32.and (local.get $i) (i32.const 63))) (local.set $i (i32.add (local.get $i) (i32.const 7)))",
    { times: [1, 50] },
  ),
  ...each("1 16 60000", (n) => `(memory.init $d (i32.const 4096) (i32.const 0) (i32.const ${n}))`, {
    times: [1],
  }).map((row) => ({ ...row, name: `memory.init ${row.name}` })),
  one("data.drop", "(data.drop $d)", { times: [1, 50] }),
  one("memory.grow 0", "(local.set $i (memory.grow (i32.const 0)))", { times: [1, 50] }),
  one(
    "memory.grow 1, and all of that written",
    "(memory.fill (i32.shl (memory.grow (i32.const 1)) (i32.const 16)) (i32.const 1) (i32.const 65536))",
    { times: [1] },
  ),
  one("memory.grow, refused", "(local.set $i (memory.grow (i32.const 60000)))", { times: [1, 50] }),
];

const tables: Row[] = [
  one("table.get table.set", "(table.set $t (i32.const 1) (table.get $t (i32.const 0)))", {
    times: [1, 50],
  }),
  one("table.set ref.func", "(table.set $t (i32.const 1) (ref.func $target0))", { times: [1, 50] }),
  one("table.size", "(local.set $i (i32.add (local.get $i) (table.size $t)))"),
  one(
    "ref.is_null",
    "(local.set $i (i32.add (local.get $i) (ref.is_null (table.get $t (i32.const 40)))))",
  ),
  ...["1", "10", "1000", "20000"].flatMap((n) => [
    one(`table.fill ${n}`, `(table.fill $t (i32.const 100) (ref.func $target1) (i32.const ${n}))`, {
      times: [1],
    }),
    one(`table.copy ${n}`, `(table.copy $t $t (i32.const 101) (i32.const 100) (i32.const ${n}))`, {
      times: [1],
    }),
    one(
      `table.init ${n}`,
      `(table.init $t $e (i32.const 100) (i32.const 0) (i32.const ${Math.min(1000, Number(n))}))`,
      { times: [1] },
    ),
    one(
      `table.fill extern ${n}`,
      `(table.fill $x (i32.const 0) (ref.null extern) (i32.const ${n}))`,
      { times: [1] },
    ),
  ]),
  one("table.grow 0", "(local.set $i (table.grow $u (ref.null func) (i32.const 0)))", {
    times: [1, 20],
  }),
  one("table.grow 1", "(local.set $i (table.grow $u (ref.func $target0) (i32.const 1)))", {
    times: [1],
  }),
  one("table.grow 100", "(local.set $i (table.grow $u (ref.func $target0) (i32.const 100)))", {
    times: [1],
  }),
  one("table.grow, refused", "(local.set $i (table.grow $u (ref.null func) (i32.const 9000000)))", {
    times: [1, 20],
  }),
  one("elem.drop", "(elem.drop $e2)", { times: [1, 50] }),
];

const INDIRECT = "(type $target)";
const control: Row[] = [
  one(
    "if, at random",
    `${RANDOM} (if ${bits(1)} (then (local.set $i (i32.mul (local.get $i) (i32.const 7)))) (else (local.set $i (i32.xor (local.get $i) (local.get $j)))))`,
    { times: [1, 20, LONG] },
  ),
  one(
    "br_if, at random",
    `${RANDOM} (block $out (br_if $out ${bits(1)}) (global.set $g (local.get $i)))`,
    { times: [1, 20, LONG] },
  ),
  one(
    "br_table, at random",
    `${RANDOM} (block $d (block $c (block $b (block $a (br_table $a $b $c $d ${bits(3)})) (global.set $g (local.get $i)) (br $d)) (global.set $g (local.get $j)) (br $d)) (global.set $g (i32.const 9)))`,
    { times: [1, 20, 100] },
  ),
  one(
    "select, at random",
    `${RANDOM} (local.set $i (select (local.get $i) (local.get $j) ${bits(1)}))`,
  ),
  one(
    "a short loop, at random",
    `${RANDOM} (local.set $i ${bits(3)}) (loop $in (br_if $in (local.tee $i (i32.shr_u (local.get $i) (i32.const 1)))))`,
    { times: [1, 50] },
  ),
  one("call", "(local.set $i (call $leaf (local.get $i) (local.get $j)))"),
  one(
    "call, many arguments",
    "(call $many (local.get $a) (local.get $b) (local.get $a) (local.get $b) (local.get $a) (local.get $b) (local.get $a) (local.get $b) (local.get $a) (local.get $b) (local.get $a) (local.get $b) (local.get $a) (local.get $b) (local.get $a) (local.get $b))",
  ),
  one(
    "call_indirect",
    `(local.set $i (call_indirect $t ${INDIRECT} (local.get $i) (i32.const 3)))`,
  ),
  one(
    "call_indirect, at random",
    `${RANDOM} (local.set $i (call_indirect $t ${INDIRECT} (local.get $i) ${bits(7)}))`,
  ),
  one("return_call", "(local.set $i (call $tail (local.get $i) (i32.const 100)))", { times: [1] }),
  one(
    "return_call_indirect",
    "(local.set $i (call $tailIndirect (local.get $i) (i32.const 100)))",
    { times: [1] },
  ),
  one("recursion", "(local.set $i (call $deep (i32.const 1000)))", { times: [1] }),
  one("locals in memory", "(call $spill)", { times: [1] }),
  one("call, 200 results", `(call $results) ${"(drop)".repeat(200)}`, { times: [1] }),
  one("call, 200 arguments", `(call $arguments ${"(local.get $a)".repeat(200)})`, { times: [1] }),
  one("many locals", "(local.set $i (call $wide (local.get $i)))", { times: [1, 20] }),
];

export const plainRows: Row[] = [...arithmetic, ...vectors, ...memory, ...tables, ...control];

/** Declarations that the plain rows need in their module, besides a function for each. */
export const plainDeclarations = `
  (type $target (func (param i32) (result i32)))
  (global $g (mut i32) (i32.const 0))
  (table $t 30000 funcref) (table $x 30000 externref) (table $u 0 funcref)
  (elem $init (table $t) (i32.const 0) func ${Array.from({ length: 8 }, (_, at) => `$target${at}`).join(" ")})
  (elem $e func ${"$target0 $target1 ".repeat(500)}) (elem $e2 func $target0)
  (data $d "${"0123456789".repeat(6000)}")
  ${Array.from({ length: 8 }, (_, at) => `(func $target${at} (type $target) (i32.add (local.get 0) (i32.const ${at})))`).join(" ")}
  (func $leaf (param i32 i32) (result i32) (if (i32.eqz (local.get 1)) (then (global.set $g (memory.grow (i32.const 0))))) (i32.add (local.get 0) (i32.const 1)))
  (func $many (param ${"i64 ".repeat(16)}) (if (i64.eqz (local.get 1)) (then (global.set $g (memory.grow (i32.const 0))))))
  (func $tail (param i32 i32) (result i32) (if (i32.eqz (local.get 1)) (then (return (local.get 0)))) (return_call $tail (i32.add (local.get 0) (local.get 1)) (i32.sub (local.get 1) (i32.const 1))))
  (type $tailing (func (param i32 i32) (result i32)))
  (elem (table $t) (i32.const 50) func $tailIndirect)
  (func $tailIndirect (type $tailing) (if (i32.eqz (local.get 1)) (then (return (local.get 0)))) (return_call_indirect $t (type $tailing) (i32.add (local.get 0) (local.get 1)) (i32.sub (local.get 1) (i32.const 1)) (i32.const 50)))
  (func $deep (param i32) (result i32) (if (i32.eqz (local.get 0)) (then (return (i32.const 1)))) (i32.add (call $deep (i32.sub (local.get 0) (i32.const 1))) (local.get 0)))
  (func $spill (local $n i32) ${Array.from({ length: 60 }, (_, at) => `(local $l${at} i64)`).join(" ")}
    ${Array.from({ length: 60 }, (_, at) => `(local.set $l${at} (i64.load (i32.const ${at * 8})))`).join(" ")}
    (loop $l ${Array.from({ length: 60 }, (_, at) => `(local.set $l${at} (i64.add (local.get $l${at}) (local.get $l${(at + 59) % 60})))`).join(" ")}
      (br_if $l (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 1000))))
    ${Array.from({ length: 60 }, (_, at) => `(i64.store (i32.const ${at * 8}) (local.get $l${at}))`).join(" ")})
  (func $results (result ${"i64 ".repeat(200)}) (global.set $g (memory.grow (i32.const 0))) ${"(i64.const 1234567890123)".repeat(200)})
  (func $arguments (param ${"i64 ".repeat(200)}) (if (i64.eqz (local.get 150)) (then (global.set $g (memory.grow (i32.const 0))))))
  (func $wide (param i32) (result i32) (local ${"i64 ".repeat(2000)}) (local.set 1999 (i64.extend_i32_u (local.get 0))) (if (i32.eqz (local.get 0)) (then (global.set $g (memory.grow (i32.const 0))))) (i32.wrap_i64 (local.get 1999)))`;

const caught = (call: string) => `(block $h (try_table (catch_all $h) ${call}))`;

export const exceptionRows: Row[] = [
  one("throw in place", caught("(throw $e)"), { times: [1, 20] }),
  one(
    "throw 8 values",
    "(block $h (result i64 i64 i64 i64 i64 i64 i64 i64) (try_table (catch $large $h) (call $throwLarge)) (unreachable)) (drop) (drop) (drop) (drop) (drop) (drop) (drop) (local.set $a)",
    { times: [1, 20] },
  ),
  ...[1, 10, 100, 1000, 5000].map((depth) =>
    one(`throw through ${depth} frames`, caught(`(drop (call $deep (i32.const ${depth})))`), {
      times: [1],
    }),
  ),
  one("throw through large frames", caught("(drop (call $deepWide (i32.const 100)))"), {
    times: [1],
  }),
  one("throw through indirect calls", caught("(drop (call $deepIndirect (i32.const 1000)))"), {
    times: [1],
  }),
  one("throw past 1000 handlers", caught("(drop (call $deepHandlers (i32.const 1000)))"), {
    times: [1],
  }),
  one("throw through frames of 2000 functions", caught("(drop (call $ring0 (i32.const 4000)))"), {
    times: [1],
  }),
  one("throw past handlers of 2000 functions", caught("(drop (call $hurdle0 (i32.const 4000)))"), {
    times: [1],
  }),
  one("throw on at each of 2000 functions", caught("(drop (call $relay0 (i32.const 2000)))"), {
    times: [1],
  }),
  one("throw on at each of 1000 frames", caught("(drop (call $deepRethrow (i32.const 1000)))"), {
    times: [1],
  }),
  one("delegate at each of 1000 frames", caught("(drop (call $deepDelegate (i32.const 1000)))"), {
    times: [1],
  }),
  one("catch at the end of 5000 frames", "(call $shallowThrows (i32.const 5000))", { times: [1] }),
  one(
    "return from 1000 frames, in a module that catches",
    "(drop (call $deepReturn (i32.const 1000)))",
    { times: [1] },
  ),
];

const down = "(i32.sub (local.get 0) (i32.const 1))";
const bottom = "(if (i32.eqz (local.get 0)) (then (throw $e)))";
/** 2000 functions, each of which calls the next one: V8 finds what it knows of a frame in no cache. */
const ring = (name: string, body: (next: string) => string) =>
  Array.from(
    { length: 2000 },
    (_, at) =>
      `(func $${name}${at} (param i32) (result i32) ${bottom} ${body(`(call $${name}${(at + 1) % 2000} ${down})`)})`,
  ).join("");
export const exceptionDeclarations = `
  (tag $e) (tag $other) (tag $large (param ${"i64 ".repeat(8)})) (global $g (mut i32) (i32.const 0))
  (type $down (func (param i32) (result i32))) (table $t 1 funcref) (elem (table $t) (i32.const 0) func $deepIndirect)
  (func $throwLarge (throw $large ${"(i64.const 123456789)".repeat(8)}))
  (func $deep (param i32) (result i32) ${bottom} (i32.add (call $deep ${down}) (local.get 0)))
  (func $deepWide (param i32) (result i32) (local ${"i64 ".repeat(300)}) ${bottom} (i32.add (call $deepWide ${down}) (i32.wrap_i64 (local.get 200))))
  (func $deepIndirect (type $down) ${bottom} (i32.add (call_indirect $t (type $down) ${down} (i32.const 0)) (local.get 0)))
  (func $deepHandlers (param i32) (result i32) ${bottom} (block $h (try_table (catch $other $h) (return (i32.add (call $deepHandlers ${down}) (local.get 0))))) (i32.const 0))
  (func $deepRethrow (param i32) (result i32) ${bottom} (block $h (result exnref) (try_table (catch_all_ref $h) (return (i32.add (call $deepRethrow ${down}) (local.get 0)))) (unreachable)) (throw_ref))
  (func $deepDelegate (param i32) (result i32) ${bottom} (i32.add (call $deepDelegate ${down}) (local.get 0)))
  ${ring("ring", (next) => `(i32.add ${next} (local.get 0))`)}
  ${ring("hurdle", (next) => `(block $h (try_table (catch $other $h) (return (i32.add ${next} (local.get 0))))) (i32.const 0)`)}
  ${ring("relay", (next) => `(block $h (result exnref) (try_table (catch_all_ref $h) (return (i32.add ${next} (local.get 0)))) (unreachable)) (throw_ref)`)}
  (func $shallowThrows (param i32) (local $i i32) (if (local.get 0) (then (call $shallowThrows ${down}) (return)))
    (local.set $i (i32.const 1000)) (loop $l ${caught("(throw $e)")} (br_if $l (local.tee $i (i32.sub (local.get $i) (i32.const 1))))))
  (func $deepReturn (param i32) (result i32) (if (i32.eqz (local.get 0)) (then (return (i32.const 1)))) (i32.add (call $deepReturn ${down}) (local.get 0)))`;
