/** `Blob` and `File`. */
import { bufferOf, decodeUtf8, encodeUtf8, joinedBytes } from "./bytes.ts";
import { ReadableStream } from "./streams.ts";

export type BlobPart = string | ArrayBuffer | ArrayBufferView | Blob;

export interface BlobInit {
  type?: string;
  endings?: "transparent" | "native";
}

function bytesIn(part: BlobPart): Uint8Array {
  if (part instanceof Blob) return Blob.content(part);
  return part instanceof ArrayBuffer || ArrayBuffer.isView(part)
    ? bufferOf(part)
    : encodeUtf8(part);
}

/** https://w3c.github.io/FileAPI/#blob-section */
export class Blob {
  readonly type: string;
  readonly #bytes: Uint8Array<ArrayBuffer>;

  constructor(parts: Iterable<BlobPart> = [], { type = "" }: BlobInit = {}) {
    this.#bytes = joinedBytes(Array.from(parts, bytesIn));
    this.type = /^[\x20-\x7e]*$/.test(type) ? type.toLowerCase() : "";
  }

  /** A blob's bytes, which must not be changed. */
  static content(blob: Blob): Uint8Array<ArrayBuffer> {
    return blob.#bytes;
  }

  get size(): number {
    return this.#bytes.length;
  }

  slice(from = 0, to = this.size, type = ""): Blob {
    const { length } = this.#bytes;
    const place = (at: number) => (at < 0 ? Math.max(length + at, 0) : Math.min(at, length));
    return new Blob([this.#bytes.subarray(place(from), place(to))], { type });
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#bytes.slice();
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return this.#bytes.slice().buffer;
  }

  async text(): Promise<string> {
    const text = decodeUtf8(this.#bytes, true);
    return text.startsWith("\ufeff") ? text.slice(1) : text;
  }

  stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return ReadableStream.from(this.size === 0 ? [] : [this.#bytes.slice()]);
  }
}

export interface FileInit extends BlobInit {
  lastModified?: number;
}

/** https://w3c.github.io/FileAPI/#file-section */
export class File extends Blob {
  readonly name: string;
  readonly lastModified: number;
  readonly webkitRelativePath = "";

  constructor(parts: Iterable<BlobPart>, name: string, init: FileInit = {}) {
    super(parts, init);
    this.name = name;
    this.lastModified = init.lastModified ?? Date.now();
  }
}
