/**
 * Large values as bytes, written and read in parts. A long string is neither escaped nor held twice: V8 collects large
 * strings and buffers late, so buffers are also released by hand.
 *
 * Small values are JSON. Others are written as frames, each after its length: a value's JSON with marks in place of its
 * long strings, then these strings. The length begins with a zero, which no JSON does.
 */

/** Bytes of one part: a row of a Durable Object may have 2 MB. */
export const PART = 1024 * 1024;

/** The length from which a string is long, in characters; also the number encoded at once. */
const LONG = 64 * 1024;

const encoder = new TextEncoder();

/** A value without its long strings. */
interface Framed {
  mark: string;
  /** Bytes of the strings that the marks stand for. */
  sizes: number[];
  value: unknown;
}

/** A part; valid until the next one is requested. */
export interface ValuePart {
  bytes: Uint8Array<ArrayBuffer>;
  isLast: boolean;
}

/** Frees the memory of a buffer at once; it must not be used afterwards. */
export function release({ buffer }: Uint8Array<ArrayBuffer>): void {
  buffer.transfer(0);
}

/** The values as bytes. */
export function* partsOf(values: Iterable<unknown>): Generator<ValuePart> {
  const all = [...values];
  const small = all.length === 1 ? smallText(all[0]) : undefined;
  if (small !== undefined) {
    yield { bytes: new Uint8Array(encoder.encode(small)), isLast: true };
    return;
  }
  const part = new Uint8Array(PART);
  let length = 0;
  for (const slice of slices(all)) {
    for (let rest = slice; rest.length > 0;) {
      if (length === PART) {
        yield { bytes: part, isLast: false };
        length = 0;
      }
      const fits = rest.subarray(0, PART - length);
      part.set(fits, length);
      length += fits.length;
      rest = rest.subarray(fits.length);
    }
  }
  yield { bytes: part.subarray(0, length), isLast: true };
  release(part);
}

/** The value's JSON; undefined if it has more characters than `most`. */
export function smallText(value: unknown, most = LONG): string | undefined {
  let length = 0;
  const text = JSON.stringify(value, (_key, one: unknown) => {
    if (typeof one === "string") length += one.length;
    return length > most ? undefined : one;
  });
  return length > most || text.length > most ? undefined : text;
}

/** Each slice is valid until the next one is requested. */
function* slices(values: readonly unknown[]): Generator<Uint8Array> {
  const scratch = new Uint8Array(3 * LONG);
  for (const value of values) {
    const mark = crypto.randomUUID();
    const strings: string[] = [];
    const marked: unknown = JSON.parse(
      JSON.stringify(value, (_key, one: unknown) => {
        // A lone surrogate cannot be encoded.
        if (typeof one !== "string" || one.length <= LONG || !one.isWellFormed()) return one;
        strings.push(one);
        return `${mark}${strings.length - 1}`;
      }),
    );
    const sizes = strings.map((text) => utf8Size(text, scratch));
    const frame: Framed = { mark, sizes, value: marked };
    const head = encoder.encode(JSON.stringify(frame));
    const size = new Uint8Array(4);
    new DataView(size.buffer).setUint32(0, head.length);
    yield size;
    yield head;
    for (const text of strings) yield* encoded(text, scratch);
  }
  release(scratch);
}

function* encoded(text: string, scratch: Uint8Array<ArrayBuffer>): Generator<Uint8Array> {
  for (let at = 0; at < text.length;) {
    let end = Math.min(at + LONG, text.length);
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end--;
    const { written } = encoder.encodeInto(text.slice(at, end), scratch);
    yield scratch.subarray(0, written);
    at = end;
  }
}

const isHighSurrogate = (unit: number) => unit >= 0xd800 && unit < 0xdc00;

function utf8Size(text: string, scratch: Uint8Array<ArrayBuffer>): number {
  let size = 0;
  for (const { length } of encoded(text, scratch)) size += length;
  return size;
}

/** Updates a hash such as SHA-256 with the UTF-8 of a text, without copying the text. */
export function hashText<H extends { update(bytes: Uint8Array): unknown }>(
  hash: H,
  text: string,
): H {
  const scratch = new Uint8Array(3 * Math.min(LONG, text.length));
  for (const slice of encoded(text, scratch)) hash.update(slice);
  release(scratch);
  return hash;
}

/** The values in these parts. Releases the parts' buffers. */
export async function valuesIn(parts: AsyncIterable<Uint8Array<ArrayBuffer>>): Promise<unknown[]> {
  const reader = new PartReader(parts);
  if ((await reader.first()) !== 0) return [JSON.parse(await reader.text())];
  const values: unknown[] = [];
  while ((await reader.first()) !== undefined) {
    const head = await reader.bytes(4);
    const size = new DataView(head.buffer).getUint32(0);
    const { mark, sizes, value } = JSON.parse(await reader.text(size)) as Framed;
    const strings: string[] = [];
    for (const one of sizes) strings.push(await reader.text(one));
    values.push(strings.length === 0 ? value : filled(value, mark, strings));
  }
  return values;
}

/** The value with its strings in place of their marks. */
function filled(value: unknown, mark: string, strings: readonly string[]): unknown {
  if (typeof value === "string") {
    return value.startsWith(mark) ? strings[Number(value.slice(mark.length))] : value;
  }
  if (typeof value !== "object" || value === null) return value;
  for (const [key, one] of Object.entries(value)) {
    (value as Record<string, unknown>)[key] = filled(one, mark, strings);
  }
  return value;
}

class PartReader {
  readonly #parts: AsyncIterator<Uint8Array<ArrayBuffer>>;
  #part: Uint8Array<ArrayBuffer> | undefined;
  #at = 0;

  constructor(parts: AsyncIterable<Uint8Array<ArrayBuffer>>) {
    this.#parts = parts[Symbol.asyncIterator]();
  }

  /** The next byte, without consuming it; undefined at the end. */
  async first(): Promise<number | undefined> {
    while (this.#part === undefined || this.#at === this.#part.length) {
      if (this.#part !== undefined) release(this.#part);
      this.#part = undefined;
      const next = await this.#parts.next();
      if (next.done === true) return undefined;
      this.#part = next.value;
      this.#at = 0;
    }
    return this.#part[this.#at];
  }

  async bytes(size: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = new Uint8Array(size);
    for (let at = 0; at < size;) {
      if ((await this.first()) === undefined)
        throw new Error("A stored value ends too early: a part of it is missing.");
      const some = this.#part!.subarray(this.#at, this.#at + size - at);
      bytes.set(some, at);
      at += some.length;
      this.#at += some.length;
    }
    return bytes;
  }

  /** Text of this many bytes, or of all that are left. */
  async text(size?: number): Promise<string> {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    if (size !== undefined) {
      const bytes = await this.bytes(size);
      const text = decoder.decode(bytes);
      release(bytes);
      return text;
    }
    let text = "";
    while ((await this.first()) !== undefined) {
      text += decoder.decode(this.#part!.subarray(this.#at), { stream: true });
      this.#at = this.#part!.length;
    }
    return text + decoder.decode();
  }
}
