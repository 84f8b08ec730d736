/** The bytes of a Wasm module: numbers, texts, sections. */
const utf8 = {
  decode: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }),
  encode: new TextEncoder(),
};

export class Reader {
  readonly bytes: Uint8Array;
  at: number;
  constructor(bytes: Uint8Array, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }
  byte(): number {
    const byte = this.bytes[this.at++];
    if (byte === undefined) throw new Error("the file ends too early");
    return byte;
  }
  /** An unsigned LEB128 number below 2^53. */
  number(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  }
  /** A LEB128 number of any size and sign. */
  skipNumber(): void {
    while (this.byte() >= 0x80);
  }
  take(length: number): Uint8Array {
    if (this.at + length > this.bytes.length) throw new Error("the file ends too early");
    return this.bytes.subarray(this.at, (this.at += length));
  }
  text(): string {
    return utf8.decode.decode(this.take(this.number()));
  }
  list<T>(one: () => T): T[] {
    // Without room for the number that the file claims: its elements may be missing.
    const found: T[] = [];
    for (let left = this.number(); left > 0; left--) found.push(one());
    return found;
  }
}

export function leb(value: number): number[] {
  const bytes: number[] = [];
  do {
    const low = value % 128;
    value = Math.floor(value / 128);
    bytes.push(value > 0 ? low | 0x80 : low);
  } while (value > 0);
  return bytes;
}

/** A number that is not negative, as a signed one. */
export function signedLeb(value: number): number[] {
  return value < 64 ? [value] : [(value % 128) | 0x80, ...signedLeb(Math.floor(value / 128))];
}

export function text(value: string): number[] {
  const bytes = utf8.encode.encode(value);
  return [...leb(bytes.length), ...bytes];
}

export interface Section {
  id: number;
  body: Uint8Array;
}

export const sections = (wasm: Uint8Array): Section[] => [...eachSection(wasm)];

/** The sections one by one, for readers that stop at too many. */
export function* eachSection(wasm: Uint8Array): Generator<Section> {
  const reader = new Reader(wasm, 8);
  while (reader.at < wasm.length) {
    const id = reader.byte();
    yield { id, body: reader.take(reader.number()) };
  }
}
