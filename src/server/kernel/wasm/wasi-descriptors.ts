/** WASI's functions on an open file or folder. */
import { FileSystemError } from "../files/errors.ts";
import type { Descriptor } from "../files/records.ts";
import { RIGHT_READ, RIGHT_WRITE, RIGHTS_ALL } from "../files/rights.ts";
import { limits } from "./limits.ts";
import { ranges, vectors } from "./wasi-abi.ts";
import {
  demandWritable,
  filetypeOf,
  folderOf,
  putStatus,
  setTimes,
  type FileCall,
  type FileFunction,
} from "./wasi-files.ts";

const FLAG_APPEND = 1;
const FLAGS_ALL = 0x1f;

const SEEK_SET = 0;
const SEEK_CURRENT = 1;
const SEEK_END = 2;

/** A `dirent`, without the name. */
const DIRENT = 24;
/** Entries looked up at once for `fd_readdir`, at most: no more than there is room for. */
const LISTED = 100;
/** Cookies of `.` and `..`; cookies of other entries are their positions plus this offset. */
const DOT = 1n;
const DOTS = 2n;

const encoder = new TextEncoder();

/** An open file with the right to read or write. Throws `badf` for a folder, like the reference host. */
function fileOf({ files }: FileCall, fd: number, right = 0n): Descriptor {
  const descriptor = files.descriptors.get(fd);
  if (descriptor.kind !== "file" || (descriptor.rights & right) !== right) {
    throw new FileSystemError("badf");
  }
  return descriptor;
}

/** A position or length that a guest passed as u64. Throws `inval` beyond any file's size. */
function positionOf(given: bigint): number {
  const position = BigInt.asUintN(64, given);
  if (position > BigInt(Number.MAX_SAFE_INTEGER)) throw new FileSystemError("inval");
  return Number(position);
}

/** The end of a file in append mode. */
const endIfAppended = ({ files }: FileCall, { flags, node }: Descriptor): number | undefined =>
  (flags & FLAG_APPEND) === 0 ? undefined : files.node(node).size;

function demandVectors(count: number): void {
  if (count >>> 0 > limits.vectors) throw new FileSystemError("inval");
}

/** Reads into the guest's vectors; returns the number of bytes. */
function readInto({ guest, files }: FileCall, node: number, from: number, vector: Vector): number {
  demandVectors(vector.count);
  let done = 0;
  for (const { at, length } of ranges(guest, vector.at, vector.count)) {
    const left = Math.max(0, files.node(node).size - from - done);
    const count = Math.min(length, left);
    if (count > 0) done += files.read(node, from + done, guest.writable(at, count));
    if (count < length) break;
  }
  return done;
}

/** Writes the guest's vectors; returns the number of bytes written before a failure. */
function writeFrom({ guest, files }: FileCall, node: number, to: number, vector: Vector): number {
  demandVectors(vector.count);
  let done = 0;
  for (const bytes of vectors(guest, vector.at, vector.count)) {
    try {
      const written = files.write(node, to + done, bytes);
      done += written;
      if (written < bytes.length) break;
    } catch (error) {
      if (done > 0 && error instanceof FileSystemError) break;
      throw error;
    }
  }
  return done;
}

interface Vector {
  at: number;
  count: number;
}

export const descriptorFunctions: Readonly<Record<string, FileFunction>> = {
  fd_read(call, fd: number, at: number, count: number, read: number) {
    const file = fileOf(call, fd, RIGHT_READ);
    const done = readInto(call, file.node, file.offset, { at, count });
    file.offset += done;
    call.guest.writableView(read, 4).setUint32(0, done, true);
  },
  fd_pread(call, fd: number, at: number, count: number, offset: bigint, read: number) {
    const { node } = fileOf(call, fd, RIGHT_READ);
    const done = readInto(call, node, positionOf(offset), { at, count });
    call.guest.writableView(read, 4).setUint32(0, done, true);
  },
  fd_write(call, fd: number, at: number, count: number, written: number) {
    const file = fileOf(call, fd, RIGHT_WRITE);
    const from = endIfAppended(call, file) ?? file.offset;
    const done = writeFrom(call, file.node, from, { at, count });
    if (done > 0) file.offset = from + done;
    call.guest.writableView(written, 4).setUint32(0, done, true);
  },
  fd_pwrite(call, fd: number, at: number, count: number, offset: bigint, written: number) {
    const file = fileOf(call, fd, RIGHT_WRITE);
    // A file in append mode grows at its end even if a position is given, as on Linux.
    const to = endIfAppended(call, file) ?? positionOf(offset);
    const done = writeFrom(call, file.node, to, { at, count });
    call.guest.writableView(written, 4).setUint32(0, done, true);
  },

  fd_seek(call, fd: number, by: bigint, whence: number, at: number) {
    const file = fileOf(call, fd);
    if (whence !== SEEK_SET && whence !== SEEK_CURRENT && whence !== SEEK_END) {
      throw new FileSystemError("inval");
    }
    const size = call.files.node(file.node).size;
    const from = { [SEEK_SET]: 0, [SEEK_CURRENT]: file.offset, [SEEK_END]: size }[whence];
    const position = BigInt(from) + by;
    if (position < 0n) throw new FileSystemError("inval");
    file.offset = positionOf(position);
    call.guest.writableView(at, 8).setBigUint64(0, position, true);
  },
  fd_tell(call, fd: number, at: number) {
    const { offset } = fileOf(call, fd);
    call.guest.writableView(at, 8).setBigUint64(0, BigInt(offset), true);
  },

  fd_filestat_get(call, fd: number, at: number) {
    putStatus(call, at, call.files.descriptors.get(fd).node);
  },
  fd_filestat_set_size(call, fd: number, size: bigint) {
    const { node } = fileOf(call, fd, RIGHT_WRITE);
    call.files.resize(node, positionOf(size));
  },
  fd_filestat_set_times(call, fd: number, accessed: bigint, modified: bigint, flags: number) {
    const descriptor = call.files.descriptors.get(fd);
    demandWritable(call, descriptor);
    setTimes(call, descriptor.node, { accessed, modified, flags });
  },
  fd_allocate(call, fd: number, offset: bigint, length: bigint) {
    const { node } = fileOf(call, fd, RIGHT_WRITE);
    const end = positionOf(offset) + positionOf(length);
    if (BigInt.asUintN(64, length) === 0n) throw new FileSystemError("inval");
    const { size } = call.files.node(node);
    call.files.inodes.demandRoom(end - size);
    if (end > size) call.files.resize(node, end);
  },
  fd_advise(call, fd: number, _offset: bigint, _length: bigint, advice: number) {
    fileOf(call, fd);
    if (advice < 0 || advice > 5) throw new FileSystemError("inval");
  },
  // A call's changes are committed before its answer is sent, so there is nothing to sync.
  fd_sync({ files }, fd: number) {
    files.descriptors.get(fd);
  },
  fd_datasync({ files }, fd: number) {
    files.descriptors.get(fd);
  },

  fd_fdstat_get({ guest, files }, fd: number, at: number) {
    const { kind, flags, rights, inheriting } = files.descriptors.get(fd);
    guest.writable(at, 24).fill(0);
    const status = guest.writableView(at, 24);
    status.setUint8(0, filetypeOf({ kind }));
    status.setUint16(2, flags, true);
    status.setBigUint64(8, rights, true);
    status.setBigUint64(16, inheriting, true);
  },
  fd_fdstat_set_flags(call, fd: number, flags: number) {
    if ((flags & ~FLAGS_ALL) !== 0) throw new FileSystemError("inval");
    fileOf(call, fd).flags = flags;
  },
  fd_fdstat_set_rights({ files }, fd: number, rights: bigint, inheriting: bigint) {
    const descriptor = files.descriptors.get(fd);
    const added = (rights & ~descriptor.rights) | (inheriting & ~descriptor.inheriting);
    if ((added & RIGHTS_ALL) !== 0n) throw new FileSystemError("notcapable");
    descriptor.rights = rights & RIGHTS_ALL;
    descriptor.inheriting = inheriting & RIGHTS_ALL;
  },
  fd_close({ files }, fd: number) {
    files.close(fd);
  },
  fd_renumber({ files }, from: number, to: number) {
    files.renumber(from, to);
  },

  fd_prestat_get({ guest, files }, fd: number, at: number) {
    const { mount, isPreopened } = files.descriptors.get(fd);
    if (!isPreopened) throw new FileSystemError("badf");
    guest.writable(at, 8).fill(0);
    guest.writableView(at, 8).setUint32(4, encoder.encode(mount).length, true);
  },
  fd_prestat_dir_name({ guest, files }, fd: number, at: number, length: number) {
    const { mount, isPreopened } = files.descriptors.get(fd);
    if (!isPreopened) throw new FileSystemError("badf");
    const name = encoder.encode(mount);
    if (length >>> 0 < name.length) throw new FileSystemError("nametoolong");
    guest.writable(at, name.length).set(name);
  },

  fd_readdir(call, fd: number, at: number, length: number, cookie: bigint, used: number) {
    const { guest } = call;
    const size = length >>> 0;
    let filled = 0;
    const { node } = folderOf(call, fd);
    const most = Math.min(LISTED, Math.ceil(size / (DIRENT + 1)) || 1);
    for (const entry of listed(call, { folder: node, cookie: BigInt.asUintN(64, cookie), most })) {
      if (filled === size) break;
      const bytes = direntOf(entry).subarray(0, size - filled);
      guest.writable((at >>> 0) + filled, bytes.length).set(bytes);
      filled += bytes.length;
    }
    guest.writableView(used, 4).setUint32(0, filled, true);
  },
};

interface ListedEntry {
  name: string;
  node: number;
  filetype: number;
  /** The cookie from which a listing continues after it. */
  next: bigint;
}

interface Listing {
  folder: number;
  cookie: bigint;
  most: number;
}

/** The entries of a folder after a cookie; `most` are looked up at once. */
function* listed({ files }: FileCall, { folder, cookie, most }: Listing): Generator<ListedEntry> {
  const filetype = filetypeOf({ kind: "folder" });
  const { parent } = files.node(folder);
  if (cookie < DOT) yield { name: ".", node: folder, filetype, next: DOT };
  if (cookie < DOTS) yield { name: "..", node: parent, filetype, next: DOTS };
  let after = cookie < DOTS ? 0n : cookie - DOTS;
  for (;;) {
    const page = files.list(folder, after, most);
    for (const { name, node, kind, position } of page) {
      yield { name, node, filetype: filetypeOf({ kind }), next: position + DOTS };
    }
    if (page.length < most) return;
    after = page.at(-1)!.position;
  }
}

function direntOf({ name, node, filetype, next }: ListedEntry): Uint8Array {
  const text = encoder.encode(name);
  const bytes = new Uint8Array(DIRENT + text.length);
  const entry = new DataView(bytes.buffer);
  entry.setBigUint64(0, BigInt.asUintN(64, next), true);
  entry.setBigUint64(8, BigInt(node), true);
  entry.setUint32(16, text.length, true);
  entry.setUint8(20, filetype);
  bytes.set(text, DIRENT);
  return bytes;
}
