export const encodeUtf8 = (text: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(__host.bytesOf(text.toWellFormed()));

/** The bytes of a binary string, which has one char for each byte. */
export const bytesOf = (binary: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.fromBase64(btoa(binary));

/** A binary string, with one char for each byte. */
export const binaryOf = (bytes: Uint8Array): string => atob(bytes.toBase64());

/** Concatenates byte arrays. */
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

/** A buffer of exactly these bytes: their own if it has no others, or a copy. */
export const wholeBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): ArrayBuffer =>
  byteLength === buffer.byteLength
    ? (buffer as ArrayBuffer)
    : (buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer);

/** Decodes UTF-8. Invalid bytes become U+FFFD if `replace`, otherwise the result is undefined. */
export function decodeUtf8(bytes: Uint8Array, replace: true): string;
export function decodeUtf8(bytes: Uint8Array, replace: boolean): string | undefined;
export function decodeUtf8(bytes: Uint8Array, replace: boolean): string | undefined {
  if (bytes.length === 0) return "";
  if (!hasSurrogates(bytes)) {
    const text = __host.textOf(wholeBuffer(bytes));
    // Invalid bytes become U+FFFD, but not always as many as the standard requires.
    if (!text.includes("\ufffd")) return text;
  }
  const binary = binaryOf(bytes);
  try {
    return decodeURIComponent(escape(binary));
  } catch {
    return replace ? repaired(binary) : undefined;
  }
}

/** True if there are encoded surrogates: they are not valid UTF-8, but the interpreter would join them to a character. */
function hasSurrogates(bytes: Uint8Array): boolean {
  for (let at = bytes.indexOf(0xed); at >= 0; at = bytes.indexOf(0xed, at + 1))
    if ((bytes[at + 1] ?? 0) >= 0xa0) return true;
  return false;
}

/** ASCII text, a well-formed character, the longest prefix of a character (one U+FFFD in the standard), or any byte. */
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
