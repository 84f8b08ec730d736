import { limits } from "./limits.ts";
import type { Entries, PositionedEntry } from "./entries.ts";
import { FileSystemError } from "./errors.ts";
import type { Inodes } from "./inodes.ts";
import type { FolderEntry, NodeKind } from "./records.ts";

/** The entries of folders: which node has which names. */
export class Folders {
  readonly #inodes: Inodes;
  readonly #entries: Entries;

  constructor(inodes: Inodes, entries: Entries) {
    this.#inodes = inodes;
    this.#entries = entries;
  }

  find(folder: number, name: string): FolderEntry | undefined {
    return this.#entries.get(this.#entries.key(folder, name));
  }

  list(folder: number, after: bigint, count: number): PositionedEntry[] {
    return this.#entries.list(folder, after, count);
  }

  /** Throws if a folder cannot have one more name: it was removed, or is full. */
  demandRoom(folder: number): void {
    const { links, size } = this.#inodes.get(folder);
    if (links === 0) throw new FileSystemError("noent");
    if (size >= limits.folderEntries) throw new FileSystemError("nospc");
  }

  /** Adds a name for a node; the name must be free in the folder. */
  add(folder: number, name: string, node: number, kind: NodeKind): void {
    this.demandRoom(folder);
    this.#resize(folder, 1);
    this.#entries.set(this.#entries.key(folder, name), { name, node, kind });
  }

  remove(folder: number, name: string): void {
    this.#resize(folder, -1);
    this.#entries.delete(this.#entries.key(folder, name));
  }

  /** Replaces the node that has this name by another. */
  replace(folder: number, name: string, node: number, kind: NodeKind): void {
    this.#resize(folder, 0);
    this.#entries.set(this.#entries.key(folder, name), { name, node, kind });
  }

  /** True if a folder is the same as another, or inside it at any depth. */
  isWithin(folder: number, outer: number): boolean {
    for (let at = folder; ;) {
      if (at === outer) return true;
      const { parent } = this.#inodes.get(at);
      if (parent === at) return false;
      at = parent;
    }
  }

  #resize(folder: number, by: number): void {
    const { size } = this.#inodes.get(folder);
    this.#inodes.change(folder, { size: size + by, modified: this.#inodes.now });
  }
}
