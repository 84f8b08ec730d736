/** UTF-8 by way of the interpreter's native functions: loops over bytes are slow in it. */
export const encodeUtf8 = (text: string): Uint8Array<ArrayBuffer> =>
  bytesOf(unescape(encodeURIComponent(text.toWellFormed())));

/** The bytes of a string that has one char for each. */
export const bytesOf = (binary: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.fromBase64(btoa(binary));

/** A string with one char for each byte. */
export const binaryOf = (bytes: Uint8Array): string => atob(bytes.toBase64());

/** Several pieces of bytes as one. */
export function joinedBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export const bufferOf = (source: ArrayBufferLike | ArrayBufferView): Uint8Array =>
  ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source);

/** UTF-8 bytes as text. Invalid bytes become U+FFFD if `replace`, else the result is undefined. */
export function decodeUtf8(bytes: Uint8Array, replace: true): string;
export function decodeUtf8(bytes: Uint8Array, replace: boolean): string | undefined;
export function decodeUtf8(bytes: Uint8Array, replace: boolean): string | undefined {
  const binary = binaryOf(bytes);
  // oxlint-disable-next-line no-control-regex
  if (!/[^\0-\x7f]/.test(binary)) return binary;
  try {
    return decodeURIComponent(escape(binary));
  } catch {
    return replace ? repaired(binary) : undefined;
  }
}

/** One well-formed character, or the longest part of one (which WHATWG makes one U+FFFD), or any byte. */
const CHARACTERS =
  /[\0-\x7f]+|[\xc2-\xdf][\x80-\xbf]?|(?:\xe0[\xa0-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]|\xed[\x80-\x9f])[\x80-\xbf]?|(?:\xf0[\x90-\xbf]|[\xf1-\xf3][\x80-\xbf]|\xf4[\x80-\x8f])[\x80-\xbf]{0,2}|[^]/g;

function repaired(binary: string): string {
  return binary.replace(CHARACTERS, (part) => {
    try {
      return decodeURIComponent(escape(part));
    } catch {
      return "\ufffd";
    }
  });
}
