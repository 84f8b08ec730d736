import { limits } from "./limits.ts";
import type { Entries, PositionedEntry } from "./entries.ts";
import { FileSystemError } from "./errors.ts";
import type { Inodes } from "./inodes.ts";
import type { FolderEntry, NodeKind } from "./records.ts";

/** Which node has which names. */
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

  /** Throws where a folder cannot have one more name: it was removed, or is full. */
  demandRoom(folder: number): void {
    const { links, size } = this.#inodes.get(folder);
    if (links === 0) throw new FileSystemError("noent");
    if (size >= limits.folderEntries) throw new FileSystemError("nospc");
  }

  /** Gives a node a name that nothing in the folder has. */
  add(folder: number, name: string, node: number, kind: NodeKind): void {
    this.demandRoom(folder);
    this.#resize(folder, 1);
    this.#entries.set(this.#entries.key(folder, name), { name, node, kind });
  }

  remove(folder: number, name: string): void {
    this.#resize(folder, -1);
    this.#entries.delete(this.#entries.key(folder, name));
  }

  /** Puts another node in the place of the one that has this name. */
  replace(folder: number, name: string, node: number, kind: NodeKind): void {
    this.#resize(folder, 0);
    this.#entries.set(this.#entries.key(folder, name), { name, node, kind });
  }

  /** True if a folder is another one or in it, at any depth. */
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
