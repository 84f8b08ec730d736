/** Whole files and file trees: initial files of a store, export and import. */
import type { PositionedEntry } from "./entries.ts";
import type { Files } from "./files.ts";
import type { NodeKind } from "./records.ts";
import type { PathTarget } from "./walk.ts";

interface TreeItem {
  /** Within its store, without a leading slash. */
  path: string;
  kind: NodeKind;
  size: number;
  /** When its contents last changed: nanoseconds since 1970. */
  modified: bigint;
  node: number;
  /** The target of a link. */
  target?: string;
}

/** Entries of a folder that are read at once. */
const PAGE = 500;

/** Everything below a folder, each folder before its content. */
export function* treeOf(files: Files, folder: number): Generator<TreeItem> {
  // The folders on the current path, at any depth.
  const way = [{ path: "", entries: entriesOf(files, folder) }];
  for (let last = way.at(-1); last !== undefined; last = way.at(-1)) {
    const next = last.entries.next();
    if (next.done === true) {
      way.pop();
      continue;
    }
    const { name, node } = next.value;
    const { kind, size, modified, target } = files.node(node);
    const path = last.path + name;
    yield { path, kind, size, modified, node, ...(target !== undefined && { target }) };
    if (kind === "folder") way.push({ path: `${path}/`, entries: entriesOf(files, node) });
  }
}

function* entriesOf(files: Files, folder: number): Generator<PositionedEntry, undefined> {
  for (let after = 0n; ;) {
    const page = files.list(folder, after, PAGE);
    yield* page;
    if (page.length < PAGE) return;
    after = page.at(-1)!.position;
  }
}

/** The root of a store; undefined if no call has used the store. */
export const rootOfStore = (files: Files, host: string): number | undefined =>
  files.inodes.totals.stores.find((store) => store.host === host)?.root;

export function fileBytesOf(files: Files, node: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(files.node(node).size);
  files.read(node, 0, bytes);
  return bytes;
}

/** Writes a whole file, and creates missing folders. */
export function putFile(files: Files, root: number, path: string, bytes: Uint8Array): void {
  const names = path.split("/").filter(Boolean);
  for (let depth = 1; depth < names.length; depth++) {
    const place = files.walk(root, names.slice(0, depth).join("/"), true);
    if (place.node === undefined) files.create(place, "folder");
  }
  files.put(files.walk(root, names.join("/"), true), bytes);
}

/** Removes everything in a folder. */
export function removeTree(files: Files, folder: number): void {
  // Folders to be emptied, and removed if they have a place.
  const left: { folder: number; place?: PathTarget }[] = [{ folder }];
  for (let last = left.at(-1); last !== undefined; last = left.at(-1)) {
    const page = files.list(last.folder, 0n, PAGE);
    for (const { name, node, kind } of page) {
      const place = { folder: last.folder, name, node, isForFolder: false };
      if (kind === "folder") left.push({ folder: node, place });
      else files.unlink(place);
    }
    if (page.length > 0) continue;
    if (last.place !== undefined) files.removeFolder(last.place);
    left.pop();
  }
}
