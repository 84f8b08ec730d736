/**
 * WASI preview 1: clock, random numbers, output to the log, waiting, and files if a call has any.
 * https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md
 */
import { RIGHTS_ALL } from "../files/rights.ts";
import { limits } from "./limits.ts";
import { Exit, type Guest } from "./guest.ts";
import type { HostFunction, HostFunctions } from "./host-function.ts";
import { errno, isStandardStream, now, vectors } from "./wasi-abi.ts";
import { descriptorFunctions } from "./wasi-descriptors.ts";
import { withFiles } from "./wasi-files.ts";
import { pathFunctions } from "./wasi-paths.ts";

/** Fuel for each random byte. */
const RANDOM_BYTE_FUEL = 64;

const CLOCK_RESOLUTION = 1_000_000n;
const FILETYPE_CHARACTER_DEVICE = 2;
/** Sizes and fields of `subscription` and `event`, in bytes. */
const SUBSCRIPTION = 48;
const EVENT = 32;
const EVENT_CLOCK = 0;
const ABSOLUTE = 1;

/** Argument and environment lists: both are empty. */
const emptyListSizes: HostFunction = (guest, count: number, bytes: number) => {
  guest.writable(count, 4).fill(0);
  guest.writable(bytes, 4).fill(0);
  return errno.success;
};

/** The result of a function on a file descriptor: only 0, 1 and 2 are open. */
const standardOnly =
  (answer: number): HostFunction =>
  (_guest, fd: number) =>
    isStandardStream(fd) ? answer : errno.badf;

const answers =
  (code: number): HostFunction =>
  () =>
    code;

interface Subscription {
  userdata: bigint;
  type: number;
  /** Milliseconds until a clock's deadline; 0 for anything that is ready at once. */
  ms: number;
}

function subscription(guest: Guest, at: number): Subscription {
  const memory = guest.memory;
  const type = memory.getUint8(at + 8);
  const userdata = memory.getBigUint64(at, true);
  if (type !== EVENT_CLOCK) return { userdata, type, ms: 0 };
  const timeout = memory.getBigUint64(at + 24, true);
  const absolute = (memory.getUint16(at + 40, true) & ABSOLUTE) !== 0;
  const left = absolute ? timeout - now(guest) : timeout;
  return { userdata, type, ms: left > 0n ? Math.ceil(Number(left) / 1e6) : 0 };
}

/** For a guest without files, and for the standard descriptors of every guest. */
const basicFunctions: HostFunctions = {
  args_sizes_get: emptyListSizes,
  args_get: answers(errno.success),
  environ_sizes_get: emptyListSizes,
  environ_get: answers(errno.success),

  clock_res_get: (guest, _clock: number, at: number) => {
    guest.writableView(at, 8).setBigUint64(0, CLOCK_RESOLUTION, true);
    return errno.success;
  },
  clock_time_get: (guest, clock: number, _precision: bigint, at: number) => {
    if (clock < 0 || clock > 3) return errno.inval;
    guest.writableView(at, 8).setBigUint64(0, now(guest), true);
    return errno.success;
  },
  random_get: (guest, at: number, length: number) => {
    const bytes = guest.writable(at, length);
    guest.pay(bytes.length * RANDOM_BYTE_FUEL);
    guest.journal.random(bytes);
    return errno.success;
  },
  sched_yield: answers(errno.success),
  proc_exit: (_guest, code: number) => {
    throw new Exit(code);
  },
  proc_raise: answers(errno.nosys),

  poll_oneoff: async (guest, from: number, to: number, count: number, stored: number) => {
    if (count === 0 || count >>> 0 > limits.vectors) return errno.inval;
    guest.range(from, count * SUBSCRIPTION);
    guest.range(to, count * EVENT);
    const all = Array.from({ length: count }, (_, index) =>
      subscription(guest, (from >>> 0) + index * SUBSCRIPTION),
    );
    const ms = Math.min(...all.map((one) => one.ms));
    if (ms > 0) await guest.sleep(ms);
    const ready = all.filter((one) => one.ms <= ms);
    for (const [index, { userdata, type }] of ready.entries()) {
      const at = (to >>> 0) + index * EVENT;
      guest.writable(at, EVENT).fill(0);
      const event = guest.writableView(at, EVENT);
      event.setBigUint64(0, userdata, true);
      event.setUint8(10, type);
    }
    guest.writableView(stored, 4).setUint32(0, ready.length, true);
    return errno.success;
  },

  fd_write: (guest, fd: number, at: number, count: number, written: number) => {
    if (fd !== 1 && fd !== 2) return errno.badf;
    if (count >>> 0 > limits.vectors) return errno.inval;
    const parts = vectors(guest, at, count);
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    const text = guest.excerpt(parts, limits.logCharacters);
    if (text.trim() !== "") guest.log(fd === 1 ? "info" : "warn", text);
    guest.writableView(written, 4).setUint32(0, length, true);
    return errno.success;
  },
  fd_read: (guest, fd: number, _at: number, _count: number, read: number) => {
    if (fd !== 0) return errno.badf;
    guest.writable(read, 4).fill(0);
    return errno.success;
  },
  fd_fdstat_get: (guest, fd: number, at: number) => {
    if (!isStandardStream(fd)) return errno.badf;
    guest.writable(at, 24).fill(0);
    const status = guest.writableView(at, 24);
    status.setUint8(0, FILETYPE_CHARACTER_DEVICE);
    status.setBigUint64(8, RIGHTS_ALL, true);
    return errno.success;
  },
  fd_filestat_get: (guest, fd: number, at: number) => {
    if (!isStandardStream(fd)) return errno.badf;
    const status = guest.writable(at, 64);
    status.fill(0);
    status[16] = FILETYPE_CHARACTER_DEVICE;
    return errno.success;
  },
  fd_close: standardOnly(errno.success),
  fd_fdstat_set_flags: standardOnly(errno.success),
  fd_fdstat_set_rights: standardOnly(errno.success),
  fd_sync: standardOnly(errno.success),
  fd_datasync: standardOnly(errno.success),
  fd_seek: standardOnly(errno.spipe),
  fd_tell: standardOnly(errno.spipe),
  fd_pread: standardOnly(errno.spipe),
  fd_pwrite: standardOnly(errno.spipe),
  fd_advise: standardOnly(errno.spipe),
  fd_allocate: standardOnly(errno.notsup),
  fd_filestat_set_size: standardOnly(errno.inval),
  fd_filestat_set_times: standardOnly(errno.notsup),
  fd_readdir: standardOnly(errno.notsup),
  fd_renumber: answers(errno.badf),
  /** No directory is open: guests probe until the first `badf`. */
  fd_prestat_get: answers(errno.badf),
  fd_prestat_dir_name: answers(errno.badf),

  path_create_directory: answers(errno.notcapable),
  path_filestat_get: answers(errno.noent),
  path_filestat_set_times: answers(errno.noent),
  path_link: answers(errno.notcapable),
  path_open: answers(errno.noent),
  path_readlink: answers(errno.noent),
  path_remove_directory: answers(errno.noent),
  path_rename: answers(errno.noent),
  path_symlink: answers(errno.notcapable),
  path_unlink_file: answers(errno.noent),

  sock_accept: answers(errno.badf),
  sock_recv: answers(errno.badf),
  sock_send: answers(errno.badf),
  sock_shutdown: answers(errno.badf),
};

export const wasiFunctions: HostFunctions = {
  ...basicFunctions,
  ...withFiles(descriptorFunctions, basicFunctions),
  ...withFiles(pathFunctions, basicFunctions),
};
