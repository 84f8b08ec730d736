import { Blocks, MAX_BLOCKS } from "./blocks.ts";
import { FileSystemError } from "./errors.ts";
import type { Inodes } from "./inodes.ts";
import { BLOCK_BYTES } from "./records.ts";

/** Bytes of the smallest block in memory; it doubles as it is written. */
const SMALLEST = 256;
const MAX_SIZE = MAX_BLOCKS * BLOCK_BYTES;

/** The bytes of files. */
export class Contents {
  readonly #inodes: Inodes;
  readonly #blocks: Blocks;

  constructor(inodes: Inodes, blocks: Blocks) {
    this.#inodes = inodes;
    this.#blocks = blocks;
  }

  /** Fills `into` from the file's bytes; returns the number of bytes read. */
  read(id: number, from: number, into: Uint8Array): number {
    const { size } = this.#inodes.get(id);
    const count = Math.max(0, Math.min(into.length, size - from));
    for (let done = 0; done < count;) {
      const offset = (from + done) % BLOCK_BYTES;
      const length = Math.min(BLOCK_BYTES - offset, count - done);
      const index = Math.floor((from + done) / BLOCK_BYTES);
      const stored = this.#blocks.get(Blocks.key(id, index))?.subarray(offset, offset + length);
      if (stored !== undefined) into.set(stored, done);
      into.fill(0, done + (stored?.length ?? 0), done + length);
      done += length;
    }
    return count;
  }

  /** Throws `nospc` or `fbig` if so many bytes cannot be appended to a file. */
  demandRoomAtEnd(id: number, bytes: number): void {
    const { size, blocks } = this.#inodes.get(id);
    if (size + bytes > MAX_SIZE) throw new FileSystemError("fbig");
    if (bytes === 0) return;
    const last = Math.floor(size / BLOCK_BYTES);
    const isHole = size % BLOCK_BYTES !== 0 && !this.#blocks.has(Blocks.key(id, last));
    const added = Math.ceil((size + bytes) / BLOCK_BYTES) - Math.ceil(size / BLOCK_BYTES);
    this.#inodes.demandRoomFor(id, {
      size: size + bytes,
      blocks: blocks + added + Number(isHole),
    });
  }

  /**
   * Writes bytes; returns the number written before a failure. Throws the failure if none were: `nospc`, `fbig` beyond
   * the largest file, `io`.
   */
  write(id: number, at: number, bytes: Uint8Array): number {
    if (at + bytes.length > MAX_SIZE) throw new FileSystemError("fbig");
    let done = 0;
    while (done < bytes.length) {
      const offset = (at + done) % BLOCK_BYTES;
      const part = bytes.subarray(done, done + BLOCK_BYTES - offset);
      try {
        this.#writeInBlock(id, at + done - offset, offset, part);
      } catch (error) {
        if (done > 0 && error instanceof FileSystemError) break;
        throw error;
      }
      done += part.length;
    }
    return done;
  }

  /** Truncates or extends a file. */
  resize(id: number, size: number): void {
    this.#inodes.whole(() => this.#resize(id, size));
  }

  #resize(id: number, size: number): void {
    if (size > MAX_SIZE) throw new FileSystemError("fbig");
    const node = this.#inodes.get(id);
    const modified = this.#inodes.now;
    if (size >= node.size) return this.#inodes.change(id, { size, modified });
    const blocks = Math.ceil(node.size / BLOCK_BYTES);
    const kept = Math.ceil(size / BLOCK_BYTES);
    // A file without holes needs no counting.
    const left = node.blocks === blocks ? kept : this.#blocks.count(id, kept);
    if (left < node.blocks) this.#blocks.cut(id, kept, blocks);
    this.#clearEnd(id, size);
    this.#inodes.change(id, { size, blocks: left, modified });
  }

  /** Zeroes the rest of a file's last block: it becomes visible if the file is extended. */
  #clearEnd(id: number, size: number): void {
    const offset = size % BLOCK_BYTES;
    if (offset === 0) return;
    const key = Blocks.key(id, Math.floor(size / BLOCK_BYTES));
    const block = this.#blocks.get(key);
    if (block !== undefined && block.length > offset) this.#blocks.set(key, block.slice(0, offset));
  }

  /** `begin` is the block's offset in its file. */
  #writeInBlock(id: number, begin: number, offset: number, bytes: Uint8Array): void {
    const node = this.#inodes.get(id);
    const key = Blocks.key(id, begin / BLOCK_BYTES);
    const end = offset + bytes.length;
    const isWhole = offset === 0 && (end === BLOCK_BYTES || begin + end >= node.size);
    const before = isWhole ? undefined : this.#blocks.get(key);
    const isNew = isWhole ? !this.#blocks.has(key) : before === undefined;
    const { now } = this.#inodes;
    this.#inodes.whole(() =>
      this.#inodes.change(id, {
        size: Math.max(node.size, begin + end),
        blocks: node.blocks + Number(isNew),
        modified: now,
      }),
    );
    this.#blocks.set(key, written(before, offset, bytes));
  }
}

/** The block with these bytes written into it, in a larger array if it has to grow. */
function written(before: Uint8Array | undefined, offset: number, bytes: Uint8Array): Uint8Array {
  const end = offset + bytes.length;
  let block = before;
  if (block === undefined || block.length < end) {
    const length = Math.max(end, Math.min(2 * (block?.length ?? 0), BLOCK_BYTES));
    block = new Uint8Array(before === undefined ? end : Math.max(length, SMALLEST));
    block.set(before ?? []);
  }
  block.set(bytes, offset);
  return block;
}
