/** Parts behind a head, as the bundle step and `_edge_build.py` send them to each other. */
import { concatenate } from "../../wasm/image.ts";

/** A head as JSON after its length, and behind it the parts, whose lengths it has. */
export function packed(head: object, parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const lengths = parts.map(({ length }) => length);
  const text = new TextEncoder().encode(JSON.stringify({ ...head, lengths }));
  const size = new Uint8Array(4);
  new DataView(size.buffer).setUint32(0, text.length, true);
  return concatenate([size, text, ...parts]);
}

/** The head and the parts of such bytes. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- Whoever unpacks says what is in it.
export function unpacked<Head>(bytes: Uint8Array): { head: Head; parts: Uint8Array[] } {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  let at = 4 + length;
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, at))) as Head & {
    lengths: number[];
  };
  const parts = head.lengths.map((size) => bytes.subarray(at, (at += size)));
  return { head, parts };
}
