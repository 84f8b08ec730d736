/** Size limits on guest data, checked before it is decoded. */
import { mebibytes } from "../core/text.ts";
import { GuestError } from "./budget.ts";

/** Members and items of a guest's message or output: parsed, an empty object takes twenty times its text. */
const GUEST_MEMBERS = 200_000;

const decoder = new TextDecoder();

/**
 * The beginning of a UTF-8 text, at least `characters` characters if available; the rest is not decoded. A truncated
 * text may end within a secret, which could then not be recognised and removed: if the call has secrets
 * (`hasCredentials`), the result only gives the text's length.
 */
export function excerptOf(
  parts: readonly Uint8Array[],
  characters: number,
  hasCredentials: boolean,
): string {
  const enough = characters * 4;
  const length = parts.reduce((sum, { length: one }) => sum + one, 0);
  if (length > enough && hasCredentials) {
    return `(${length} bytes: too long to be shown because the call has secrets)`;
  }
  if (parts.length === 1) return decoder.decode(parts[0]!.subarray(0, enough));
  const bytes = new Uint8Array(Math.min(length, enough));
  let at = 0;
  for (const part of parts) {
    bytes.set(part.subarray(0, enough - at), at);
    at = Math.min(at + part.length, enough);
  }
  return decoder.decode(bytes);
}

/** Throws if a guest passes more bytes than the host reads; `name` names them in the error. */
export function demandSize(name: string, { length }: Uint8Array, most: number): void {
  if (length <= most) return;
  const limit = most < 1e5 ? `${most} bytes` : mebibytes(most);
  throw new GuestError(
    `${name} is too large: ${mebibytes(length)} (limit ${limit}). Send less at once.`,
  );
}

/** Throws if a text takes more of V8's heap: two bytes for each character if any is beyond Latin-1. */
function demandHeap(name: string, bytes: Uint8Array, most: number): void {
  if (2 * bytes.length <= most || !bytes.some((byte) => byte >= BEYOND_LATIN_1)) return;
  let units = 0;
  for (const byte of bytes) units += Number(byte < 0x80 || byte >= 0xc0) + Number(byte >= 0xf0);
  if (2 * units <= most) return;
  throw new GuestError(
    `${name} is too large: it has characters beyond Latin-1, so each counts two bytes, and at most ${mebibytes(most)} are read.`,
  );
}

/** The first byte in UTF-8 of U+0100. */
const BEYOND_LATIN_1 = 0xc4;

/** Throws a `GuestError` for JSON that is too large, or has more members and items than the host parses. */
export function demandJson(name: string, bytes: Uint8Array, most: number): void {
  demandSize(name, bytes, most);
  demandHeap(name, bytes, most);
  if (bytes.length <= GUEST_MEMBERS || jsonMembers(bytes) <= GUEST_MEMBERS) return;
  throw new GuestError(
    `${name} has too many members and items (limit ${GUEST_MEMBERS}). Send less at once.`,
  );
}

/** The number of members and items in JSON text, before it is parsed. */
function jsonMembers(bytes: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at);
    else if (byte === COMMA || byte === BRACKET || byte === BRACE) count++;
  }
  return count;
}

const [QUOTE, COMMA, BRACKET, BRACE, BACKSLASH] = [34, 44, 91, 123, 92];

/** Index of the closing quote of the string that begins at `begin`. */
function endOfString(bytes: Uint8Array, begin: number): number {
  for (let at = bytes.indexOf(QUOTE, begin + 1); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) {
    let escapes = at;
    while (bytes[escapes - 1] === BACKSLASH) escapes--;
    if ((at - escapes) % 2 === 0) return at;
  }
  return bytes.length;
}
