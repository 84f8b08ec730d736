import { instantiate } from "../../../src/server/kernel/wasm/link.ts";
import { Guest } from "../../../src/server/kernel/wasm/guest.ts";
import { Journal } from "../../../src/server/kernel/wasm/journal.ts";
import { nobody } from "../../../src/server/kernel/wasm/pool.ts";
import type { Setup } from "../../../src/server/kernel/wasm/setup.ts";
import { liveWorld } from "../../../src/server/kernel/wasm/world.ts";
import { assembled, programOf } from "../bundle/wasm/wat-guests.ts";

/** A guest that calls the function of WASI that a test names, with arguments of its memory. */

/** Parameters of each function: `i` is an i32, `l` an i64. */
const PARAMETERS = {
  fd_advise: "illi",
  fd_allocate: "ill",
  fd_close: "i",
  fd_datasync: "i",
  fd_fdstat_get: "ii",
  fd_fdstat_set_flags: "ii",
  fd_fdstat_set_rights: "ill",
  fd_filestat_get: "ii",
  fd_filestat_set_size: "il",
  fd_filestat_set_times: "illi",
  fd_pread: "iiili",
  fd_prestat_get: "ii",
  fd_prestat_dir_name: "iii",
  fd_pwrite: "iiili",
  fd_read: "iiii",
  fd_readdir: "iiili",
  fd_renumber: "ii",
  fd_seek: "ilii",
  fd_sync: "i",
  fd_tell: "ii",
  fd_write: "iiii",
  path_create_directory: "iii",
  path_filestat_get: "iiiii",
  path_filestat_set_times: "iiiilli",
  path_link: "iiiiiii",
  path_open: "iiiiillii",
  path_readlink: "iiiiii",
  path_remove_directory: "iii",
  path_rename: "iiiiii",
  path_symlink: "iiiii",
  path_unlink_file: "iii",
} as const;

export type FunctionName = keyof typeof PARAMETERS;

const NAMES = Object.keys(PARAMETERS);

/** Where the guest finds which function it is to call, and the arguments. */
const FUNCTION = 0;
const ARGUMENTS = 8;

const imports = Object.entries(PARAMETERS).map(([name, letters]) => {
  const types = letters.replaceAll("i", " i32").replaceAll("l", " i64");
  return `(import "wasi_snapshot_preview1" "${name}" (func $${name} (param${types}) (result i32)))`;
});

const calls = Object.entries(PARAMETERS).map(([name, letters], number) => {
  const given = letters.split("").map((letter, at) => {
    const load = `(i64.load (i32.const ${ARGUMENTS + at * 8}))`;
    return letter === "i" ? `(i32.wrap_i64 ${load})` : load;
  });
  return `(if (i32.eq (i32.load (i32.const ${FUNCTION})) (i32.const ${number}))
    (then (return (call $${name} ${given.join(" ")}))))`;
});

/** The guest as a plugin, not yet prepared. */
export const plugin = await assembled(`
  ${imports.join("\n")}
  (memory (export "memory") 16)
  (func (export "call") (result i32) ${calls.join("\n")} (unreachable))`);

const program = await programOf(plugin);

const ROOT = 3;
const PATH = 1000;
const OTHER_PATH = 20_000;
const RESULT = 100;
const VECTOR = 200;
const BUFFER = 65_536;
const BUFFER_BYTES = 900_000;
export const READ = 1n << 1n;
export const WRITE = 1n << 6n;
/** Rights of what is written: to write, sync, allocate and resize. */
const WRITES = WRITE | 1n | (1n << 8n) | (1n << 22n);
const OTHERS = 0x0fffffffn & ~READ & ~WRITES;

export const CREATE = 1;
export const DIRECTORY = 2;
export const EXCLUSIVE = 4;
export const TRUNCATE = 8;
export const APPEND = 1;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** WASI's number for how a function went, and what it gave. */
export interface Answer<T> {
  errno: number;
  value: T | undefined;
}

export interface Status {
  kind: "folder" | "file" | "link";
  size: number;
  links: number;
  node: bigint;
  accessed: bigint;
  modified: bigint;
}

const KINDS: Record<number, Status["kind"]> = { 3: "folder", 4: "file", 7: "link" };

/** Calls WASI's functions of one instance. Each returns the number that WASI gave, and the value where that is 0. */
export class WasiCaller {
  readonly #exports: WebAssembly.Exports;

  constructor(exports: WebAssembly.Exports) {
    this.#exports = exports;
  }

  get #memory(): ArrayBuffer {
    return (this.#exports["memory"] as WebAssembly.Memory).buffer;
  }

  get #view(): DataView {
    return new DataView(this.#memory);
  }

  call(name: FunctionName, ...args: (number | bigint)[]): number {
    const view = this.#view;
    view.setUint32(FUNCTION, NAMES.indexOf(name), true);
    for (const [at, arg] of args.entries()) view.setBigInt64(ARGUMENTS + at * 8, BigInt(arg), true);
    return (this.#exports["call"] as () => number)();
  }

  answer<T>(errno: number, value: () => T): Answer<T> {
    return { errno, value: errno === 0 ? value() : undefined };
  }

  #path(path: string | Uint8Array, at = PATH): [number, number] {
    const bytes = typeof path === "string" ? encoder.encode(path) : path;
    new Uint8Array(this.#memory).set(bytes, at);
    return [at, bytes.length];
  }

  bytes(at: number, length: number): Uint8Array {
    return new Uint8Array(this.#memory, at, length);
  }

  open(
    path: string | Uint8Array,
    { oflags = 0, rights = READ | WRITE, flags = 0, follows = true, fd = ROOT } = {},
  ): Answer<number> {
    const errno = this.call(
      "path_open",
      fd,
      Number(follows),
      ...this.#path(path),
      oflags,
      OTHERS | (rights & READ) | ((rights & WRITE) === 0n ? 0n : WRITES),
      OTHERS | READ | WRITES,
      flags,
      RESULT,
    );
    return this.answer(errno, () => this.#view.getUint32(RESULT, true));
  }

  #vector(lengths: number[]): [number, number] {
    let at = BUFFER;
    for (const [index, length] of lengths.entries()) {
      this.#view.setUint32(VECTOR + index * 8, at, true);
      this.#view.setUint32(VECTOR + index * 8 + 4, length, true);
      at += length;
    }
    return [VECTOR, lengths.length];
  }

  /** Reads as many bytes, in two vectors; `from` makes it a `fd_pread`. */
  read(fd: number, length: number, from?: bigint): Answer<Uint8Array> {
    const vector = this.#vector([length >> 1, length - (length >> 1)]);
    const errno =
      from === undefined
        ? this.call("fd_read", fd, ...vector, RESULT)
        : this.call("fd_pread", fd, ...vector, from, RESULT);
    const count = this.#view.getUint32(RESULT, true);
    return this.answer(errno, () => this.bytes(BUFFER, count).slice());
  }

  /** Writes the bytes, in two vectors; `at` makes it a `fd_pwrite`. */
  write(fd: number, bytes: Uint8Array | string, at?: bigint): Answer<number> {
    const given = typeof bytes === "string" ? encoder.encode(bytes) : bytes;
    const vector = this.#vector([given.length >> 1, given.length - (given.length >> 1)]);
    new Uint8Array(this.#memory).set(given, BUFFER);
    const errno =
      at === undefined
        ? this.call("fd_write", fd, ...vector, RESULT)
        : this.call("fd_pwrite", fd, ...vector, at, RESULT);
    return this.answer(errno, () => this.#view.getUint32(RESULT, true));
  }

  seek(fd: number, by: bigint, whence: number): Answer<bigint> {
    const errno = this.call("fd_seek", fd, by, whence, RESULT);
    return this.answer(errno, () => this.#view.getBigUint64(RESULT, true));
  }

  tell(fd: number): Answer<bigint> {
    const errno = this.call("fd_tell", fd, RESULT);
    return this.answer(errno, () => this.#view.getBigUint64(RESULT, true));
  }

  #status(): Status {
    const view = this.#view;
    return {
      kind: KINDS[view.getUint8(RESULT + 16)]!,
      size: Number(view.getBigUint64(RESULT + 32, true)),
      links: Number(view.getBigUint64(RESULT + 24, true)),
      node: view.getBigUint64(RESULT + 8, true),
      accessed: view.getBigUint64(RESULT + 40, true),
      modified: view.getBigUint64(RESULT + 48, true),
    };
  }

  stat(path: string, follows = true, fd = ROOT): Answer<Status> {
    const errno = this.call("path_filestat_get", fd, Number(follows), ...this.#path(path), RESULT);
    return this.answer(errno, () => this.#status());
  }

  statOf(fd: number): Answer<Status> {
    return this.answer(this.call("fd_filestat_get", fd, RESULT), () => this.#status());
  }

  setTimes(path: string, accessed: bigint, modified: bigint, flags: number): number {
    const given = this.#path(path);
    return this.call("path_filestat_set_times", ROOT, 1, ...given, accessed, modified, flags);
  }

  onPath(
    name: "path_create_directory" | "path_remove_directory" | "path_unlink_file",
    path: string | Uint8Array,
    fd = ROOT,
  ): number {
    return this.call(name, fd, ...this.#path(path));
  }

  rename(from: string, to: string, fd = ROOT, toFd = fd): number {
    return this.call("path_rename", fd, ...this.#path(from), toFd, ...this.#path(to, OTHER_PATH));
  }

  link(from: string, to: string, fd = ROOT, toFd = fd): number {
    return this.call("path_link", fd, 0, ...this.#path(from), toFd, ...this.#path(to, OTHER_PATH));
  }

  symlink(target: string, path: string, fd = ROOT): number {
    return this.call("path_symlink", ...this.#path(target), fd, ...this.#path(path, OTHER_PATH));
  }

  readlink(path: string): Answer<string> {
    const errno = this.call("path_readlink", ROOT, ...this.#path(path), BUFFER, 4096, RESULT);
    const count = this.#view.getUint32(RESULT, true);
    return this.answer(errno, () => decoder.decode(this.bytes(BUFFER, count)));
  }

  /** One `fd_readdir`: whole entries, and where the list goes on. */
  page(
    fd: number,
    cookie: bigint,
    room = BUFFER_BYTES,
  ): Answer<{ names: string[]; next: bigint; isLast: boolean }> {
    const errno = this.call("fd_readdir", fd, BUFFER, room, cookie, RESULT);
    return this.answer(errno, () => {
      const used = this.#view.getUint32(RESULT, true);
      const names: string[] = [];
      let next = cookie;
      for (let at = 0; at + 24 <= used;) {
        const length = this.#view.getUint32(BUFFER + at + 16, true);
        if (at + 24 + length > used) break;
        names.push(decoder.decode(this.bytes(BUFFER + at + 24, length)));
        next = this.#view.getBigUint64(BUFFER + at, true);
        at += 24 + length;
      }
      return { names, next, isLast: used < room };
    });
  }

  /** All names in a folder but `.` and `..`, sorted. */
  list(path: string, room = BUFFER_BYTES): Answer<string[]> {
    const { errno, value: fd } = this.open(path, { oflags: DIRECTORY, rights: READ });
    if (fd === undefined) return { errno, value: undefined };
    const all: string[] = [];
    let cookie = 0n;
    let code = 0;
    for (;;) {
      const page = this.page(fd, cookie, room);
      code = page.errno;
      if (page.value === undefined) break;
      all.push(...page.value.names);
      cookie = page.value.next;
      if (page.value.isLast) break;
    }
    this.call("fd_close", fd);
    const names = all.filter((name) => name !== "." && name !== "..").toSorted();
    return this.answer(code, () => names);
  }
}

/** The guest in a call with these files. */
export function guestWith(files: Setup["files"], setup: Partial<Setup> = {}) {
  const world = setup.world ?? liveWorld;
  const journal = new Journal({ hash: "", input: "" }, world, undefined);
  const guest = new Guest({ ...nobody, world, ...setup, ...(files && { files }) }, journal);
  const instance = instantiate(program, guest);
  guest.attach(instance.exports, { fuel: 1e15 });
  return { guest, wasi: new WasiCaller(instance.exports) };
}
