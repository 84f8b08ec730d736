import { Contents } from "./contents.ts";
import { Descriptors } from "./descriptors.ts";
import type { PositionedEntry } from "./entries.ts";
import { FileSystemError } from "./errors.ts";
import { Folders } from "./folders.ts";
import { Inodes } from "./inodes.ts";
import type { Mount } from "./mounts.ts";
import type { Overlay } from "./overlay.ts";
import type { Descriptor, FileNode } from "./records.ts";
import type { Work } from "./table.ts";
import { walk, type PathTarget } from "./walk.ts";

/** Memory of a descriptor. */
const DESCRIPTOR_BYTES = 300;

/**
 * The files of a scope as one call sees and changes them. Its changes are invisible to other calls before `commit`. An
 * operation that throws a `FileSystemError` has changed nothing.
 */
export class Files {
  readonly mounts: readonly Mount[];
  readonly descriptors: Descriptors;
  readonly folders: Folders;
  readonly inodes: Inodes;
  readonly #overlay: Overlay;
  readonly #contents: Contents;
  #isSealed = false;
  #hasEnded = false;

  /** With `continues`, the guest's memory is from the last call, with that call's open files. */
  constructor(overlay: Overlay, inodes: Inodes, mounts: readonly Mount[], continues: boolean) {
    this.mounts = mounts;
    this.inodes = inodes;
    this.#overlay = overlay;
    this.folders = new Folders(inodes, overlay.entries);
    this.#contents = new Contents(inodes, overlay.blocks);
    const { totals } = inodes;
    const paths = new Set(mounts.map(({ path }) => path));
    const kept = continues ? totals.open?.filter(([, { mount }]) => paths.has(mount)) : undefined;
    this.descriptors = new Descriptors(kept ?? []);
    if (totals.open !== undefined && kept === undefined) this.#forgetOpen();
  }

  /** The timestamp of changes, in nanoseconds since 1970: set it before each operation. */
  set now(now: bigint) {
    this.inodes.now = now;
  }

  /** Work done so far. */
  get work(): Work {
    return this.#overlay.work;
  }

  /** Memory that the call's files take. */
  get heldBytes(): number {
    return this.#overlay.memoryBytes + this.descriptors.size * DESCRIPTOR_BYTES;
  }

  /** Bytes that all files take, as counted against `limits.fileBytes`. */
  get bytes(): number {
    return this.inodes.totals.bytes;
  }

  /** False if no file was changed: such a call needs a commit only if it `keepsOpen`. */
  get isChanged(): boolean {
    return this.#overlay.isChanged;
  }

  /**
   * Seals the call's changes, so that `commit` only writes them; no change may follow. With `keepsOpen`, the guest's
   * open files stay open for the next call, which continues with the same memory.
   */
  seal({ keepsOpen }: { keepsOpen: boolean }): void {
    this.#demandOpen();
    const { totals } = this.inodes;
    if (keepsOpen) {
      totals.open = this.descriptors.entries();
    } else {
      for (const [fd] of this.descriptors.entries()) this.close(fd);
      delete totals.open;
    }
    this.inodes.saveTotals();
    this.#overlay.seal();
    this.#isSealed = true;
  }

  /** Bytes that `commit` writes; call it after `seal`. */
  get bytesToWrite(): number {
    return this.#overlay.bytesToWrite;
  }

  /**
   * Makes the call's changes the state of the scope; run it in a transaction. Seals them first, unless `seal` has done
   * so.
   */
  commit(how: { keepsOpen: boolean }): void {
    if (!this.#isSealed) this.seal(how);
    this.#overlay.commit();
    this.#hasEnded = true;
  }

  /** Undoes all changes of the call. */
  drop(): void {
    if (!this.#hasEnded) this.#overlay.drop();
    this.#hasEnded = true;
  }

  walk(folder: number, path: string, follows: boolean): PathTarget {
    this.#demandOpen();
    return walk(this, folder, path, follows);
  }

  node(id: number): FileNode {
    return this.inodes.get(id);
  }

  open(descriptor: Descriptor): number {
    return this.descriptors.add(descriptor);
  }

  close(fd: number): void {
    const { node } = this.descriptors.get(fd);
    const { totals } = this.inodes;
    if (this.descriptors.count(node) === 1 && totals.nameless.includes(node)) {
      this.inodes.whole(() => {
        totals.nameless = totals.nameless.filter((other) => other !== node);
        this.inodes.deleteNameless(node);
      });
    }
    this.descriptors.remove(fd);
  }

  renumber(from: number, to: number): void {
    this.descriptors.get(from);
    this.descriptors.get(to);
    if (from === to) return;
    this.close(to);
    this.descriptors.renumber(from, to);
  }

  read(id: number, from: number, into: Uint8Array): number {
    return this.#contents.read(id, from, into);
  }

  write(id: number, at: number, bytes: Uint8Array): number {
    return this.#contents.write(id, at, bytes);
  }

  /**
   * Writes a whole file, or appends to it; creates it if missing. Throws if not everything can be written. If a part
   * was written when a row could not be read, the error ends the call, so that nothing of it is stored.
   */
  put(place: PathTarget, bytes: Uint8Array, { isAppended = false } = {}): void {
    const id = this.inodes.whole(() => {
      const node = place.node ?? this.create(place, "file");
      if (!isAppended) this.resize(node, 0);
      this.#contents.demandRoomAtEnd(node, bytes.length);
      return node;
    });
    const isUntouched = isAppended && place.node !== undefined;
    let written = 0;
    let cause: unknown;
    try {
      written = this.write(id, this.node(id).size, bytes);
    } catch (error) {
      if (isUntouched || !(error instanceof FileSystemError)) throw error;
      cause = error;
    }
    if (written < bytes.length)
      throw new Error(
        `Only ${written} of ${bytes.length} bytes were written, as stored files could not be read.`,
        { cause },
      );
  }

  resize(id: number, size: number): void {
    this.#contents.resize(id, size);
  }

  list(folder: number, after: bigint, count: number): PositionedEntry[] {
    return this.folders.list(folder, after, count);
  }

  /** Creates a file, a folder, or a link to `target`; returns its number. */
  create(place: PathTarget, kind: FileNode["kind"], target?: string): number {
    const name = this.#vacant(place, kind === "folder");
    return this.inodes.whole(() => {
      const id = this.inodes.create(kind, place.folder, target);
      this.folders.add(place.folder, name, id, kind);
      return id;
    });
  }

  /** Adds a name to a file or link. */
  link(id: number, place: PathTarget): void {
    const { kind, links } = this.node(id);
    const name = this.#vacant(place, false);
    if (kind === "folder") throw new FileSystemError("perm");
    this.inodes.whole(() => {
      this.folders.add(place.folder, name, id, kind);
      this.inodes.change(id, { links: links + 1 });
    });
  }

  /** Removes a name of a file or link, which is deleted with its last name. */
  unlink(place: PathTarget): void {
    const { id, name, node } = this.#named(place, "isdir");
    if (node.kind === "folder") throw new FileSystemError("isdir");
    if (place.isForFolder) throw new FileSystemError("notdir");
    this.#remove(place.folder, name, id);
  }

  removeFolder(place: PathTarget): void {
    const { id, name, node } = this.#named(place, "inval");
    if (node.kind !== "folder") throw new FileSystemError("notdir");
    if (node.size > 0) throw new FileSystemError("notempty");
    this.#remove(place.folder, name, id);
  }

  /** Moves a node to another place; replaces a node that is there. */
  rename(from: PathTarget, to: PathTarget): void {
    const { id, name, node } = this.#named(from, "busy");
    if (to.name === undefined) throw new FileSystemError("busy");
    const isFolder = node.kind === "folder";
    if (!isFolder && (from.isForFolder || to.isForFolder)) throw new FileSystemError("notdir");
    if (to.node === id) return;
    if (isFolder && this.folders.isWithin(to.folder, id)) throw new FileSystemError("inval");
    if (to.node !== undefined && this.folders.isWithin(from.folder, to.node)) {
      throw new FileSystemError("notempty");
    }
    const { name: newName, node: replaced } = to;
    if (replaced !== undefined) {
      const other = this.node(replaced);
      if (isFolder && other.kind !== "folder") throw new FileSystemError("notdir");
      if (!isFolder && other.kind === "folder") throw new FileSystemError("isdir");
      if (isFolder && other.size > 0) throw new FileSystemError("notempty");
    }
    this.inodes.whole(() => {
      this.folders.remove(from.folder, name);
      if (replaced === undefined) {
        this.folders.add(to.folder, newName, id, node.kind);
      } else {
        this.folders.replace(to.folder, newName, id, node.kind);
        this.#loseName(replaced);
      }
      this.inodes.change(id, isFolder ? { parent: to.folder } : {});
    });
  }

  setTimes(id: number, times: { accessed?: bigint; modified?: bigint }): void {
    this.inodes.whole(() => this.inodes.change(id, times));
  }

  #demandOpen(): void {
    if (this.#hasEnded) throw new Error("these files are of a call that has ended");
  }

  /** The name of an unused place. */
  #vacant({ name, node, isForFolder }: PathTarget, isFolder: boolean): string {
    if (name === undefined || node !== undefined) throw new FileSystemError("exist");
    if (isForFolder && !isFolder) throw new FileSystemError("noent");
    return name;
  }

  /** The node that has a name at a place; throws `otherwise` if the path is like `.`. */
  #named({ name, node: id }: PathTarget, otherwise: "isdir" | "inval" | "busy") {
    if (name === undefined) throw new FileSystemError(otherwise);
    if (id === undefined) throw new FileSystemError("noent");
    return { id, name, node: this.node(id) };
  }

  #remove(folder: number, name: string, id: number): void {
    this.inodes.whole(() => {
      this.folders.remove(folder, name);
      this.#loseName(id);
    });
  }

  #loseName(id: number): void {
    const { kind, links } = this.node(id);
    const left = kind === "folder" ? 0 : links - 1;
    const { totals } = this.inodes;
    if (left === 0 && this.descriptors.count(id) === 0) return this.inodes.delete(id);
    this.inodes.change(id, { links: left });
    if (left === 0) totals.nameless = [...totals.nameless, id];
  }

  /** Closes the files that an earlier memory had open: that memory is gone. */
  #forgetOpen(): void {
    const { totals } = this.inodes;
    for (const id of totals.nameless) this.inodes.deleteNameless(id);
    totals.nameless = [];
    delete totals.open;
    this.inodes.saveTotals();
  }
}
