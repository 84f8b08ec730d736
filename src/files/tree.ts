import { FileError } from "./errors.ts";
import type { Files } from "./files.ts";
import type { NodeKind } from "./records.ts";

/** Whole files and trees of them: what a store begins with, and its export and import. */

export interface TreeItem {
  /** Within its store, without a slash before it. */
  path: string;
  kind: NodeKind;
  size: number;
  /** When its contents last changed: nanoseconds since 1970. */
  modified: bigint;
  node: number;
  /** Where a link leads. */
  target?: string;
}

/** Entries of a folder that are read at once. */
const PAGE = 500;

/** Everything below a folder, folders before what is in them. */
export function* treeOf(files: Files, folder: number, path = ""): Generator<TreeItem> {
  for (let after = 0n; ;) {
    const page = files.list(folder, after, PAGE);
    for (const { name, node } of page) {
      const { kind, size, modified, target } = files.node(node);
      const own = path + name;
      yield { path: own, kind, size, modified, node, ...(target !== undefined && { target }) };
      if (kind === "folder") yield* treeOf(files, node, `${own}/`);
    }
    if (page.length < PAGE) return;
    after = page.at(-1)!.position;
  }
}

/** The root of a store; undefined where no call has used it. */
export const rootOfStore = (files: Files, host: string): number | undefined =>
  files.inodes.totals.stores.find((store) => store.host === host)?.root;

/** All bytes of a file. */
export function bytesOf(files: Files, node: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(files.node(node).size);
  files.read(node, 0, bytes);
  return bytes;
}

/** Writes a whole file, whose folders are made where they are missing. */
export function putFile(files: Files, root: number, path: string, bytes: Uint8Array): void {
  const names = path.split("/").filter(Boolean);
  for (let depth = 1; depth < names.length; depth++) {
    const place = files.walk(root, names.slice(0, depth).join("/"), true);
    if (place.node === undefined) files.create(place, "folder");
  }
  const place = files.walk(root, names.join("/"), true);
  const node = place.node ?? files.create(place, "file");
  files.resize(node, 0);
  if (files.write(node, 0, bytes) < bytes.length) throw new FileError("nospc");
}

/** Removes everything in a folder. */
export function removeTree(files: Files, folder: number): void {
  for (;;) {
    const page = files.list(folder, 0n, PAGE);
    for (const { name, node, kind } of page) {
      const place = { folder, name, node, isForFolder: false };
      if (kind === "folder") {
        removeTree(files, node);
        files.removeFolder(place);
      } else files.unlink(place);
    }
    if (page.length < PAGE) return;
  }
}
