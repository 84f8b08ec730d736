/** The bytes of a file: each block of 4 KiB begins with its number. */
export function contentOf(seed: number, length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  const first = Math.min(length, 251);
  for (let at = 0; at < first; at++) bytes[at] = (at * 7 + seed * 13) % 256;
  for (let at = first; at < length; at *= 2) bytes.copyWithin(at, 0, Math.min(at, length - at));
  for (let at = 0; at + 4 <= length; at += 4096) {
    const block = at / 4096 + seed;
    bytes[at] = block % 256;
    bytes[at + 1] = block >> 8;
  }
  return bytes;
}

/** A number that tells such files from those in which bytes are missing, doubled or moved. */
export function checksum(bytes: Uint8Array): string {
  let sum = 7;
  for (let at = 0; at < bytes.length; at += bytes.length > 20_000 ? 64 : 1)
    sum = (sum * 31 + bytes[at]! + (bytes[at + 1] ?? 0) * 256) % 1_000_003;
  return `${bytes.length} bytes, ${sum}`;
}
