import { binary, both, each, one, unary, type Row } from "./fuel-rows.ts";

/** Arithmetic of numbers and of vectors. */

/** A constant, in each lane where the type has several. */
function splat(type: string, number: string): string {
  const [lane, lanes] = type.split("x");
  const constant = `(${lane}.const ${number})`;
  return lanes === undefined ? constant : `(${type}.splat ${constant})`;
}

/** Operations on numbers near zero, for which processors have slow ways. */
const subnormal = (local: string, type: string, tiny: string): Row[] => {
  const all = (number: string) => splat(type, number);
  const near = `(${type}.add (local.get $${local}) ${all(tiny)})`;
  const ways = {
    add: near,
    mul: `(${type}.mul ${near} ${all("0.5")})`,
    div: `(${type}.div ${near} ${all("2.5")})`,
    sqrt: `(${type}.mul (${type}.sqrt ${near}) ${all(tiny)})`,
  };
  return Object.entries(ways).map(([name, body]) =>
    one(`${type}.${name}, subnormal`, `(local.set $${local} ${body})`),
  );
};

/** A subnormal difference of two numbers that are not; `or` makes its bits those of a number just above `least`. */
const difference = (local: string, type: string, least: string, or: string): Row =>
  one(
    `${type}.sub, to a subnormal number`,
    `(local.set $${local} (${type}.sub ${or} ${splat(type, least)}))`,
  );

export const arithmetic: Row[] = [
  ...each("i32.add i32.mul i32.xor i32.shl i32.rotr i32.lt_u", binary("i", "j")),
  ...each("i64.add i64.mul i64.sub i64.shr_u i64.rotl", binary("a", "b")),
  ...each("i32.clz i32.ctz i32.popcnt i32.eqz i32.extend8_s", unary("i")),
  ...each(
    "i32.div_u i32.div_s i32.rem_u i32.rem_s",
    (name) =>
      `(local.set $i (${name} (i32.xor (local.get $i) (i32.const 0x7ffffff1)) (i32.or (local.get $i) (i32.const 1))))`,
  ),
  ...each(
    "i64.div_u i64.div_s i64.rem_u i64.rem_s",
    (name) =>
      `(local.set $a (${name} (i64.xor (local.get $a) (i64.const 0x7ffffffffffffff1)) (i64.or (local.get $a) (i64.const 1))))`,
  ),
  ...each("f64.add f64.mul f64.div f64.min f64.max f64.copysign", binary("x", "y")),
  ...each("f32.add f32.div f32.min", binary("f", "g")),
  ...each("f64.sqrt f64.ceil f64.nearest f64.neg", unary("x")),
  ...each("f32.sqrt f32.floor", unary("f")),
  ...subnormal("x", "f64", "0x1p-1030"),
  ...subnormal("f", "f32", "0x1p-130"),
  difference(
    "x",
    "f64",
    "0x1p-1022",
    "(f64.reinterpret_i64 (i64.or (i64.reinterpret_f64 (local.get $x)) (i64.const 0x10000000000001)))",
  ),
  difference(
    "f",
    "f32",
    "0x1p-126",
    "(f32.reinterpret_i32 (i32.or (i32.reinterpret_f32 (local.get $f)) (i32.const 0x800001)))",
  ),
  one(
    "f32.demote_f64 f64.promote_f32, subnormal",
    "(local.set $x (f64.promote_f32 (f32.demote_f64 (f64.add (local.get $x) (f64.const 0x1p-140)))))",
  ),
  both("x", "i64.trunc_sat_f64_s", "f64.convert_i64_s"),
  both("x", "i64.trunc_sat_f64_u", "f64.convert_i64_u"),
  both("x", "i32.trunc_sat_f64_u", "f64.convert_i32_u"),
  both("x", "f32.demote_f64", "f64.promote_f32"),
  both("f", "i32.trunc_f32_s", "f32.convert_i32_s"),
  both("f", "i64.trunc_sat_f32_u", "f32.convert_i64_u"),
  both("a", "f64.reinterpret_i64", "i64.reinterpret_f64"),
  one(
    "select",
    "(local.set $i (select (local.get $j) (local.get $i) (i32.and (local.get $i) (i32.const 1)))) (local.set $j (i32.add (local.get $j) (local.get $i)))",
  ),
  one("global.get global.set", "(global.set $g (i32.add (global.get $g) (local.get $j)))"),
];

export const vectors: Row[] = [
  ...each(
    "i32x4.add i32x4.mul i64x2.mul i8x16.swizzle i16x8.q15mulr_sat_s i32x4.dot_i16x8_s i8x16.narrow_i16x8_u i8x16.avgr_u i64x2.extmul_low_i32x4_s f64x2.div f32x4.div f64x2.mul f32x4.min f64x2.max f32x4.pmin i8x16.eq i64x2.lt_s",
    binary("v", "w"),
  ),
  ...each(
    "i8x16.popcnt i64x2.abs f64x2.sqrt f32x4.sqrt f32x4.ceil f64x2.nearest i32x4.trunc_sat_f64x2_u_zero i32x4.trunc_sat_f32x4_u f64x2.convert_low_i32x4_u f32x4.convert_i32x4_u f32x4.demote_f64x2_zero i16x8.extadd_pairwise_i8x16_s v128.not",
    unary("v"),
  ),
  ...subnormal("v", "f64x2", "0x1p-1030"),
  ...subnormal("v", "f32x4", "0x1p-130"),
  difference(
    "v",
    "f64x2",
    "0x1p-1022",
    "(v128.or (local.get $v) (i64x2.splat (i64.const 0x10000000000001)))",
  ),
  difference(
    "v",
    "f32x4",
    "0x1p-126",
    "(v128.or (local.get $v) (i32x4.splat (i32.const 0x800001)))",
  ),
  ...each("i8x16.shl i8x16.shr_s i64x2.shr_s i16x8.shr_u", binary("v", "i")),
  one(
    "i8x16.shuffle",
    "(local.set $v (i8x16.shuffle 3 17 9 24 1 30 5 21 12 0 31 16 8 7 2 19 (local.get $v) (local.get $w)))",
  ),
  one(
    "v128.bitselect",
    "(local.set $v (v128.bitselect (local.get $v) (local.get $w) (local.get $v)))",
  ),
  one("i8x16.bitmask i8x16.splat", "(local.set $v (i8x16.splat (i8x16.bitmask (local.get $v))))"),
  one(
    "i64x2.all_true i64x2.splat",
    "(local.set $v (i64x2.splat (i64.extend_i32_u (i64x2.all_true (local.get $v)))))",
  ),
  one(
    "f64x2.extract_lane f64x2.replace_lane",
    "(local.set $v (f64x2.replace_lane 1 (local.get $v) (f64x2.extract_lane 0 (local.get $v))))",
  ),
];
