/** The format of messages between the bundle step and `_edge_build.py`: a head in JSON, and parts of bytes. */
import { concatenate } from "../../server/kernel/wasm/image.ts";

/** Four bytes with the length of the head (little-endian), the head with `lengths` of the parts added, and the parts. */
export function packed(head: object, parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const lengths = parts.map(({ length }) => length);
  const text = new TextEncoder().encode(JSON.stringify({ ...head, lengths }));
  const size = new Uint8Array(4);
  new DataView(size.buffer).setUint32(0, text.length, true);
  return concatenate([size, text, ...parts]);
}

/** Reads the head and the parts of bytes that `packed` or `_edge_build.py` wrote. */
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
