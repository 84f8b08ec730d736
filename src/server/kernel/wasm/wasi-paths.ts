/** WASI's functions on paths, each within an open folder. */
import { FileSystemError } from "../files/errors.ts";
import type { Descriptor } from "../files/records.ts";
import { RIGHT_WRITE, RIGHTS_ALL } from "../files/rights.ts";
import type { PathTarget } from "../files/walk.ts";
import { limits } from "../core/limits.ts";
import {
  demandWritable,
  folderOf,
  putStatus,
  setTimes,
  type FileCall,
  type FileFunction,
} from "./wasi-files.ts";

/** `lookupflags`. */
const FOLLOW = 1;
/** `oflags`. */
const CREATE = 1;
const DIRECTORY = 2;
const EXCLUSIVE = 4;
const TRUNCATE = 8;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

interface PathAt {
  at: number;
  length: number;
}

/** A path in the guest's memory. Throws `ilseq` if it is not UTF-8, `inval` if it contains a NUL. */
function pathIn({ guest }: FileCall, { at, length }: PathAt): string {
  if (length >>> 0 > limits.filePathBytes) throw new FileSystemError("nametoolong");
  const bytes = guest.range(at, length);
  if (bytes.includes(0)) throw new FileSystemError("inval");
  try {
    return decoder.decode(bytes);
  } catch {
    throw new FileSystemError("ilseq");
  }
}

/** The target of a guest's path, and the folder through which it is reached. */
function placeOf(call: FileCall, fd: number, path: PathAt, follows: boolean) {
  const through = folderOf(call, fd);
  const place = call.files.walk(through.node, pathIn(call, path), follows);
  return { through, place };
}

/** The target of a guest's path, for a change. Throws `perm` if the mount is read-only. */
function changedPlace(call: FileCall, fd: number, path: PathAt, follows = false): PathTarget {
  const { through, place } = placeOf(call, fd, path, follows);
  demandWritable(call, through);
  return place;
}

function nodeAt({ files }: FileCall, { node, isForFolder }: PathTarget): number {
  if (node === undefined) throw new FileSystemError("noent");
  if (isForFolder && files.node(node).kind !== "folder") throw new FileSystemError("notdir");
  return node;
}

/** Throws `xdev` if two folders are in different stores. */
function demandSameStore({ files }: FileCall, one: Descriptor, other: Descriptor): void {
  const hostOf = ({ mount }: Descriptor) => files.mounts.find(({ path }) => path === mount)?.host;
  if (hostOf(one) !== hostOf(other)) throw new FileSystemError("xdev");
}

/** The file or folder to open, created or truncated if `oflags` say so. */
function opened(
  call: FileCall,
  { through, place }: ReturnType<typeof placeOf>,
  { oflags, writes }: { oflags: number; writes: boolean },
): number {
  const { files } = call;
  const has = (flag: number) => (oflags & flag) !== 0;
  if (place.node === undefined) {
    if (!has(CREATE)) throw new FileSystemError("noent");
    if (place.isForFolder) throw new FileSystemError("isdir");
    demandWritable(call, through);
    return files.create(place, "file");
  }
  const { kind } = files.node(place.node);
  if (place.isForFolder && kind !== "folder") throw new FileSystemError("notdir");
  if (has(CREATE) && place.isForFolder) throw new FileSystemError("isdir");
  if (has(CREATE) && has(EXCLUSIVE)) throw new FileSystemError("exist");
  if (kind === "link") throw new FileSystemError("loop");
  if (kind === "folder") {
    if (!has(DIRECTORY) && (writes || has(CREATE) || has(TRUNCATE)))
      throw new FileSystemError("isdir");
    return place.node;
  }
  if (has(DIRECTORY)) throw new FileSystemError("notdir");
  if (writes || has(TRUNCATE)) demandWritable(call, through);
  if (has(TRUNCATE)) files.resize(place.node, 0);
  return place.node;
}

export const pathFunctions: Readonly<Record<string, FileFunction>> = {
  path_open(
    call,
    fd: number,
    lookup: number,
    at: number,
    length: number,
    oflags: number,
    rights: bigint,
    inheriting: bigint,
    flags: number,
    result: number,
  ) {
    const { files } = call;
    if ((oflags & DIRECTORY) !== 0 && (oflags & (CREATE | EXCLUSIVE | TRUNCATE)) !== 0) {
      throw new FileSystemError("inval");
    }
    files.descriptors.demandRoom();
    const isNew = (oflags & CREATE) !== 0 && (oflags & EXCLUSIVE) !== 0;
    const where = placeOf(call, fd, { at, length }, (lookup & FOLLOW) !== 0 && !isNew);
    const writes = (rights & RIGHT_WRITE) !== 0n;
    const node = opened(call, where, { oflags, writes });
    const { kind } = files.node(node);
    const number = files.open({
      node,
      kind,
      mount: where.through.mount,
      isPreopened: false,
      offset: 0,
      flags,
      rights: rights & RIGHTS_ALL,
      inheriting: inheriting & RIGHTS_ALL,
    });
    call.guest.writableView(result, 4).setUint32(0, number, true);
  },

  path_filestat_get(call, fd: number, lookup: number, at: number, length: number, to: number) {
    const { place } = placeOf(call, fd, { at, length }, (lookup & FOLLOW) !== 0);
    putStatus(call, to, nodeAt(call, place));
  },
  path_filestat_set_times(
    call,
    fd: number,
    lookup: number,
    at: number,
    length: number,
    accessed: bigint,
    modified: bigint,
    flags: number,
  ) {
    const place = changedPlace(call, fd, { at, length }, (lookup & FOLLOW) !== 0);
    setTimes(call, nodeAt(call, place), { accessed, modified, flags });
  },

  path_create_directory(call, fd: number, at: number, length: number) {
    call.files.create(changedPlace(call, fd, { at, length }), "folder");
  },
  path_remove_directory(call, fd: number, at: number, length: number) {
    call.files.removeFolder(changedPlace(call, fd, { at, length }));
  },
  path_unlink_file(call, fd: number, at: number, length: number) {
    call.files.unlink(changedPlace(call, fd, { at, length }));
  },
  path_rename(
    call,
    fd: number,
    at: number,
    length: number,
    toFd: number,
    toAt: number,
    toLength: number,
  ) {
    const from = changedPlace(call, fd, { at, length });
    const to = changedPlace(call, toFd, { at: toAt, length: toLength });
    demandSameStore(call, folderOf(call, fd), folderOf(call, toFd));
    call.files.rename(from, to);
  },
  path_link(
    call,
    fd: number,
    lookup: number,
    at: number,
    length: number,
    toFd: number,
    toAt: number,
    toLength: number,
  ) {
    const { place } = placeOf(call, fd, { at, length }, (lookup & FOLLOW) !== 0);
    const node = nodeAt(call, place);
    const to = changedPlace(call, toFd, { at: toAt, length: toLength });
    demandSameStore(call, folderOf(call, fd), folderOf(call, toFd));
    call.files.link(node, to);
  },
  path_symlink(call, at: number, length: number, fd: number, toAt: number, toLength: number) {
    const target = pathIn(call, { at, length });
    const place = changedPlace(call, fd, { at: toAt, length: toLength });
    if (target === "") throw new FileSystemError("noent");
    if (target.startsWith("/")) throw new FileSystemError("perm");
    call.files.create(place, "link", target);
  },
  path_readlink(
    call,
    fd: number,
    at: number,
    length: number,
    to: number,
    room: number,
    used: number,
  ) {
    const { place } = placeOf(call, fd, { at, length }, false);
    const { target } = call.files.node(nodeAt(call, place));
    if (target === undefined) throw new FileSystemError("inval");
    const bytes = encoder.encode(target).subarray(0, room >>> 0);
    call.guest.writable(to, bytes.length).set(bytes);
    call.guest.writableView(used, 4).setUint32(0, bytes.length, true);
  },
};
