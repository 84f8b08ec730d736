/** The files in a servlet's folder, as one part of the bundle. */
import { concatBytes } from "@noble/hashes/utils.js";

interface ArchivedFile {
  path: string;
  bytes: Uint8Array;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The length of the JSON head, the head (paths and sizes), then the bytes of all files. */
export function archiveOf(files: readonly ArchivedFile[]): Uint8Array<ArrayBuffer> {
  const head = encoder.encode(JSON.stringify(files.map(({ path, bytes }) => [path, bytes.length])));
  const length = new Uint8Array(new Uint32Array([head.length]).buffer);
  return new Uint8Array(concatBytes(length, head, ...files.map(({ bytes }) => bytes)));
}

/** The files of an archive. They share its bytes. */
export function* filesIn(archive: ArrayBuffer): Generator<ArchivedFile> {
  const length = new DataView(archive).getUint32(0, true);
  const head = JSON.parse(decoder.decode(new Uint8Array(archive, 4, length))) as [string, number][];
  let at = 4 + length;
  for (const [path, size] of head) {
    yield { path, bytes: new Uint8Array(archive, at, size) };
    at += size;
  }
}
