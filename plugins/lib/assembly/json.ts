// A small JSON reader and writer. Reading is lazy: a `Json` is a span of the text, checked once as
// a whole, and a number is never converted (`raw` is its text).
// Writing is a template literal: `{"name":${quote(name)}}`.

/** Deeper nesting is refused: the parser recurses, and a Wasm stack is small. */
const MAX_DEPTH = 256;

export class Json {
  constructor(
    private text: string,
    private start: i32,
    private end: i32,
  ) {}

  /** Reads `text`; throws (which aborts the guest) when it is not one JSON value. */
  static parse(text: string): Json {
    const start = skipSpace(text, 0);
    const end = skipValue(text, start, 0);
    if (skipSpace(text, end) != text.length) malformed(end);
    return new Json(text, start, end);
  }

  /** The value's own text; empty when it is missing. */
  get raw(): string {
    return this.text.substring(this.start, this.end);
  }

  /** False for what `get` did not find. */
  get exists(): bool {
    return this.start < this.end;
  }

  get isString(): bool {
    return this.first == 0x22;
  }

  get isObject(): bool {
    return this.first == 0x7b;
  }

  private get first(): i32 {
    return this.exists ? this.text.charCodeAt(this.start) : -1;
  }

  /** The member `key` of an object (the last one, if it is there twice), or a missing value. */
  get(key: string): Json {
    const text = this.text;
    let found = new Json(text, 0, 0);
    if (!this.isObject) return found;
    let at = skipSpace(text, this.start + 1);
    while (text.charCodeAt(at) != 0x7d) {
      const keyEnd = skipString(text, at);
      const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
      const end = skipValue(text, start, 0);
      if (says(text, at, keyEnd, key)) found = new Json(text, start, end);
      at = skipSpace(text, end);
      if (text.charCodeAt(at) == 0x2c) at = skipSpace(text, at + 1);
    }
    return found;
  }

  /** The string, unescaped; `otherwise` when this is not a string. */
  string(otherwise: string = ""): string {
    return this.isString ? unquote(this.text, this.start, this.end) : otherwise;
  }
}

/** `value` as a JSON string, quotes included. */
export function quote(value: string): string {
  let length = value.length + 2;
  for (let at = 0; at < value.length; at++) length += escapeLength(value.charCodeAt(at)) - 1;
  const quoted = new Units(length);
  quoted.add(0x22);
  for (let at = 0; at < value.length; at++) {
    const unit = value.charCodeAt(at);
    const escaped = escapeLength(unit);
    if (escaped > 1) quoted.add(0x5c);
    if (escaped == 6) {
      quoted.add(0x75);
      quoted.add(0x30);
      quoted.add(0x30);
      quoted.add(hexDigit(unit >> 4));
      quoted.add(hexDigit(unit & 15));
    } else quoted.add(unit == 0x0a ? 0x6e : unit);
  }
  quoted.add(0x22);
  return quoted.string();
}

/** 1 for what stays as it is, 2 for a letter behind a backslash, 6 for `\u00xx`. */
function escapeLength(unit: i32): i32 {
  if (unit == 0x22 || unit == 0x5c || unit == 0x0a) return 2;
  return unit < 0x20 ? 6 : 1;
}

function hexDigit(value: i32): i32 {
  return value < 10 ? 0x30 + value : 0x57 + value;
}

/** A string in the making. (Memory is never freed here, so `+=` in a loop would eat it up.) */
class Units {
  private length: i32 = 0;
  private readonly units: StaticArray<u16>;

  constructor(capacity: i32) {
    this.units = new StaticArray<u16>(capacity);
  }

  add(unit: i32): void {
    this.units[this.length++] = <u16>unit;
  }

  string(): string {
    return String.UTF16.decodeUnsafe(changetype<usize>(this.units), this.length << 1);
  }
}

/** An integer's digits. (`toString` would bring tables larger than all of this file.) */
export function decimal(value: i64): string {
  if (value < 0) return "-" + decimal(-value);
  const digit = String.fromCharCode(0x30 + <i32>(value % 10));
  return value < 10 ? digit : decimal(value / 10) + digit;
}

/** Decodes the string literal from `start` to `end`, quotes included. It has already been validated. */
function unquote(text: string, start: i32, end: i32): string {
  const said = new Units(end - start);
  for (let at = start + 1; at < end - 1; at++) {
    let unit = text.charCodeAt(at);
    if (unit == 0x5c) {
      unit = text.charCodeAt(++at);
      if (unit == 0x62) unit = 0x08;
      else if (unit == 0x66) unit = 0x0c;
      else if (unit == 0x6e) unit = 0x0a;
      else if (unit == 0x72) unit = 0x0d;
      else if (unit == 0x74) unit = 0x09;
      else if (unit == 0x75) {
        unit = 0; // of a surrogate pair each half has an escape of its own, and a unit here
        for (let left = 4; left > 0; left--) unit = (unit << 4) | hexValue(text.charCodeAt(++at));
      }
    }
    said.add(unit);
  }
  return said.string();
}

/** Whether the string from `start` to `end` says `wanted`; without a copy, unless it has escapes. */
function says(text: string, start: i32, end: i32, wanted: string): bool {
  let at = start + 1;
  for (let index = 0; index < wanted.length; index++) {
    const unit = text.charCodeAt(at++);
    if (unit == 0x5c) return unquote(text, start, end) == wanted;
    if (unit != wanted.charCodeAt(index)) return false;
  }
  return at == end - 1;
}

// The checking scanner: each function takes the place where something must begin and gives the
// place behind it. `charCodeAt` is -1 behind the end of the text, which no rule admits.

function skipSpace(text: string, at: i32): i32 {
  while (true) {
    const unit = text.charCodeAt(at);
    if (unit != 0x20 && unit != 0x0a && unit != 0x0d && unit != 0x09) return at;
    at++;
  }
}

function skipValue(text: string, at: i32, depth: i32): i32 {
  if (depth > MAX_DEPTH) malformed(at);
  switch (text.charCodeAt(at)) {
    case 0x22:
      return skipString(text, at);
    case 0x7b:
      return skipMembers(text, at + 1, depth, 0x7d);
    case 0x5b:
      return skipMembers(text, at + 1, depth, 0x5d);
    case 0x74:
      return skipWord(text, at, "true");
    case 0x66:
      return skipWord(text, at, "false");
    case 0x6e:
      return skipWord(text, at, "null");
    default:
      return skipNumber(text, at);
  }
}

/** The members of an object or an array, up to and with its `close`. */
function skipMembers(text: string, at: i32, depth: i32, close: i32): i32 {
  at = skipSpace(text, at);
  if (text.charCodeAt(at) == close) return at + 1;
  while (true) {
    if (close == 0x7d) {
      at = skipSpace(text, skipString(text, at));
      if (text.charCodeAt(at) != 0x3a) malformed(at);
      at = skipSpace(text, at + 1);
    }
    at = skipSpace(text, skipValue(text, at, depth + 1));
    const unit = text.charCodeAt(at);
    if (unit == close) return at + 1;
    if (unit != 0x2c) malformed(at);
    at = skipSpace(text, at + 1);
  }
}

function skipString(text: string, at: i32): i32 {
  if (text.charCodeAt(at) != 0x22) malformed(at);
  while (true) {
    let unit = text.charCodeAt(++at);
    if (unit == 0x22) return at + 1;
    if (unit < 0x20) malformed(at);
    if (unit != 0x5c) continue;
    unit = text.charCodeAt(++at);
    if (unit == 0x75) {
      for (let digits = 0; digits < 4; digits++)
        if (hexValue(text.charCodeAt(++at)) < 0) malformed(at);
    } else if (unit < 0 || !'"\\/bfnrt'.includes(String.fromCharCode(unit))) malformed(at);
  }
}

function skipNumber(text: string, at: i32): i32 {
  if (text.charCodeAt(at) == 0x2d) at++;
  at = text.charCodeAt(at) == 0x30 ? at + 1 : skipDigits(text, at);
  if (text.charCodeAt(at) == 0x2e) at = skipDigits(text, at + 1);
  if ((text.charCodeAt(at) | 0x20) == 0x65) {
    at++;
    const sign = text.charCodeAt(at);
    if (sign == 0x2b || sign == 0x2d) at++;
    at = skipDigits(text, at);
  }
  return at;
}

function skipDigits(text: string, at: i32): i32 {
  if (!isDigit(text.charCodeAt(at))) malformed(at);
  while (isDigit(text.charCodeAt(at))) at++;
  return at;
}

function skipWord(text: string, at: i32, word: string): i32 {
  const end = at + word.length;
  if (text.substring(at, end) != word) malformed(at);
  return end;
}

function isDigit(unit: i32): bool {
  return unit >= 0x30 && unit <= 0x39;
}

function hexValue(unit: i32): i32 {
  if (isDigit(unit)) return unit - 0x30;
  const letter = unit | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

function malformed(at: i32): void {
  throw new Error("Malformed JSON at " + decimal(at));
}
