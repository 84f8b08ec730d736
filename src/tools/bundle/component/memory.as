// Numbers, text and JSON between two memories: the component's, which `load` and `store` reach, and the kernel's, whose
// blocks hold the input, the output and the records of resources. It has no data of its own: `text("…")` is
// written as numbers (see texts.ts).

@external("extism:host/env", "alloc") declare function kalloc(length: u64): u64;
@external("extism:host/env", "free") declare function kfree(block: u64): void;
@external("extism:host/env", "length") declare function klength(block: u64): u64;
@external("extism:host/env", "load_u8") declare function kload8(at: u64): u32;
@external("extism:host/env", "load_u64") declare function kload64(at: u64): u64;
@external("extism:host/env", "store_u8") declare function kstore8(at: u64, value: u32): void;
@external("extism:host/env", "store_u64") declare function kstore64(at: u64, value: u64): void;
@external("extism:host/env", "input_offset") declare function input_offset(): u64;
@external("extism:host/env", "output_set") declare function output_set(at: u64, length: u64): void;

// Generated code sets these before it calls a function of the library (see imports.ts).

/** Index of the component's `realloc` that makes lists; -1 for none. */
let currentRealloc: i32 = -1;
/** True if the function that is called is one of WASI 0.3. */
let isWasi3 = false;

/** A new list in the component's memory. */
function listOf(align: u32, size: u32): u32 {
  return reallocate(0, 0, align, size);
}

/** A new block of the kernel; never 0. */
function blockOf(size: u32): u32 {
  return <u32>kalloc(max(size, 1));
}

function toKernel(from: u32, length: u32): u32 {
  const block = blockOf(length);
  let at: u32 = 0;
  for (; at + 8 <= length; at += 8) kstore64(block + at, load<u64>(from + at));
  for (; at < length; at++) kstore8(block + at, load<u8>(from + at));
  return block;
}

function fromKernel(from: u32, length: u32): u32 {
  const list = listOf(1, length);
  copyFromKernel(from, list, length);
  return list;
}

function copyFromKernel(from: u32, to: u32, length: u32): void {
  let at: u32 = 0;
  for (; at + 8 <= length; at += 8) store<u64>(to + at, kload64(from + at));
  for (; at < length; at++) store<u8>(to + at, kload8(from + at));
}

function kcopy(from: u32, to: u32, length: u32): void {
  let at: u32 = 0;
  for (; at + 8 <= length; at += 8) kstore64(to + at, kload64(from + at));
  for (; at < length; at++) kstore8(to + at, kload8(from + at));
}

// Text that is being written.

let out: u32 = 0;
let outRoom: u32 = 0;
let outLength: u32 = 0;

function beginOut(): void {
  outRoom = 256;
  outLength = 0;
  out = blockOf(outRoom);
}

function room(more: u32): void {
  if (outLength + more <= outRoom) return;
  outRoom = max(outRoom * 2, outLength + more);
  const larger = blockOf(outRoom);
  kcopy(out, larger, outLength);
  kfree(out);
  out = larger;
}

function byte(value: u32): void {
  room(1);
  kstore8(out + outLength++, value);
}

/** Appends the lowest bytes of a word. */
function word(bytes: u64, length: u32): void {
  room(8);
  kstore64(out + outLength, bytes);
  outLength += length;
}

/** A block of exactly what was written. */
function endOut(): u64 {
  const block = blockOf(outLength);
  kcopy(out, block, outLength);
  kfree(out);
  return block;
}

function raw(block: u32, length: u32): void {
  room(length);
  kcopy(block, out + outLength, length);
  outLength += length;
}

/** Writes a comma, but not at the beginning of an array or object. */
function separate(): void {
  const last = kload8(out + outLength - 1);
  if (last != 91 && last != 123) byte(44);
}

/** Gives the written text as the output of the call. */
function output(): i32 {
  const length = outLength;
  output_set(endOut(), length);
  return 0;
}

// The result of a call: a block with JSON, or 0 for none.

let result: u64 = 0;
let resultIsString = false;
let resultIsError = false;

/** Answers with the result as text and, if it is no error, as structured content. */
function answer(): i32 {
  beginOut();
  if (result == 0) {
    text('{"content":[]}');
    return output();
  }
  const length = <u32>klength(result);
  text('{"content":[{"type":"text","text":');
  if (resultIsString) raw(<u32>result, length);
  else {
    byte(34);
    escapedFrom(<u32>result, length);
    byte(34);
  }
  if (resultIsError) {
    text('}],"isError":true}');
    return output();
  }
  text('}],"structuredContent":{"result":');
  raw(<u32>result, length);
  text("}}");
  return output();
}

function escaped(c: u32): void {
  if (c < 32) {
    text("\\u00");
    byte(48 + (c >> 4));
    byte((c & 15) + ((c & 15) < 10 ? 48 : 87));
    return;
  }
  if (c == 34 || c == 92) byte(92);
  byte(c);
}

function escapedFrom(block: u32, length: u32): void {
  for (let at: u32 = 0; at < length; at++) escaped(kload8(block + at));
}

function writeString(from: u32, length: u32): void {
  byte(34);
  for (let at: u32 = 0; at < length; at++) escaped(load<u8>(from + at));
  byte(34);
}

function writeChar(code: u32): void {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) unreachable();
  byte(34);
  if (code < 128) escaped(code);
  else if (code < 0x800) {
    byte(0xc0 | (code >> 6));
    byte(0x80 | (code & 63));
  } else {
    if (code < 0x10000) byte(0xe0 | (code >> 12));
    else {
      byte(0xf0 | (code >> 18));
      byte(0x80 | ((code >> 12) & 63));
    }
    byte(0x80 | ((code >> 6) & 63));
    byte(0x80 | (code & 63));
  }
  byte(34);
}

function writeBool(value: u32): void {
  if (value != 0) text("true");
  else text("false");
}

function writeUnsigned(value: u64): void {
  if (value >= 10) writeUnsigned(value / 10);
  byte(48 + <u32>(value % 10));
}

function writeSigned(value: i64): void {
  if (value < 0) byte(45);
  writeUnsigned(value < 0 ? <u64>-value : <u64>value);
}

/** Beyond the integers that JSON readers keep, as a string. */
const SAFE: u64 = 9007199254740991;

function writeU64(value: u64): void {
  if (value > SAFE) byte(34);
  writeUnsigned(value);
  if (value > SAFE) byte(34);
}

function writeS64(value: i64): void {
  const size = value < 0 ? <u64>-value : <u64>value;
  if (size > SAFE) byte(34);
  writeSigned(value);
  if (size > SAFE) byte(34);
}

// Numbers of any length: a block of limbs of 32 bits, each in eight bytes, the lowest first.

const LIMBS: u32 = 80;

function big(value: u64): u32 {
  const number = blockOf(LIMBS * 8);
  for (let at: u32 = 0; at < LIMBS; at++) kstore64(number + at * 8, 0);
  kstore64(number, value & 0xffffffff);
  kstore64(number + 8, value >> 32);
  return number;
}

function multiply(number: u32, by: u64): void {
  let carry: u64 = 0;
  for (let at: u32 = 0; at < LIMBS; at++) {
    const product = kload64(number + at * 8) * by + carry;
    kstore64(number + at * 8, product & 0xffffffff);
    carry = product >> 32;
  }
}

/** Divides, and gives the rest. */
function divide(number: u32, by: u64): u64 {
  let rest: u64 = 0;
  for (let at: i32 = LIMBS - 1; at >= 0; at--) {
    const part = (rest << 32) | kload64(number + at * 8);
    kstore64(number + at * 8, part / by);
    rest = part % by;
  }
  return rest;
}

function shiftLeft(number: u32, bits: u32): void {
  for (; bits >= 31; bits -= 31) multiply(number, <u64>1 << 31);
  multiply(number, <u64>1 << bits);
}

function bitLength(number: u32): u32 {
  for (let at: i32 = LIMBS - 1; at >= 0; at--) {
    const limb = kload64(number + at * 8);
    if (limb != 0) return at * 32 + 64 - <u32>clz(limb);
  }
  return 0;
}

/** Takes `other` away if it is not larger. */
function takeAway(number: u32, other: u32): bool {
  for (let at: i32 = LIMBS - 1; at >= 0; at--) {
    const difference = <i64>kload64(number + at * 8) - <i64>kload64(other + at * 8);
    if (difference < 0) return false;
    if (difference > 0) break;
  }
  let borrow: i64 = 0;
  for (let at: u32 = 0; at < LIMBS; at++) {
    const difference = <i64>kload64(number + at * 8) - <i64>kload64(other + at * 8) + borrow;
    kstore64(number + at * 8, <u64>difference & 0xffffffff);
    borrow = difference >> 32;
  }
  return true;
}

/** Exact up to 22. */
function powerOfTen(power: u32): f64 {
  let result: f64 = 1;
  for (; power > 0; power--) result *= 10;
  return result;
}

/** The fewest decimals that mean this number, else 17 digits of it; `null` for what JSON does not have. */
function writeFloat(value: f64, isSingle: bool): void {
  if (value - value != 0) {
    text("null");
    return;
  }
  if (value < 0) byte(45);
  const size = abs(value);
  for (let places: u32 = 0; places < 18; places++) {
    const digits = nearest(size * powerOfTen(places));
    if (digits > <f64>SAFE) break;
    const meant = digits / powerOfTen(places);
    if ((isSingle ? <f64><f32>meant : meant) == size) return writeDecimal(<u64>digits, places);
  }
  writeLong(reinterpret<u64>(size));
}

function writeDecimal(digits: u64, places: u32): void {
  let unit: u64 = 1;
  for (let n: u32 = 0; n < places; n++) unit *= 10;
  writeUnsigned(digits / unit);
  if (places == 0) return;
  byte(46);
  for (unit /= 10; unit > 0; unit /= 10) byte(48 + <u32>((digits / unit) % 10));
}

function writeLong(bits: u64): void {
  const raised = <i32>(bits >> 52);
  const number = big((bits & 0xfffffffffffff) | (raised > 0 ? <u64>1 << 52 : <u64>0));
  let exponent = max(raised, 1) - 1075;
  let power = 0;
  // Digits of `mantissa / 2^n` are those of `mantissa × 5^n`.
  for (; exponent < 0; exponent++) {
    multiply(number, 5);
    power--;
  }
  shiftLeft(number, exponent);
  let last: u64 = 0;
  while (bitLength(number) > 60) {
    divide(number, 10);
    power++;
  }
  let digits = kload64(number) | (kload64(number + 8) << 32);
  kfree(number);
  for (; digits >= 100000000000000000; digits /= 10) {
    last = digits % 10;
    power++;
  }
  if (last > 4) digits++;
  // One digit, a point, and the others.
  let places = 0;
  for (let rest = digits; rest > 9; rest /= 10) places++;
  writeDecimal(digits, places);
  byte(101);
  writeSigned(power + places);
}

// JSON that is being read. The host writes it: it is valid and has no spaces.

/** The address of the next character. */
let at: u32 = 0;

/** True if these bytes begin at an address. */
function same(from: u32, bytes: u64, length: u32): bool {
  const mask = length == 8 ? <u64>-1 : (<u64>1 << (length * 8)) - 1;
  return (kload64(from) & mask) == bytes;
}

/** The address after the value that begins here. */
function valueEnd(from: u32): u32 {
  let depth = 0;
  do {
    const c = kload8(from);
    if (c == 34) {
      for (from++; kload8(from) != 34; from++) if (kload8(from) == 92) from++;
    } else if (c == 123 || c == 91) depth++;
    else if (c == 125 || c == 93) depth--;
    from++;
  } while (depth > 0 || !ends(kload8(from)));
  return from;
}

function ends(c: u32): bool {
  return c == 44 || c == 58 || c == 93 || c == 125;
}

/** Goes to the next element or member, or past the end of the array or object. True if there is one. */
function next(): bool {
  const c = kload8(at++);
  if (c == 44) return true;
  if (c != 123 && c != 91) return false;
  if (kload8(at) != 125 && kload8(at) != 93) return true;
  at++;
  return false;
}

/** Passes a member that nobody reads. */
function skip(): void {
  at = valueEnd(at) + 1;
  at = valueEnd(at);
}

function elements(): u32 {
  const from = at;
  let count: u32 = 0;
  while (next()) {
    at = valueEnd(at);
    count++;
  }
  at = from;
  return count;
}

function readBool(): u32 {
  const isTrue = kload8(at) == 116;
  at += isTrue ? 4 : 5;
  return isTrue;
}

function readInteger(): u64 {
  const end = valueEnd(at);
  if (kload8(at) == 34) at++;
  const isNegative = kload8(at) == 45;
  if (isNegative) at++;
  let value: u64 = 0;
  for (; kload8(at) - 48 < 10; at++) {
    const digit = <u64>(kload8(at) - 48);
    // More than 64 bits: the call ends.
    if (value > (<u64>-1 - digit) / 10) unreachable();
    value = value * 10 + digit;
  }
  at = end;
  return isNegative ? <u64>-<i64>value : value;
}

function readU64(): u64 {
  return readInteger();
}

function readS64(): i64 {
  const isNegative = kload8(at) == 45 || (kload8(at) == 34 && kload8(at + 1) == 45);
  const value = <i64>readInteger();
  if (value != 0 && value < 0 != isNegative) unreachable();
  return value;
}

function readF64(): f64 {
  const isNegative = kload8(at) == 45;
  if (isNegative) at++;
  let digits: u64 = 0;
  let power = 0;
  let hasPoint = false;
  for (; ; at++) {
    const c = kload8(at);
    if (c == 46) {
      hasPoint = true;
      continue;
    }
    if (c - 48 >= 10) break;
    // The shortest digits of a number are at most 17; more of them are zeros.
    if (digits < 100000000000000000) {
      digits = digits * 10 + (c - 48);
      if (hasPoint) power--;
    } else if (!hasPoint) power++;
  }
  if (kload8(at) == 101) {
    at++;
    const isSmall = kload8(at) == 45;
    at++;
    let given = 0;
    for (; kload8(at) - 48 < 10; at++) given = given * 10 + <i32>(kload8(at) - 48);
    power += isSmall ? -given : given;
  }
  const value = decimal(digits, power);
  return isNegative ? -value : value;
}

/** The number that is nearest to `digits × 10^power`. */
function decimal(digits: u64, power: i32): f64 {
  if (digits <= SAFE && power <= 22 && power >= -22)
    return power < 0 ? <f64>digits / powerOfTen(-power) : <f64>digits * powerOfTen(power);
  const over = big(digits);
  const under = big(1);
  for (let n = 0; n < power; n++) multiply(over, 10);
  for (let n = 0; n > power; n--) multiply(under, 10);
  // A quotient of 55 or 56 bits, by long division.
  const scale = 55 - (<i32>bitLength(over) - <i32>bitLength(under));
  if (scale > 0) shiftLeft(over, scale);
  else shiftLeft(under, -scale);
  let quotient: u64 = 0;
  shiftLeft(under, 56);
  for (let n = 0; n <= 56; n++) {
    quotient = (quotient << 1) | <u64>takeAway(over, under);
    divide(under, 2);
  }
  if (bitLength(over) > 0) quotient |= 1;
  kfree(over);
  kfree(under);
  const lowest = max(<i32>(64 - clz(quotient)) - 53 - scale, -1074);
  const drop = lowest + scale;
  if (drop > 63) return 0;
  let kept = quotient >> drop;
  const rest = quotient & ((<u64>1 << drop) - 1);
  const half = <u64>1 << (drop - 1);
  if (rest > half || (rest == half && (kept & 1) == 1)) kept++;
  if (kept < <u64>1 << 52) return reinterpret<f64>(kept);
  return reinterpret<f64>((<u64>(lowest + 1075) << 52) + (kept - (<u64>1 << 52)));
}

// The bytes of a string: counted, or written to the kernel's memory or the component's.

let sinkTo: u32 = 0;
let sinkAt: u32 = 0;

function sink(value: u32): void {
  if (sinkTo == 1) store<u8>(sinkAt, value);
  if (sinkTo == 2) kstore8(sinkAt, value);
  sinkAt++;
}

function sinkCode(code: u32): void {
  if (code < 128) return sink(code);
  if (code < 0x800) sink(0xc0 | (code >> 6));
  else {
    if (code < 0x10000) sink(0xe0 | (code >> 12));
    else {
      sink(0xf0 | (code >> 18));
      sink(0x80 | ((code >> 12) & 63));
    }
    sink(0x80 | ((code >> 6) & 63));
  }
  sink(0x80 | (code & 63));
}

function hex4(from: u32): u32 {
  let value: u32 = 0;
  for (let n: u32 = 0; n < 4; n++) {
    const c = kload8(from + n);
    value = value * 16 + (c < 58 ? c - 48 : (c | 32) - 87);
  }
  return value;
}

/** The code of the character or escape here; half of a pair is U+FFFD. Characters beyond ASCII come byte by byte. */
function readCode(): u32 {
  const c = kload8(at++);
  if (c != 92) return c;
  const kind = kload8(at++);
  if (kind == 98) return 8;
  if (kind == 102) return 12;
  if (kind == 110) return 10;
  if (kind == 114) return 13;
  if (kind == 116) return 9;
  if (kind != 117) return kind;
  at += 4;
  const code = hex4(at - 4);
  return code >= 0xd800 && code < 0xe000 ? 0xfffd : code;
}

/** Gives the bytes of the string here to the sink. */
function sinkString(): void {
  at++;
  while (kload8(at) != 34) {
    const isEscape = kload8(at) == 92;
    const code = readCode();
    if (isEscape) sinkCode(code);
    else sink(code);
  }
  at++;
}

/** Reads a string into a list of the component, whose address and length are stored at `to`. */
function readString(to: u32): void {
  const from = at;
  sinkTo = 0;
  sinkAt = 0;
  sinkString();
  const length = sinkAt;
  const list = listOf(1, length);
  at = from;
  sinkTo = 1;
  sinkAt = list;
  sinkString();
  store<u32>(to, list);
  store<u32>(to, length, 4);
}

let blockLength: u32 = 0;

/** Reads a string into a block of the kernel, whose length is then `blockLength`. */
function readBlock(): u32 {
  const block = blockOf(valueEnd(at) - at);
  sinkTo = 2;
  sinkAt = block;
  sinkString();
  blockLength = sinkAt - block;
  return block;
}

function readChar(): u32 {
  at++;
  const isEscape = kload8(at) == 92;
  let code = readCode();
  if (!isEscape && code >= 0xc0) {
    const more = code < 0xe0 ? 1 : code < 0xf0 ? 2 : 3;
    code &= 0x3f >> more;
    for (let n = 0; n < more; n++) code = (code << 6) | (kload8(at++) & 63);
  }
  at++;
  return code;
}
