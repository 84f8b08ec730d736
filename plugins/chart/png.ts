/**
 * Writes PNG images of few colours. By hand, because interpreted deflate looks at every byte: fast-png takes
 * 225 ms for 640 x 320 pixels, which the free plan's 10 ms of CPU do not have room for. This one
 * looks at runs of pixels, and takes a row that equals the one above as a whole.
 */

export interface Indexed {
  width: number;
  height: number;
  /** Numbers of colours. */
  pixels: Uint8Array<ArrayBuffer>;
  /** 144 at most, each as red, green, blue. */
  palette: readonly (readonly [number, number, number])[];
}

/** https://www.w3.org/TR/png-3/ */
export function encodePng(image: Indexed): Uint8Array<ArrayBuffer> {
  const head = new Uint8Array(13);
  const view = new DataView(head.buffer);
  view.setUint32(0, image.width);
  view.setUint32(4, image.height);
  head.set([8, 3], 8); // 8 bits a pixel, from a palette
  return joined([
    Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
    chunk("IHDR", head),
    chunk("PLTE", Uint8Array.from(image.palette.flat())),
    chunk("IDAT", compressed(image)),
    chunk("IEND", new Uint8Array()),
  ]);
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

const CRCS = Uint32Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? 0xedb88320 ^ (byte >>> 1) : byte >>> 1;
  return byte;
});

function chunk(type: string, data: Uint8Array): Uint8Array {
  const whole = new Uint8Array(12 + data.length);
  const view = new DataView(whole.buffer);
  view.setUint32(0, data.length);
  for (let at = 0; at < 4; at++) whole[4 + at] = type.charCodeAt(at);
  whole.set(data, 8);
  let crc = -1;
  for (let at = 4; at < whole.length - 4; at++) {
    crc = CRCS[(crc ^ whole[at]!) & 255]! ^ (crc >>> 8);
  }
  view.setUint32(whole.length - 4, ~crc);
  return whole;
}

/** A Huffman code is written from its first bit, everything else from its last. */
function reversed(code: number, bits: number): number {
  let turned = 0;
  for (let bit = 0; bit < bits; bit++) turned |= ((code >> bit) & 1) << (bits - 1 - bit);
  return turned;
}

/** Bits to write, in the order in which they are written from the lowest on, and how many. */
type Bits = readonly [value: number, count: number];

/** Of the bytes below 144 in deflate's fixed code: https://www.rfc-editor.org/rfc/rfc1951#section-3.2.6 */
const LITERALS = Array.from({ length: 144 }, (_, byte) => reversed(0x30 + byte, 8));
const LONGEST = 258;
/** Of the lengths of repetitions. */
const LENGTHS: Bits[] = Array.from({ length: LONGEST + 1 }, (_, length) => {
  if (length < 3) return [0, 0];
  const extra = length < 11 || length === LONGEST ? 0 : Math.floor(Math.log2(length - 3)) - 2;
  const step = (length - 3) >> extra;
  const symbol = length === LONGEST ? 285 : 257 + 4 * extra + step;
  const code: Bits =
    symbol < 280 ? [reversed(symbol - 256, 7), 7] : [reversed(0xc0 + symbol - 280, 8), 8];
  const rest = (length - 3) & ((1 << extra) - 1);
  return [code[0] | (rest << code[1]), code[1] + extra];
});

function distance(bytes: number): Bits {
  if (bytes < 5) return [reversed(bytes - 1, 5), 5];
  const extra = Math.floor(Math.log2(bytes - 1)) - 1;
  const symbol = 2 * extra + ((bytes - 1) >> extra);
  const rest = (bytes - 1) & ((1 << extra) - 1);
  return [reversed(symbol, 5) | (rest << 5), 5 + extra];
}

/** A back-reference: repeats `count` bytes (at least three) from `back` bytes before. */
function repetition(count: number, back: number): Bits[] {
  const parts: Bits[] = [];
  const [code, bits] = distance(back);
  for (let left = count; left > 0;) {
    // No part may be shorter than three.
    const part = left > LONGEST && left < LONGEST + 3 ? left - 3 : Math.min(left, LONGEST);
    const [value, valueBits] = LENGTHS[part]!;
    if (bits > 5) parts.push([value, valueBits], [code, bits]);
    else parts.push([value | (code << valueBits), valueBits + bits]);
    left -= part;
  }
  return parts;
}

const MODULUS = 65521;

/** Pixels of one colour: found by the engine, for a loop over pixels is slow in an interpreter. */
const RUNS = /\0+|([^])\1*/g;

/** https://www.rfc-editor.org/rfc/rfc1950: one block with the fixed code. */
function compressed({ width, height, pixels }: Indexed): Uint8Array {
  // No row takes more than a byte for each pixel and for its filter: repetitions are shorter.
  const bytes = new Uint8Array(height * (width + 1) + 16);
  let length = 0;
  let held = 0;
  let holds = 0;
  const write = (value: number, count: number) => {
    held |= value << holds;
    for (holds += count; holds >= 8; holds -= 8) {
      bytes[length++] = held;
      held >>>= 8;
    }
  };
  const above = repetition(width + 1, width + 1);
  const same: Bits[][] = [];
  write(0x0178, 16);
  write(0b011, 3); // the last block, with the fixed code
  let before = "";
  // Adler-32: of everything, and what the row adds to it.
  let [sum, sums] = [1, 0];
  let [rowSum, rowSums] = [0, 0];
  for (let row = 0; row < height; row++) {
    // Each row begins with the number of its filter, which is 0: none.
    const bytesOfRow = `\0${atob(pixels.subarray(row * width, (row + 1) * width).toBase64())}`;
    if (bytesOfRow === before) for (const [value, count] of above) write(value, count);
    else {
      before = bytesOfRow;
      [rowSum, rowSums] = [0, 0];
      for (const run of bytesOfRow.match(RUNS) ?? []) {
        const colour = run.charCodeAt(0);
        const count = run.length;
        rowSums += count * rowSum + (colour * count * (count + 1)) / 2;
        rowSum += colour * count;
        write(LITERALS[colour]!, 8);
        if (count > 3) {
          for (const bits of (same[count] ??= repetition(count - 1, 1))) write(bits[0], bits[1]);
        } else for (let left = count; left > 1; left--) write(LITERALS[colour]!, 8);
      }
    }
    sums = (sums + (width + 1) * sum + rowSums) % MODULUS;
    sum = (sum + rowSum) % MODULUS;
  }
  write(0, 7);
  write(0, 7); // up to the end of the byte, at least
  const check = new DataView(bytes.buffer);
  check.setUint16(length, sums);
  check.setUint16(length + 2, sum);
  return bytes.subarray(0, length + 4);
}
