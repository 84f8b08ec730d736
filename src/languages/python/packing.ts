/** The format of messages between the bundle step and `_edge_build.py`: a JSON header and binary parts. */
import { concatenate } from "../../server/kernel/wasm/image.ts";

/** Encodes the header's length (4 bytes, little-endian), the header with the `lengths` of the parts, and the parts. */
export function packed(head: object, parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const lengths = parts.map(({ length }) => length);
  const text = new TextEncoder().encode(JSON.stringify({ ...head, lengths }));
  const size = new Uint8Array(4);
  new DataView(size.buffer).setUint32(0, text.length, true);
  return concatenate([size, text, ...parts]);
}

/** Decodes the header and the parts. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- The caller knows the shape of the head.
export function unpacked<Head>(bytes: Uint8Array): { head: Head; parts: Uint8Array[] } {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  let at = 4 + length;
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, at))) as Head & {
    lengths: number[];
  };
  const parts = head.lengths.map((size) => bytes.subarray(at, (at += size)));
  return { head, parts };
}
