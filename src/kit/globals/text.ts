/** `TextEncoder` and `TextDecoder`. */
import type { OldDecoder } from "./encodings.ts";
import { bufferOf, decodeUtf8, encodeUtf8, joinedBytes } from "./bytes.ts";
import { lazy } from "./lazy.ts";

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
  "utf-16le": "utf-16le",
};

/** Decodes UTF-8 and UTF-16LE itself; the host decodes other encodings. */
export class TextDecoder {
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  readonly #old: OldDecoder | undefined;
  #rest: Uint8Array = new Uint8Array();
  #begun = false;

  constructor(label: unknown = "utf-8", options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
    const key = String(label)
      .replace(/^[\t\n\f\r ]+|[\t\n\f\r ]+$/g, "")
      .toLowerCase();
    const encoding = LABELS[key] ?? lazy("encodings").encodingOf(key);
    if (encoding === undefined) {
      throw new RangeError(
        `TextDecoder knows no encoding "${String(label)}": give a label of https://encoding.spec.whatwg.org, such as "utf-8" or "latin1".`,
      );
    }
    this.encoding = encoding;
    this.fatal = options.fatal === true;
    this.ignoreBOM = options.ignoreBOM === true;
    if (!Object.hasOwn(LABELS, encoding)) {
      const { OldDecoder } = lazy("encodings");
      this.#old = new OldDecoder(encoding, this.fatal, this.ignoreBOM);
    }
  }

  decode(source?: ArrayBufferLike | ArrayBufferView, { stream = false } = {}): string {
    let bytes = source === undefined ? new Uint8Array() : bufferOf(source);
    if (this.#old !== undefined) return this.#old.decode(bytes, stream);
    if (this.#rest.length > 0) bytes = joinedBytes([this.#rest, bytes]);
    const end = stream ? bytes.length - this.#unfinished(bytes) : bytes.length;
    this.#rest = bytes.slice(end);
    let text = this.#text(bytes.subarray(0, end));
    if (!this.#begun && !this.ignoreBOM && text.startsWith("\ufeff")) text = text.slice(1);
    this.#begun = stream && (this.#begun || end > 0);
    return text;
  }

  /** The number of bytes of an incomplete character at the end. */
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
  // A leftover byte becomes one U+FFFD, together with a high surrogate before it.
  if (bytes.length % 2 === 1 && !/[\ud800-\udbff]$/.test(text)) text += "\ud800";
  return text.isWellFormed() ? text : replace ? text.toWellFormed() : undefined;
}
