// A servlet's input, output and errors by way of Extism: text in blocks that the host keeps.
import {
  alloc,
  block_length,
  error_set,
  input_length,
  input_load_u64,
  input_load_u8,
  load_u64,
  load_u8,
  output_set,
  store_u64,
  store_u8,
} from "./host";

// Eight bytes at a time; the last eight overlap those before them, where the length is not a
// multiple of eight.

/** The input of the export that the host has called. */
export function input(): string {
  const length = <u32>input_length();
  const bytes = new ArrayBuffer(length);
  const to = changetype<usize>(bytes);
  if (length < 8) {
    for (let at: u32 = 0; at < length; at++) store<u8>(to + at, input_load_u8(at));
  } else {
    for (let at: u32 = 0; at < length - 8; at += 8) store<u64>(to + at, input_load_u64(at));
    store<u64>(to + length - 8, input_load_u64(length - 8));
  }
  return String.UTF8.decode(bytes);
}

/** The text in a block that a host function returned; empty for no block. */
export function read(block: u64): string {
  const length = <u32>block_length(block);
  const bytes = new ArrayBuffer(length);
  const to = changetype<usize>(bytes);
  if (length < 8) {
    for (let at: u32 = 0; at < length; at++) store<u8>(to + at, load_u8(block + at));
  } else {
    for (let at: u32 = 0; at < length - 8; at += 8) store<u64>(to + at, load_u64(block + at));
    store<u64>(to + length - 8, load_u64(block + length - 8));
  }
  return String.UTF8.decode(bytes);
}

/** A new block with `text`, for the host to read. */
export function block(text: string): u64 {
  return write(encode(text));
}

/** Answers the call with `text`. An export ends with `return output(…)`. */
export function output(text: string): i32 {
  const bytes = encode(text);
  output_set(write(bytes), bytes.byteLength);
  return 0;
}

/** Ends the call with an error: `return fail(…)`. */
export function fail(message: string): i32 {
  error_set(block(message));
  return 1;
}

/** UTF-8, with U+FFFD for a lone surrogate. */
function encode(text: string): ArrayBuffer {
  return String.UTF8.encode(text, false, String.UTF8.ErrorMode.REPLACE);
}

function write(bytes: ArrayBuffer): u64 {
  const length = <u32>bytes.byteLength;
  const from = changetype<usize>(bytes);
  const to = alloc(length);
  if (length < 8) {
    for (let at: u32 = 0; at < length; at++) store_u8(to + at, load<u8>(from + at));
  } else {
    for (let at: u32 = 0; at < length - 8; at += 8) store_u64(to + at, load<u64>(from + at));
    store_u64(to + length - 8, load<u64>(from + length - 8));
  }
  return to;
}
