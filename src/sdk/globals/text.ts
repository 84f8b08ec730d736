/** UTF-8 by way of the engine's native functions: loops over bytes are slow in an interpreter. */
export const encodeUtf8 = (text: string): Uint8Array<ArrayBuffer> =>
  bytesOf(unescape(encodeURIComponent(text.toWellFormed())));

/** The bytes of a string that has one char for each. */
export const bytesOf = (binary: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.fromBase64(btoa(binary));

/** A string with one char for each byte. */
export const binaryOf = (bytes: Uint8Array): string => atob(bytes.toBase64());

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

export class TextEncoder {
  get encoding(): string {
    return "utf-8";
  }

  encode(text: unknown = ""): Uint8Array<ArrayBuffer> {
    return encodeUtf8(String(text));
  }

  encodeInto(text: unknown, target: Uint8Array): { read: number; written: number } {
    let read = 0;
    let written = 0;
    for (const character of String(text)) {
      const bytes = encodeUtf8(character);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      read += character.length;
      written += bytes.length;
    }
    return { read, written };
  }
}

const LABELS: Readonly<Record<string, string>> = {
  "utf-8": "utf-8",
  utf8: "utf-8",
  "unicode-1-1-utf-8": "utf-8",
  "utf-16": "utf-16le",
  "utf-16le": "utf-16le",
};

/** UTF-8 and UTF-16LE. */
export class TextDecoder {
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  #rest: Uint8Array = new Uint8Array();
  #begun = false;

  constructor(label: unknown = "utf-8", options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
    const encoding = LABELS[String(label).trim().toLowerCase()];
    if (encoding === undefined) {
      throw new RangeError(`TextDecoder knows utf-8 and utf-16le here, not "${String(label)}".`);
    }
    this.encoding = encoding;
    this.fatal = options.fatal === true;
    this.ignoreBOM = options.ignoreBOM === true;
  }

  decode(source?: ArrayBufferLike | ArrayBufferView, { stream = false } = {}): string {
    let bytes = source === undefined ? new Uint8Array() : bufferOf(source);
    if (this.#rest.length > 0) {
      const whole = new Uint8Array(this.#rest.length + bytes.length);
      whole.set(this.#rest);
      whole.set(bytes, this.#rest.length);
      bytes = whole;
    }
    const end = stream ? bytes.length - this.#unfinished(bytes) : bytes.length;
    this.#rest = bytes.slice(end);
    let text = this.#text(bytes.subarray(0, end));
    if (!this.#begun && !this.ignoreBOM && text.startsWith("\ufeff")) text = text.slice(1);
    this.#begun = stream && (this.#begun || end > 0);
    return text;
  }

  /** How many bytes at the end are the beginning of a character. */
  #unfinished(bytes: Uint8Array): number {
    if (this.encoding === "utf-16le") {
      const odd = bytes.length % 2;
      const high = bytes[bytes.length - odd - 1] ?? 0;
      return odd + (high >= 0xd8 && high < 0xdc ? 2 : 0);
    }
    for (let back = 1; back <= Math.min(3, bytes.length); back++) {
      const byte = bytes[bytes.length - back] ?? 0;
      if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0;
      if (byte < 0x80) return 0;
    }
    return 0;
  }

  #text(bytes: Uint8Array): string {
    const text =
      this.encoding === "utf-8" ? decodeUtf8(bytes, !this.fatal) : utf16(bytes, !this.fatal);
    if (text !== undefined) return text;
    this.#rest = new Uint8Array();
    this.#begun = false;
    throw new TypeError(`The bytes are not ${this.encoding}.`);
  }
}

function utf16(bytes: Uint8Array, replace: boolean): string | undefined {
  const units: string[] = [];
  for (let at = 0; at + 1 < bytes.length; at += 2) {
    units.push(String.fromCharCode((bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8)));
  }
  let text = units.join("");
  // A byte that is left over, like half a pair before it, makes one U+FFFD.
  if (bytes.length % 2 === 1 && !/[\ud800-\udbff]$/.test(text)) text += "\ud800";
  return text.isWellFormed() ? text : replace ? text.toWellFormed() : undefined;
}
