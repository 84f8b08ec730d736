import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { assemble } from "../../../../src/tools/bundle/wasm/binaryen.ts";
import { metered } from "../../../../src/tools/bundle/wasm/fuel.ts";
import { OP } from "../../../../src/tools/bundle/wasm/instructions.ts";
import { priceOf } from "../../../../src/tools/bundle/wasm/prices.ts";
import { KINDS, prepared } from "../../bench/fuel.ts";
import { fileFunctions, fileRows } from "../../bench/fuel-files.ts";
import { hostFunctions, hostRows } from "../../bench/fuel-host.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "fuel-"));
});
afterAll(() => rm(folder, { recursive: true }));

const FULL = 100_000_000n;

/** Runs `run` of a module with this body, as it is and metered; gives what both gave, and the fuel it took. */
async function both(parts: string) {
  const path = join(folder, "in.wat");
  await writeFile(
    path,
    `(module (memory 1 16) (table $t 4 20000 funcref) (global (mut i32) (i32.const 0)) ${parts})`,
  );
  const plain = await assemble(path);
  const instance = async (wasm: Uint8Array) =>
    (await WebAssembly.instantiate(new Uint8Array(wasm))).instance.exports as {
      run(): unknown;
      edge_fuel: { value: bigint };
    };
  const counted = await instance(metered(plain));
  counted.edge_fuel.value = FULL;
  const [expected, given] = [(await instance(plain)).run(), counted.run()];
  return { expected, given, used: Number(FULL - counted.edge_fuel.value), counted };
}

const run = (body: string, result = "i32") =>
  `(func $run (export "run") (result ${result}) (local $i i32) (local $v v128) ${body})`;

describe("a metered module computes the same", () => {
  test.each<[string, string]>([
    [
      "numbers",
      run(
        "(f64.const 1.5) (f32.const -2) (f64.promote_f32) (f64.add) (i64.const -99999999999) (i64.extend8_s) (f64.convert_i64_s) (f64.mul) (i64.trunc_sat_f64_s) (i32.wrap_i64)",
      ),
    ],
    [
      "addresses",
      run(
        "(i64.store offset=6000 align=1 (i32.const 100) (i64.const 7)) (i32.load16_u offset=6000 (i32.const 100))",
      ),
    ],
    [
      "vectors",
      run(
        "(local.set $v (v128.const i32x4 11 2 13 4)) (v128.store offset=16 (i32.const 0) (i8x16.shuffle 0 1 2 3 4 5 6 7 8 9 10 11 16 17 18 19 (local.get $v) (i32x4.splat (i32.const 11)))) (i32x4.extract_lane 3 (v128.load32_lane offset=16 2 (i32.const 0) (v128.load64_zero offset=16 (i32.const 0))))",
      ),
    ],
    [
      "vectors, more",
      run(
        "(i32x4.bitmask (f32x4.lt (f32x4.splat (f32.const 1)) (v128.const f32x4 0 1 2 3))) (i64x2.extract_lane 0 (i64x2.replace_lane 0 (v128.const i64x2 0 0) (i64.const 3))) (i32.wrap_i64) (i32.add) (i32x4.extract_lane 1 (i32x4.trunc_sat_f64x2_u_zero (f64x2.convert_low_i32x4_u (i32x4.splat (i32.const 9))))) (i32.add)",
      ),
    ],
    [
      "memory in bulk",
      `(data $d "abcdefgh") ${run("(memory.init $d (i32.const 8) (i32.const 0) (i32.const 8)) (data.drop $d) (memory.copy (i32.const 32) (i32.const 8) (i32.const 8)) (memory.fill (i32.const 36) (i32.const 1) (i32.const 2)) (drop (memory.grow (i32.const 1))) (i32.add (memory.size) (i32.load (i32.const 34)))")}`,
    ],
    [
      "tables",
      `(elem $e func $f $f) (func $f (result i32) (i32.const 5)) ${run("(table.init $t $e (i32.const 0) (i32.const 0) (i32.const 2)) (elem.drop $e) (table.copy $t $t (i32.const 2) (i32.const 0) (i32.const 1)) (table.fill $t (i32.const 3) (ref.func $f) (i32.const 1)) (drop (table.grow $t (ref.null func) (i32.const 2))) (table.set $t (i32.const 1) (table.get $t (i32.const 0))) (call_indirect $t (result i32) (i32.const 3)) (i32.add (table.size $t)) (i32.add (ref.is_null (table.get $t (i32.const 4))))")}`,
    ],
    [
      "branches",
      run(
        "(block $a (result i32) (block $b (block $c (loop $l (local.set $i (i32.add (local.get $i) (i32.const 1))) (br_if $l (i32.lt_u (local.get $i) (i32.const 10))) (br_table $c $b $l $c (i32.sub (local.get $i) (i32.const 9))))) (br $a (i32.const 1))) (if (result i32) (local.get $i) (then (select (local.get $i) (i32.const 2) (i32.const 1))) (else (return (i32.const 4)))))",
      ),
    ],
    [
      "tail calls",
      `(func $down (param $n i32) (result i32) (if (result i32) (local.get $n) (then (return_call $down (i32.sub (local.get $n) (i32.const 1)))) (else (i32.const 8)))) ${run("(call $down (i32.const 5000))")}`,
    ],
    [
      "several results",
      `(func $two (result i32 i64) (i32.const 1) (i64.const 2)) ${run("(call $two) (drop) (block (param i32) (result i32 i32) (i32.const 3)) (i32.add)")}`,
    ],
    [
      "exceptions",
      `(tag $e (param i32)) (func $f (throw $e (i32.const 6))) ${run("(block $h (result i32) (try_table (catch $e $h) (call $f)) (i32.const 0))")}`,
    ],
    [
      "exceptions that are thrown on",
      `(tag $e (param i32)) (func $f (throw $e (i32.const 6))) ${run("(block $o (result i32) (try_table (catch $e $o) (block $h (result exnref) (try_table (catch_all_ref $h) (call $f)) (unreachable)) (throw_ref)) (i32.const 0))")}`,
    ],
    [
      "older exceptions",
      `(tag $e (param i32)) (func $f (throw $e (i32.const 6))) ${run("(try $o (result i32) (do (try (do (try (do (call $f)) (delegate $o))) (catch_all (rethrow 0))) (i32.const 0)) (catch $e) (catch_all (i32.const 2)))")}`,
    ],
    [
      "returns of a module that catches exceptions",
      `(tag $e) (func $leaf (param i32) (result i32 i64 funcref)
        (if (local.get 0) (then (loop $l (block (br_if $l (i32.eqz (local.get 0))) (return (i32.const 1) (i64.const 2) (ref.null func))))))
        (i32.const 3) (i64.const 4) (ref.null func) (br 0))
      (func $next (param i32) (result i32 i64 funcref) (return_call $leaf (local.get 0)))
      (func $none (param i32) (br_if 0 (local.get 0)) (throw $e))
      ${run("(call $none (i32.const 1)) (block $h (try_table (catch_all $h) (call $none (i32.const 0)))) (call $next (i32.const 1)) (drop) (drop) (call $next (i32.const 0)) (drop) (drop) (i32.add)")}`,
    ],
  ])("%s", async (_name, parts) => {
    const { expected, given } = await both(parts);
    expect(given).toBe(expected);
  });
});

describe("the counted fuel grows with the work", () => {
  const turns = (body: string) =>
    run(
      `(loop $l ${body} (local.set $i (i32.add (local.get $i) (i32.const 1))) (br_if $l (i32.lt_u (local.get $i) (i32.const 1000)))) (i32.const 0)`,
    );
  const long = "(drop (f64.sqrt (f64.const 2)))".repeat(1000);

  test.each<[string, string, number, number]>([
    ["a turn", turns(""), 1000, 1100],
    ["a long turn", turns(long), 14_000_000, 14_200_000],
    [
      "a long way that is not taken",
      turns(`(if (i32.eqz (i32.const 1)) (then ${long}))`),
      1000,
      17_000,
    ],
    [
      "small functions",
      `(func $f (nop) (nop) (nop)) ${turns("(call $f)".repeat(200))}`,
      120_000,
      170_000,
    ],
    ["bytes", turns("(memory.fill (i32.const 0) (i32.const 0) (i32.const 800))"), 100_000, 120_000],
    [
      "the longer of two ways",
      turns(`(if (i32.const 1) (then ${"(nop)".repeat(99)}) (else ${"(nop)".repeat(99)}))`),
      4000,
      5100,
    ],
    [
      "entries of tables, by table.fill",
      run(
        "(drop (table.grow $t (ref.null func) (i32.const 10000))) (table.fill $t (i32.const 0) (ref.null func) (i32.const 10000)) (i32.const 0)",
      ),
      640_000,
      650_000,
    ],
    [
      "entries of tables, by table.copy and table.init",
      `(func $f) (elem $e func ${"$f ".repeat(10_000)}) ${run("(drop (table.grow $t (ref.null func) (i32.const 10000))) (table.init $t $e (i32.const 0) (i32.const 0) (i32.const 10000)) (table.copy $t $t (i32.const 1) (i32.const 0) (i32.const 10000)) (i32.const 0)")}`,
      955_000,
      975_000,
    ],
    [
      "no more entries than there can be",
      run("(table.grow $t (ref.null func) (i32.const -1))"),
      3_200_000,
      3_300_000,
    ],
    ["pages of memory", run("(memory.grow (i32.const 15))"), 240_000, 241_000],
    [
      "no more pages than there can be",
      run("(memory.grow (i32.const -1))"),
      16_384_000,
      16_385_000,
    ],
  ])("%s", async (_name, parts, least, most) => {
    const { used } = await both(parts);
    expect(used).toBeGreaterThanOrEqual(least);
    expect(used).toBeLessThanOrEqual(most);
  });

  const frames = (bottom: string) =>
    `(tag $e) (func $deep (param i32) (result i32) (if (i32.eqz (local.get 0)) (then ${bottom})) (i32.add (call $deep (i32.sub (local.get 0) (i32.const 1))) (local.get 0)))
    ${run("(block $h (try_table (catch_all $h) (drop (call $deep (i32.const 1000))))) (i32.const 0)")}`;

  test("an exception pays for each frame that it leaves, and nobody for one that returns", async () => {
    const { used: thrown } = await both(frames("(throw $e)"));
    const { used: returned } = await both(frames("(return (i32.const 0))"));
    expect(returned).toBeLessThan(6000);
    // What V8 takes for the slowest shape of frames.
    expect(thrown).toBeGreaterThan(returned + 130 * 1000);
  });

  test("and for each handler in it that does not take it", async () => {
    const handlers = frames("(throw $e)").replace(
      "(call $deep",
      "(block $o (try_table (catch $other $o) (nop))) (call $deep",
    );
    const { used: plain } = await both(frames("(throw $e)"));
    const { used: handled } = await both(handlers.replace("(tag $e)", "(tag $e) (tag $other)"));
    expect(handled).toBeGreaterThan(plain + 200 * 1000);
  });

  test("every instruction has a price", () => {
    const opcodes = Array.from({ length: 256 }, (_, at) => at);
    for (const one of opcodes) {
      expect(priceOf({ opcode: one })).toBeGreaterThan(0);
      expect(priceOf({ opcode: OP.bulk, sub: one })).toBeGreaterThan(0);
      expect(priceOf({ opcode: OP.simd, sub: one })).toBeGreaterThan(0);
    }
  });

  test("a sum of floats costs as much as a product: it too may be subnormal", () => {
    const sums = [0x92, 0x93, 0xa0, 0xa1].map((opcode) => priceOf({ opcode }));
    const ofVectors = [0xe4, 0xe5, 0xf0, 0xf1].map((sub) => priceOf({ opcode: OP.simd, sub }));
    const [product, ofVector] = [{ opcode: 0xa2 }, { opcode: OP.simd, sub: 0xf2 }].map(priceOf);
    expect(new Set(sums)).toEqual(new Set([product]));
    expect(new Set(ofVectors)).toEqual(new Set([ofVector]));
  });

  test("the bench has a row for every file function", () => {
    const measured = new Set(fileRows.flatMap(({ body }) => body.match(/(?<=call \$)\w+/g)!));
    expect([...measured].toSorted()).toEqual(fileFunctions.toSorted());
  });

  test("the bench has a row for every host function that reaches nobody", () => {
    for (const { full } of hostFunctions)
      expect(hostRows.map(({ name }) => name)).toContainEqual(expect.stringContaining(full));
  });

  test.each(Object.entries(KINDS))("the bench can measure %s", async (_name, kind) => {
    const once = { ...kind, rows: kind.rows.map((row) => ({ ...row, times: [1] })) };
    await expect(prepared(once, { optimise: false })).resolves.toMatch(/\.wasm$/);
  });

  test("and nothing is done without", async () => {
    const { counted } = await both(turns(""));
    counted.edge_fuel.value = 500n;
    expect(() => counted.run()).toThrow(WebAssembly.RuntimeError);
    expect(() => counted.run()).toThrow(WebAssembly.RuntimeError);
  });
});
