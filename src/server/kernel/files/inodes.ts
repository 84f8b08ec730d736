import { limits } from "../core/limits.ts";
import { MAX_BLOCKS } from "./blocks.ts";
import { FileSystemError } from "./errors.ts";
import type { Overlay } from "./overlay.ts";
import { BLOCK_BYTES, totalsCodec, type FileNode, type NodeKind, type Totals } from "./records.ts";

/** The minimum size of a node, and the unit in which contents are counted. */
const UNIT = 512;
/** Bytes counted for a folder entry, whatever its name. */
const NAME = 256;
const TOTALS = 0;

const text = (totals: Totals): string => new TextDecoder().decode(totalsCodec.encode(totals));

/** Bytes counted for a node against `limits.fileBytes`. */
function footprint({ kind, size, blocks }: FileNode): number {
  if (kind === "folder") return UNIT + size * NAME;
  const stored = kind === "file" ? Math.min(blocks * BLOCK_BYTES, size) : size;
  return UNIT + Math.ceil(stored / UNIT) * UNIT;
}

/** The files, folders and links of a scope by number, and their total size. */
export class Inodes {
  readonly totals: Totals;
  /** The timestamp of changes: nanoseconds since 1970. */
  now: bigint;
  readonly #overlay: Overlay;
  #isWhole = false;
  /** Bytes that all files may take. */
  most = limits.fileBytes;

  constructor(overlay: Overlay, now: bigint) {
    this.#overlay = overlay;
    this.now = now;
    const stored = overlay.totals.get(TOTALS);
    // A copy: the stored value must not change if the call changes nothing.
    this.totals = structuredClone(stored ?? { nextNode: 1, bytes: 0, stores: [], nameless: [] });
  }

  /**
   * Runs an operation atomically: if it throws, nothing has changed. Throws `nospc` if it adds bytes and the total is
   * then too large; an operation that adds none always has room.
   */
  whole<T>(work: () => T): T {
    if (this.#isWhole) return work();
    const { bytes, nextNode, nameless } = this.totals;
    this.#isWhole = true;
    try {
      return this.#overlay.whole(() => {
        const result = work();
        if (this.totals.bytes > bytes) this.#demandWithin(this.totals.bytes);
        return result;
      });
    } catch (error) {
      Object.assign(this.totals, { bytes, nextNode, nameless });
      throw error;
    } finally {
      this.#isWhole = false;
    }
  }

  get(id: number): FileNode {
    const node = this.#overlay.nodes.get(id);
    if (node !== undefined) return node;
    throw new FileSystemError("io", `The stored files are damaged: file_nodes ${id} is missing.`);
  }

  /** A new node without a name. */
  create(kind: NodeKind, parent: number, target?: string): number {
    const { now } = this;
    const id = this.totals.nextNode;
    const size = target === undefined ? 0 : new TextEncoder().encode(target).length;
    const times = { accessed: now, modified: now, changed: now };
    const links = 1;
    this.#put(id, undefined, {
      kind,
      size,
      links,
      blocks: 0,
      parent,
      ...times,
      ...(target !== undefined && { target }),
    });
    this.totals.nextNode++;
    return id;
  }

  /** A new folder without a parent. */
  createRoot(): number {
    const root = this.create("folder", 0);
    this.change(root, { parent: root });
    return root;
  }

  change(id: number, changes: Partial<FileNode>): void {
    const before = this.get(id);
    this.#put(id, before, { ...before, changed: this.now, ...changes });
  }

  delete(id: number): void {
    const node = this.get(id);
    const blocks = Math.ceil(node.size / BLOCK_BYTES);
    if (node.blocks > 0) this.#overlay.blocks.cut(id, 0, blocks);
    this.totals.bytes -= footprint(node);
    this.#overlay.nodes.delete(id);
  }

  /**
   * Deletes a file without a name. A damaged file is forgotten, since nothing could delete it later; its bytes, whose
   * number is unknown, stay counted.
   */
  deleteNameless(id: number): void {
    try {
      this.delete(id);
    } catch (error) {
      if (!(error instanceof FileSystemError && error.code === "io")) throw error;
      this.#overlay.blocks.cut(id, 0, MAX_BLOCKS);
      this.#overlay.nodes.delete(id);
    }
  }

  /** Throws `nospc` if so many more bytes may not be stored. */
  demandRoom(bytes: number): void {
    if (bytes > 0) this.#demandWithin(this.totals.bytes + bytes);
  }

  /** Throws `nospc` if these changes of a node exceed the space that is left. */
  demandRoomFor(id: number, changes: Partial<FileNode>): void {
    const node = this.get(id);
    this.demandRoom(footprint({ ...node, ...changes }) - footprint(node));
  }

  /** Must be called before a commit. */
  saveTotals(): void {
    const stored = this.#overlay.totals.get(TOTALS);
    if (stored !== undefined && text(stored) === text(this.totals)) return;
    this.#overlay.totals.set(TOTALS, structuredClone(this.totals));
  }

  #put(id: number, before: FileNode | undefined, after: FileNode): void {
    this.totals.bytes += footprint(after) - (before === undefined ? 0 : footprint(before));
    this.#overlay.nodes.set(id, after);
  }

  #demandWithin(bytes: number): void {
    if (bytes > this.most) throw new FileSystemError("nospc");
  }
}
