/** The stored records of files, and their encoding as bytes. */
import type { Codec } from "./table.ts";

export type NodeKind = "file" | "folder" | "link";

/** A file, folder or symbolic link, without its names. Times in nanoseconds since 1970. */
export interface FileNode {
  kind: NodeKind;
  /** Bytes of a file or of a link's target; entries of a folder. */
  size: number;
  /** Number of names (links). A file without any is deleted once no instance has it open. */
  links: number;
  /** Stored blocks of a file; the others are holes, which read as zero. */
  blocks: number;
  /** The parent of a folder; a store's root is its own. */
  parent: number;
  accessed: bigint;
  modified: bigint;
  changed: bigint;
  /** The target of a symbolic link. */
  target?: string;
}

export interface FolderEntry {
  name: string;
  node: number;
  kind: NodeKind;
}

/** An open file or folder of a guest. */
export interface Descriptor {
  node: number;
  kind: NodeKind;
  /** `path` of the mount through which it was opened. */
  mount: string;
  /** True for a mount's root, which is open from the beginning. */
  isPreopened: boolean;
  offset: number;
  /** `fdflags` of WASI. */
  flags: number;
  /** `rights` of WASI. */
  rights: bigint;
  inheriting: bigint;
}

/** A file tree, shared by the mounts of one host. */
interface Store {
  host: string;
  root: number;
  /** Digest of its initial files. */
  digest?: string;
}

/** Values that exist once in a database. */
export interface Totals {
  nextNode: number;
  /** Bytes of everything, as counted against `limits.fileBytes`. */
  bytes: number;
  stores: Store[];
  /** Open descriptors in the guest's memory, by number; absent if no memory outlives its call. */
  open?: [number, Descriptor][];
  /** Nodes without a name that are still open. */
  nameless: number[];
}

/** Bytes of a block, the unit in which contents are stored. */
export const BLOCK_BYTES = 16 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Members that are bigints, written to JSON as decimal text. */
const BIGINTS = new Set(["accessed", "modified", "changed", "rights", "inheriting"]);

/** Values as JSON. `extraBytes` is the memory of a value beyond a few short fields. */
const json = <V>(extraBytes: (value: V) => number): Codec<V> => ({
  encode: (value) =>
    encoder.encode(
      JSON.stringify(value, (_key, part: unknown) =>
        typeof part === "bigint" ? String(part) : part,
      ),
    ),
  // This server sealed the bytes, so they are what `encode` wrote.
  decode: (bytes) =>
    JSON.parse(decoder.decode(bytes), (key, part: unknown) =>
      BIGINTS.has(key) && typeof part === "string" ? BigInt(part) : part,
    ) as V,
  memoryBytes: (value) => 200 + extraBytes(value),
});

export const nodeCodec = json<FileNode>(({ target = "" }) => 2 * target.length);
export const entryCodec = json<FolderEntry>(({ name }) => 2 * name.length);
export const totalsCodec = json<Totals>(() => 0);

/** A block is stored without its trailing zeros, and may be held so. */
export const blockCodec: Codec<Uint8Array> = {
  encode: (block) => block.subarray(0, block.findLastIndex((byte) => byte !== 0) + 1),
  decode: (bytes) => bytes,
  memoryBytes: (block) => block.length,
};
