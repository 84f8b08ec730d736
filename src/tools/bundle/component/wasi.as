// WASI 0.2 for a component (version 0.3 is in wasi3.as), by the host functions of plugins: preview 1, Extism's and hyper-mcp's. The function
// `wasi_io_poll_poll` answers `poll` of the interface `wasi:io/poll`, with the parameters that the canonical ABI gives it:
// https://github.com/WebAssembly/component-model/blob/main/design/mvp/CanonicalABI.md
// The interfaces: https://github.com/WebAssembly/WASI/tree/main/proposals

@external("extism:host/env", "config_get") declare function config_get(key: u64): u64;
@external("extism:host/env", "http_status_code") declare function http_status_code(): u32;
@external("extism:host/env", "http_headers") declare function http_headers(): u64;
@external("extism:host/env", "log_warn") declare function log_warn(text: u64): void;
@external("extism:host/user", "http_fetch") declare function http_fetch(head: u64, body: u64): u64;
@external("wasi_snapshot_preview1", "clock_time_get") declare function clock_time_get(clock: u32, precision: u64, to: u32): u32;
@external("wasi_snapshot_preview1", "random_get") declare function random_get(to: u32, length: u32): u32;
@external("wasi_snapshot_preview1", "proc_exit") declare function proc_exit(code: u32): void;
@external("wasi_snapshot_preview1", "poll_oneoff") declare function poll_oneoff(from: u32, to: u32, count: u32, stored: u32): u32;
@external("wasi_snapshot_preview1", "fd_write") declare function fd_write(fd: u32, vectors: u32, count: u32, written: u32): u32;
@external("wasi_snapshot_preview1", "fd_pread") declare function fd_pread(fd: u32, vectors: u32, count: u32, offset: u64, read: u32): u32;
@external("wasi_snapshot_preview1", "fd_pwrite") declare function fd_pwrite(fd: u32, vectors: u32, count: u32, offset: u64, written: u32): u32;
@external("wasi_snapshot_preview1", "fd_close") declare function fd_close(fd: u32): u32;
@external("wasi_snapshot_preview1", "fd_sync") declare function fd_sync(fd: u32): u32;
@external("wasi_snapshot_preview1", "fd_readdir") declare function fd_readdir(fd: u32, to: u32, length: u32, cookie: u64, used: u32): u32;
@external("wasi_snapshot_preview1", "fd_filestat_get") declare function fd_filestat_get(fd: u32, to: u32): u32;
@external("wasi_snapshot_preview1", "fd_filestat_set_size") declare function fd_filestat_set_size(fd: u32, size: u64): u32;
@external("wasi_snapshot_preview1", "fd_prestat_get") declare function fd_prestat_get(fd: u32, to: u32): u32;
@external("wasi_snapshot_preview1", "fd_prestat_dir_name") declare function fd_prestat_dir_name(fd: u32, to: u32, length: u32): u32;
@external("wasi_snapshot_preview1", "path_open") declare function path_open(fd: u32, flags: u32, path: u32, length: u32, open: u32, base: u64, inheriting: u64, how: u32, to: u32): u32;
@external("wasi_snapshot_preview1", "path_filestat_get") declare function path_filestat_get(fd: u32, flags: u32, path: u32, length: u32, to: u32): u32;
@external("wasi_snapshot_preview1", "path_create_directory") declare function path_create_directory(fd: u32, path: u32, length: u32): u32;
@external("wasi_snapshot_preview1", "path_remove_directory") declare function path_remove_directory(fd: u32, path: u32, length: u32): u32;
@external("wasi_snapshot_preview1", "path_unlink_file") declare function path_unlink_file(fd: u32, path: u32, length: u32): u32;
@external("wasi_snapshot_preview1", "path_rename") declare function path_rename(fd: u32, path: u32, length: u32, toFd: u32, toPath: u32, toLength: u32): u32;

// Handles of resources. 1 to 3 are the standard streams, `fd << 3 | 5` is a descriptor, 9 is a pollable that is always
// ready: those need no memory, so they last when the memory of a start is used for all calls. Any other is the address of a
// record in the kernel's memory, a multiple of 8, of slots of eight bytes, whose first says what it is. The kernel's memory
// lasts for one call, and the component's may last: the bits above an address, which is below 64 MiB, tell whose it is.

const READY: u32 = 9;
const ERROR: u32 = 0;
const TIMER: u32 = 1;
const RESPONSE_TIMER: u32 = 2;
const BYTES: u32 = 3;
const FILE: u32 = 4;
const APPEND: u32 = 5;
const BODY: u32 = 6;
const OTHER: u32 = 7;
const STALE: u32 = 8;
// Of the component model and of version 0.3: see async.as and wasi3.as.
const SET: u32 = 9;
const TIMER_SUBTASK: u32 = 10;
const REQUEST_SUBTASK: u32 = 11;
const COPY_END: u32 = 12;
const OUTCOME: u32 = 13;
const SINK: u32 = 14;
const REQUEST: u32 = 15;
const ENTRIES: u32 = 16;

const TURN_AT: u32 = 27;
/** The number of the call, which begins again after 15: handles stay positive in 32 bits with a sign. */
let turn: u32 = 1;
/** A start and the first call have the same number, and the same memory of the kernel. */
let isBegun = false;

function nextTurn(): void {
  if (isBegun) {
    turn = (turn % 15) + 1;
    openFiles = 0;
    pendingSubtasks = 0;
  }
  isBegun = true;
}

function isStale(record: u32): bool {
  return record >> TURN_AT != 0 && record >> TURN_AT != turn;
}

/** The address of a record; the call ends for one of an earlier call. */
function addressOf(record: u32): u32 {
  if (isStale(record)) {
    beginOut();
    text("the component uses a resource of an earlier call: make it anew in each call");
    log_warn(endOut());
    unreachable();
  }
  return record & ((1 << TURN_AT) - 1);
}

function make(kind: u32, first: u64 = 0, second: u64 = 0): u32 {
  const record = blockOf(96);
  for (let at: u32 = 0; at < 96; at += 8) kstore64(record + at, 0);
  kstore64(record, kind);
  kstore64(record + 8, first);
  kstore64(record + 16, second);
  return record | (turn << TURN_AT);
}

function wideSlot(record: u32, index: u32): u64 {
  return kload64(addressOf(record) + index * 8);
}

function slot(record: u32, index: u32): u32 {
  return <u32>wideSlot(record, index);
}

function setSlot(record: u32, index: u32, value: u64): void {
  kstore64(addressOf(record) + index * 8, value);
}

function isRecord(handle: u32): bool {
  return (handle & 7) == 0;
}

function kindOf(handle: u32): u32 {
  if (isStale(handle)) return STALE;
  return isRecord(handle) ? slot(handle, 0) : OTHER;
}

/** Answers `drop` of every resource. Records that others refer to stay until the call ends. */
function dropHandle(handle: u32): void {
  if ((handle & 7) == 5) return dropDescriptor(handle >> 3);
  const kind = kindOf(handle);
  if (kind == FILE || kind == APPEND || kind == ENTRIES) dropFileStream(handle);
  else if (kind == REQUEST) abandon(handle);
  else if (kind < BODY) kfree(addressOf(handle));
}

// Streams of files. A file stays open until its descriptor is dropped, and its streams are dropped or the call ends.
// A stream: 1 file descriptor, 2 offset

/** 1 if its descriptor is dropped. */
const FILE_DROPPED: u32 = 10;
const FILE_NEXT: u32 = 11;

let openFiles: u32 = 0;

function fileStream(kind: u32, fd: u32, offset: u64 = 0): u32 {
  const stream = make(kind, fd, offset);
  setSlot(stream, FILE_NEXT, openFiles);
  openFiles = stream;
  return stream;
}

function dropDescriptor(fd: u32): void {
  if (fd < firstFile()) return;
  let isUsed = false;
  for (let stream = openFiles; stream != 0; stream = slot(stream, FILE_NEXT)) {
    if (slot(stream, 1) != fd) continue;
    setSlot(stream, FILE_DROPPED, 1);
    isUsed = true;
  }
  if (!isUsed) fd_close(fd);
}

function dropFileStream(closed: u32): void {
  const fd = slot(closed, 1);
  let isUsed = slot(closed, FILE_DROPPED) == 0;
  let before: u32 = 0;
  for (let stream = openFiles; stream != 0; stream = slot(stream, FILE_NEXT)) {
    if (stream != closed) {
      before = stream;
      isUsed = isUsed || slot(stream, 1) == fd;
    } else if (before == 0) openFiles = slot(stream, FILE_NEXT);
    else setSlot(before, FILE_NEXT, slot(stream, FILE_NEXT));
  }
  kfree(slot(closed, 3));
  kfree(addressOf(closed));
  if (!isUsed) fd_close(fd);
}

/** Closes files whose descriptors are dropped at the end of a call, after which their streams are stale. */
function closeDroppedFiles(): void {
  for (let stream = openFiles; stream != 0; stream = slot(stream, FILE_NEXT)) if (slot(stream, FILE_DROPPED) != 0) fd_close(slot(stream, 1));
}

// Preview 1 takes and gives its structures in the component's memory: at this address, whose bytes are kept meanwhile.
// Linkers put nothing below 1024, so what a component writes to a file does not stand here.

const LOW: u32 = 16;
const LOW_BYTES: u32 = 512;
let kept: u32 = 0;

function borrowLow(): void {
  kept = toKernel(LOW, LOW_BYTES);
}

function giveBack(): void {
  for (let at: u32 = 0; at < LOW_BYTES; at += 8) store<u64>(LOW + at, kload64(kept + at));
  kfree(kept);
}

// The list of a function without `realloc` is here: a part of a stream that is passed over, or a value that is passed as
// core values. The bytes here are kept meanwhile, too.

const SCRATCH: u32 = LOW + LOW_BYTES;
const SCRATCH_BYTES: u32 = 256;
let scratchKept: u32 = 0;

function borrowScratch(): void {
  scratchKept = toKernel(SCRATCH, SCRATCH_BYTES);
}

function giveScratchBack(): void {
  for (let at: u32 = 0; at < SCRATCH_BYTES; at += 8) store<u64>(SCRATCH + at, kload64(scratchKept + at));
  kfree(scratchKept);
}

// Results: a byte that is 0 for `ok` or 1 for `err`, and a value at the alignment of the larger.

function ok(to: u32): void {
  store<u8>(to, 0);
}

function okHandle(to: u32, handle: u32): void {
  store<u8>(to, 0);
  store<u32>(to, handle, 4);
}

function okU64(to: u32, value: u64): void {
  store<u8>(to, 0);
  store<u64>(to, value, 8);
}

/** Stores a list, or a string. */
function putList(to: u32, list: u32, length: u32): void {
  store<u32>(to, list);
  store<u32>(to, length, 4);
}

// wasi:cli

function wasi_cli_environment_get_environment(to: u32): void {
  const count = variables();
  // A start whose memory all calls have may not ask for a block.
  const pairs = count > 0 ? blockOf(count * 16) : 0;
  let found: u32 = 0;
  for (let n: u32 = 0; n < count; n++) {
    beginOut();
    variable(n);
    const name = endOut();
    const value = config_get(name);
    if (value == 0) continue;
    setSlot(pairs, found++, name);
    setSlot(pairs, found++, value);
  }
  const list = listOf(4, found * 8);
  for (let n: u32 = 0; n < found; n++) {
    const text = kload64(pairs + n * 8);
    putList(list + n * 8, fromKernel(<u32>text, <u32>klength(text)), <u32>klength(text));
  }
  if (count > 0) kfree(pairs);
  putList(to, list, found / 2);
}

function wasi_cli_environment_get_arguments(to: u32): void {
  putList(to, listOf(4, 0), 0);
}

function wasi_cli_environment_initial_cwd(to: u32): void {
  store<u8>(to, 0);
}

function wasi_cli_exit_exit(failed: u32): void {
  proc_exit(failed);
}

function wasi_cli_exit_exit_with_code(code: u32): void {
  proc_exit(code);
}

function wasi_cli_stdin_get_stdin(): u32 {
  return 1;
}

function wasi_cli_stdout_get_stdout(): u32 {
  return 2;
}

function wasi_cli_stderr_get_stderr(): u32 {
  return 3;
}

function wasi_cli_terminal_stdin_get_terminal_stdin(to: u32): void {
  store<u8>(to, 0);
}

function wasi_cli_terminal_stdout_get_terminal_stdout(to: u32): void {
  store<u8>(to, 0);
}

function wasi_cli_terminal_stderr_get_terminal_stderr(to: u32): void {
  store<u8>(to, 0);
}

// wasi:config, which reads the same variables as the environment

function wasi_config_store_get(key: u32, length: u32, to: u32): void {
  const value = config_get(toKernel(key, length));
  store<u8>(to, 0);
  store<u8>(to, value != 0, 4);
  putList(to + 8, fromKernel(<u32>value, <u32>klength(value)), <u32>klength(value));
}

function wasi_config_store_get_all(to: u32): void {
  store<u8>(to, 0);
  wasi_cli_environment_get_environment(to + 4);
}

function wasi_config_runtime_get(key: u32, length: u32, to: u32): void {
  wasi_config_store_get(key, length, to);
}

function wasi_config_runtime_get_all(to: u32): void {
  wasi_config_store_get_all(to);
}

// wasi:logging

function wasi_logging_logging_log(_level: u32, _context: u32, _contextLength: u32, message: u32, length: u32): void {
  log_warn(toKernel(message, length));
}

// wasi:clocks

function nowOf(clock: u32): u64 {
  const before = load<u64>(LOW);
  clock_time_get(clock, 0, LOW);
  const time = load<u64>(LOW);
  store<u64>(LOW, before);
  return time;
}

function wasi_clocks_monotonic_clock_now(): u64 {
  return nowOf(1);
}

function wasi_clocks_monotonic_clock_resolution(): u64 {
  return 1000000;
}

function wasi_clocks_monotonic_clock_subscribe_instant(when: u64): u32 {
  return make(TIMER, when);
}

/** The instant after a duration, or the last that there is. */
function deadlineAfter(duration: u64): u64 {
  const now = nowOf(1);
  return duration > <u64>-1 - now ? <u64>-1 : now + duration;
}

function wasi_clocks_monotonic_clock_subscribe_duration(duration: u64): u32 {
  return make(TIMER, deadlineAfter(duration));
}

function wasi_clocks_wall_clock_now(to: u32): void {
  const time = nowOf(0);
  store<u64>(to, time / 1000000000);
  store<u32>(to, <u32>(time % 1000000000), 8);
}

function wasi_clocks_wall_clock_resolution(to: u32): void {
  store<u64>(to, 0);
  store<u32>(to, 1000000, 8);
}

// wasi:random

function wasi_random_random_get_random_u64(): u64 {
  const before = load<u64>(LOW);
  random_get(LOW, 8);
  const value = load<u64>(LOW);
  store<u64>(LOW, before);
  return value;
}

function wasi_random_random_get_random_bytes(length: u64, to: u32): void {
  if (length > 0x7fffffff) unreachable();
  const list = listOf(1, <u32>length);
  random_get(list, <u32>length);
  putList(to, list, <u32>length);
}

function wasi_random_insecure_get_insecure_random_u64(): u64 {
  return wasi_random_random_get_random_u64();
}

function wasi_random_insecure_get_insecure_random_bytes(length: u64, to: u32): void {
  wasi_random_random_get_random_bytes(length, to);
}

function wasi_random_insecure_seed_insecure_seed(to: u32): void {
  store<u64>(to, wasi_random_random_get_random_u64());
  store<u64>(to, wasi_random_random_get_random_u64(), 8);
}

// wasi:io

function wasi_io_error_error_to_debug_string(error: u32, to: u32): void {
  beginOut();
  text("error ");
  writeUnsigned(slot(error, 1));
  const length = outLength;
  putList(to, fromKernel(<u32>endOut(), length), length);
}

function isReady(pollable: u32): bool {
  const kind = kindOf(pollable);
  if (kind == STALE) addressOf(pollable);
  if (kind == TIMER) return nowOf(1) >= wideSlot(pollable, 1);
  if (kind == RESPONSE_TIMER) return hasResponse(slot(pollable, 1), false);
  return true;
}

function wasi_io_poll_pollable_ready(pollable: u32): u32 {
  return isReady(pollable);
}

function wasi_io_poll_pollable_block(pollable: u32): void {
  const kind = kindOf(pollable);
  if (kind == STALE) addressOf(pollable);
  if (kind == TIMER) waitUntil(wideSlot(pollable, 1));
  if (kind == RESPONSE_TIMER) hasResponse(slot(pollable, 1), true);
}

function waitUntil(when: u64): void {
  const now = nowOf(1);
  if (now >= when) return;
  borrowLow();
  memory.fill(LOW, 0, 48);
  store<u32>(LOW, 1, 16);
  store<u64>(LOW, when - now, 24);
  poll_oneoff(LOW, LOW + 48, 1, LOW + 80);
  giveBack();
}

/** Waits where nothing is ready: for responses first, whose requests are sent then; else for the first time that comes. */
function wasi_io_poll_poll(list: u32, count: u32, to: u32): void {
  if (count == 0) unreachable();
  let ready = readyOf(list, count);
  while (ready == 0) {
    let first = u64.MAX_VALUE;
    let sent = false;
    for (let n: u32 = 0; n < count; n++) {
      const pollable = load<u32>(list + n * 4);
      const kind = kindOf(pollable);
      if (kind == TIMER) first = min(first, wideSlot(pollable, 1));
      if (kind == RESPONSE_TIMER) sent = hasResponse(slot(pollable, 1), true);
    }
    if (!sent) waitUntil(first);
    ready = readyOf(list, count);
  }
  let found: u32 = 0;
  for (let n: u32 = 0; n < count; n++) found += kload8(ready + n);
  const indices = listOf(4, found * 4);
  found = 0;
  for (let n: u32 = 0; n < count; n++) if (kload8(ready + n) != 0) store<u32>(indices + 4 * found++, n);
  kfree(ready);
  putList(to, indices, found);
}

/** A block with a byte for each that is 1 where it is ready; 0 if none is. */
function readyOf(list: u32, count: u32): u32 {
  const block = blockOf(count);
  let found = false;
  for (let n: u32 = 0; n < count; n++) {
    const is = isReady(load<u32>(list + n * 4));
    kstore8(block + n, is);
    found = found || is;
  }
  if (found) return block;
  kfree(block);
  return 0;
}

function closed(to: u32): void {
  store<u8>(to, 1);
  store<u8>(to, 1, 4);
}

function streamFailed(to: u32, error: u32): void {
  store<u8>(to, 1);
  store<u8>(to, 0, 4);
  store<u32>(to, make(ERROR, error), 8);
}

function wasi_io_streams_input_stream_read(stream: u32, most: u64, to: u32): void {
  const kind = kindOf(stream);
  if (kind == BYTES) {
    const left = slot(stream, 2) - slot(stream, 3);
    if (left == 0) return closed(to);
    const length = <u32>min(<u64>left, most);
    const list = listOf(1, length);
    store<u8>(to, 0);
    return putList(to + 4, list, takeBytes(stream, list, length));
  }
  if (kind == STALE) return streamFailed(to, BAD_DESCRIPTOR);
  if (kind != FILE) return closed(to);
  const fd = slot(stream, 1);
  const offset = wideSlot(stream, 2);
  const room = roomFor(fd, offset, most);
  const list = room > 0 ? listOf(1, room) : 0;
  const error = readFile(fd, offset, list, room);
  if (error != 0) return streamFailed(to, error);
  if (moved == 0 && most > 0) return closed(to);
  setSlot(stream, 2, offset + moved);
  store<u8>(to, 0);
  putList(to + 4, list, moved);
}

/** Takes bytes that were read before. */
function takeBytes(stream: u32, into: u32, most: u32): u32 {
  const from = slot(stream, 3);
  const length = min(slot(stream, 2) - from, most);
  copyFromKernel(slot(stream, 1) + from, into, length);
  setSlot(stream, 3, from + length);
  return length;
}

/** Bytes to read of a file: not more than there are, since a list is the component's, and cannot be given back. */
function roomFor(fd: u32, offset: u64, most: u64): u32 {
  const left = statOf(fd, 0, 0, 0) == 0 && statSize > offset ? statSize - offset : 0;
  return <u32>min(min(most, left), 65536);
}

/** Bytes that the last operation on a file has read or written. */
let moved: u32 = 0;

function readFile(fd: u32, offset: u64, into: u32, length: u32): u32 {
  borrowLow();
  putList(LOW, into, length);
  const error = fd_pread(fd, LOW, 1, offset, LOW + 8);
  moved = error == 0 ? load<u32>(LOW + 8) : 0;
  giveBack();
  return error;
}

function writeFile(fd: u32, offset: u64, from: u32, length: u32): u32 {
  borrowLow();
  putList(LOW, from, length);
  const error = fd_pwrite(fd, LOW, 1, offset, LOW + 8);
  moved = error == 0 ? load<u32>(LOW + 8) : 0;
  giveBack();
  return error;
}

function wasi_io_streams_input_stream_blocking_read(stream: u32, most: u64, to: u32): void {
  wasi_io_streams_input_stream_read(stream, most, to);
}

function wasi_io_streams_input_stream_skip(stream: u32, most: u64, to: u32): void {
  borrowScratch();
  wasi_io_streams_input_stream_read(stream, min(most, SCRATCH_BYTES), to);
  giveScratchBack();
  if (load<u8>(to) == 0) okU64(to, load<u32>(to + 8));
  else store<u8>(to, load<u8>(to, 4), 8);
}

function wasi_io_streams_input_stream_blocking_skip(stream: u32, most: u64, to: u32): void {
  wasi_io_streams_input_stream_skip(stream, most, to);
}

function wasi_io_streams_input_stream_subscribe(_stream: u32): u32 {
  return READY;
}

function wasi_io_streams_output_stream_subscribe(_stream: u32): u32 {
  return READY;
}

function wasi_io_streams_output_stream_check_write(_stream: u32, to: u32): void {
  okU64(to, 1 << 20);
}

function wasi_io_streams_output_stream_write(stream: u32, from: u32, length: u32, to: u32): void {
  const error = writeTo(stream, from, length);
  if (error != 0) return streamFailed(to, error);
  store<u8>(to, 0);
}

/** Writes all of it, and gives the error number. */
function writeTo(stream: u32, from: u32, length: u32): u32 {
  const kind = kindOf(stream);
  if (kind == BODY) {
    appendTo(slot(stream, 1), from, length);
    return 0;
  }
  if (kind == STALE) return BAD_DESCRIPTOR;
  if (kind == OTHER) {
    borrowLow();
    putList(LOW, from, length);
    fd_write(stream - 1, LOW, 1, LOW + 8);
    giveBack();
    return 0;
  }
  const fd = slot(stream, 1);
  while (length > 0) {
    let offset = wideSlot(stream, 2);
    if (kind == APPEND) {
      const failed = statOf(fd, 0, 0, 0);
      if (failed != 0) return failed;
      offset = statSize;
    }
    const error = writeFile(fd, offset, from, length);
    if (error != 0) return error;
    setSlot(stream, 2, offset + moved);
    from += moved;
    length -= moved;
  }
  return 0;
}

function appendTo(body: u32, from: u32, length: u32): void {
  const used = slot(body, 2);
  if (used + length > slot(body, 3)) {
    const larger = max(slot(body, 3) * 2, used + length);
    const block = blockOf(larger);
    kcopy(slot(body, 1), block, used);
    if (slot(body, 3) > 0) kfree(slot(body, 1));
    setSlot(body, 1, block);
    setSlot(body, 3, larger);
  }
  const to = slot(body, 1) + used;
  for (let at: u32 = 0; at < length; at++) kstore8(to + at, load<u8>(from + at));
  setSlot(body, 2, used + length);
}

function wasi_io_streams_output_stream_blocking_write_and_flush(stream: u32, from: u32, length: u32, to: u32): void {
  wasi_io_streams_output_stream_write(stream, from, length, to);
}

function wasi_io_streams_output_stream_write_zeroes(stream: u32, length: u64, to: u32): void {
  if (length > 1 << 20) unreachable();
  borrowScratch();
  memory.fill(SCRATCH, 0, SCRATCH_BYTES);
  let left = <u32>length;
  do {
    const part = min(left, SCRATCH_BYTES);
    wasi_io_streams_output_stream_write(stream, SCRATCH, part, to);
    left -= part;
  } while (left > 0 && load<u8>(to) == 0);
  giveScratchBack();
}

function wasi_io_streams_output_stream_blocking_write_zeroes_and_flush(stream: u32, length: u64, to: u32): void {
  wasi_io_streams_output_stream_write_zeroes(stream, length, to);
}

function wasi_io_streams_output_stream_flush(_stream: u32, to: u32): void {
  store<u8>(to, 0);
}

function wasi_io_streams_output_stream_blocking_flush(_stream: u32, to: u32): void {
  store<u8>(to, 0);
}

function wasi_io_streams_output_stream_splice(stream: u32, source: u32, most: u64, to: u32): void {
  borrowScratch();
  wasi_io_streams_input_stream_read(source, min(most, SCRATCH_BYTES), to);
  if (load<u8>(to) != 0) store<u8>(to, load<u8>(to, 4), 8);
  else {
    const length = load<u32>(to + 8);
    wasi_io_streams_output_stream_write(stream, load<u32>(to + 4), length, to);
    if (load<u8>(to) == 0) okU64(to, length);
  }
  giveScratchBack();
}

function wasi_io_streams_output_stream_blocking_splice(stream: u32, source: u32, most: u64, to: u32): void {
  wasi_io_streams_output_stream_splice(stream, source, most, to);
}

// wasi:filesystem

const FIRST_FD: u32 = 3;
/** Rights of preview 1: all, to read, to write. */
const RIGHTS: u64 = (1 << 30) - 1;
const RIGHTS_READ: u64 = 1 << 1;
const RIGHTS_WRITE: u64 = (1 << 6) | (1 << 8) | (1 << 22);

function fdOf(descriptor: u32): u32 {
  return descriptor >> 3;
}

/** The first file descriptor that is not a folder of the servlet. */
function firstFile(): u32 {
  let fd = FIRST_FD;
  while (folderLength(fd) > 0) fd++;
  return fd;
}

/** The length of a folder's name; 0 without such a folder. */
function folderLength(fd: u32): u32 {
  const before = load<u64>(LOW);
  const error = fd_prestat_get(fd, LOW);
  const length = error == 0 ? load<u32>(LOW + 4) : 0;
  store<u64>(LOW, before);
  return length;
}

function wasi_filesystem_preopens_get_directories(to: u32): void {
  const count = firstFile() - FIRST_FD;
  const list = listOf(4, count * 12);
  for (let n: u32 = 0; n < count; n++) {
    const fd = FIRST_FD + n;
    const length = folderLength(fd);
    const name = listOf(1, length);
    fd_prestat_dir_name(fd, name, length);
    store<u32>(list + n * 12, (fd << 3) | 5);
    putList(list + n * 12 + 4, name, length);
  }
  putList(to, list, count);
}

/** The error code of the interface for an error number of preview 1. */
function codeOf(error: u32): u32 {
  switch (error) {
    case 2: return 0;
    case 6: return 1;
    case 7: return 2;
    case 8: return 3;
    case 10: return 4;
    case 19: return 6;
    case 20: return 7;
    case 22: return 8;
    case 25: return 9;
    case 28: return 12;
    case 31: return 14;
    case 32: return 15;
    case 37: return 18;
    case 44: return 20;
    case 48: return 22;
    case 51: return 23;
    case 54: return 24;
    case 55: return 25;
    case 58: return 27;
    case 61: return 30;
    case 63: return 31;
    case 64: return 32;
    case 69: return 33;
    case 70: return 34;
    case 75: return 36;
    case 76: return 31;
    default: return 13;
  }
}

const NOT_SUPPORTED: u32 = 58;
const BAD_DESCRIPTOR: u32 = 8;

/** The result of an operation whose value, if any, is at `value`. */
function putFileResult(to: u32, error: u32, value: u32 = 1): void {
  store<u8>(to, error != 0);
  if (error == 0) return;
  if (!isWasi3) return store<u8>(to + value, codeOf(error));
  value = max(value, FILE_ERROR);
  store<u8>(to + value, wasi3Code(codeOf(error)));
  store<u8>(to + value, 0, 4);
}

function wasi_filesystem_types_filesystem_error_code(error: u32, to: u32): void {
  store<u8>(to, 1);
  store<u8>(to, codeOf(slot(error, 1)), 1);
}

function wasi_filesystem_types_descriptor_read_via_stream(descriptor: u32, offset: u64, to: u32): void {
  okHandle(to, fileStream(FILE, fdOf(descriptor), offset));
}

function wasi_filesystem_types_descriptor_write_via_stream(descriptor: u32, offset: u64, to: u32): void {
  okHandle(to, fileStream(FILE, fdOf(descriptor), offset));
}

function wasi_filesystem_types_descriptor_append_via_stream(descriptor: u32, to: u32): void {
  okHandle(to, fileStream(APPEND, fdOf(descriptor)));
}

function wasi_filesystem_types_descriptor_advise(_descriptor: u32, _offset: u64, _length: u64, _advice: u32, to: u32): void {
  ok(to);
}

function wasi_filesystem_types_descriptor_sync(descriptor: u32, to: u32): void {
  putFileResult(to, fd_sync(fdOf(descriptor)));
}

function wasi_filesystem_types_descriptor_sync_data(descriptor: u32, to: u32): void {
  putFileResult(to, fd_sync(fdOf(descriptor)));
}

function wasi_filesystem_types_descriptor_get_flags(_descriptor: u32, to: u32): void {
  store<u8>(to, 0);
  // To read, write and change a directory: what is not allowed is refused when it is done.
  store<u8>(to + (isWasi3 ? FILE_ERROR : 1), 35);
}

function wasi_filesystem_types_descriptor_get_type(descriptor: u32, to: u32): void {
  const error = statOf(fdOf(descriptor), 0, 0, 0);
  putFileResult(to, error);
  if (error != 0) return;
  if (isWasi3) putWasi3Type(to + FILE_ERROR, statType);
  else store<u8>(to, statType, 1);
}

function wasi_filesystem_types_descriptor_set_size(descriptor: u32, size: u64, to: u32): void {
  putFileResult(to, fd_filestat_set_size(fdOf(descriptor), size));
}

function wasi_filesystem_types_descriptor_set_times(_descriptor: u32, _a: u32, _as: u64, _an: u32, _m: u32, _ms: u64, _mn: u32, to: u32): void {
  putFileResult(to, NOT_SUPPORTED);
}

function wasi_filesystem_types_descriptor_set_times_at(_descriptor: u32, _flags: u32, _path: u32, _length: u32, _a: u32, _as: u64, _an: u32, _m: u32, _ms: u64, _mn: u32, to: u32): void {
  putFileResult(to, NOT_SUPPORTED);
}

function wasi_filesystem_types_descriptor_read(descriptor: u32, most: u64, offset: u64, to: u32): void {
  const fd = fdOf(descriptor);
  const room = roomFor(fd, offset, most);
  const list = listOf(1, room);
  const error = readFile(fd, offset, list, room);
  putFileResult(to, error, 4);
  if (error != 0) return;
  putList(to + 4, list, moved);
  store<u8>(to, moved == 0 && most > 0, 12);
}

function wasi_filesystem_types_descriptor_write(descriptor: u32, from: u32, length: u32, offset: u64, to: u32): void {
  const error = writeFile(fdOf(descriptor), offset, from, length);
  putFileResult(to, error, 8);
  if (error == 0) okU64(to, moved);
}

function wasi_filesystem_types_descriptor_read_directory(descriptor: u32, to: u32): void {
  okHandle(to, fileStream(FILE, fdOf(descriptor)));
}

// A stream of entries: 1 file descriptor, 2 cookie after the last entry, 3 entries that were read, 4 their bytes, 5 position

function wasi_filesystem_types_directory_entry_stream_read_directory_entry(stream: u32, to: u32): void {
  store<u8>(to, 0);
  store<u8>(to, 0, 4);
  if (!nextEntry(stream)) return putFileResult(to, entryError, 4);
  store<u8>(to, 1, 4);
  store<u8>(to, entryType, 8);
  putList(to + 12, fromKernel(entryName, entryLength), entryLength);
}

let entryName: u32 = 0;
let entryLength: u32 = 0;
let entryType: u32 = 0;
let entryError: u32 = 0;

/** Goes to the next entry; false at the end, and for an error. Leaves out `.` and `..`, as this interface does. */
function nextEntry(stream: u32): bool {
  while (true) {
    const entry = slot(stream, 3) + slot(stream, 5);
    const left = slot(stream, 4) - slot(stream, 5);
    const length = left < 24 ? 0 : <u32>kload64(entry + 16);
    // The last may be cut off.
    if (left < 24 + length) {
      entryError = readEntries(stream);
      if (slot(stream, 4) < 24) return false;
      continue;
    }
    setSlot(stream, 2, kload64(entry));
    setSlot(stream, 5, slot(stream, 5) + 24 + length);
    const name = entry + 24;
    if ((length == 1 && kload8(name) == 46) || (length == 2 && kload8(name) == 46 && kload8(name + 1) == 46)) continue;
    entryName = name;
    entryLength = length;
    entryType = typeOf(kload8(entry + 20));
    return true;
  }
}

/** Reads as many entries at once as there is room for: the host looks some up for each call. */
function readEntries(stream: u32): u32 {
  borrowLow();
  const error = fd_readdir(slot(stream, 1), LOW + 8, LOW_BYTES - 8, wideSlot(stream, 2), LOW);
  const used = error == 0 ? load<u32>(LOW) : 0;
  kfree(slot(stream, 3));
  setSlot(stream, 3, toKernel(LOW + 8, used));
  setSlot(stream, 4, used);
  setSlot(stream, 5, 0);
  giveBack();
  return error;
}

/** The type of a file in this interface, from one of preview 1. */
function typeOf(type: u32): u32 {
  return type == 4 ? 6 : type == 7 ? 5 : type == 6 ? 7 : type;
}

let statType: u32 = 0;
let statSize: u64 = 0;
let statTime: u64 = 0;
let statNode: u64 = 0;

/** Looks at a file, or at a path in a directory. */
function statOf(fd: u32, flags: u32, path: u32, length: u32): u32 {
  borrowLow();
  const error = path == 0 ? fd_filestat_get(fd, LOW) : path_filestat_get(fd, flags, path, length, LOW);
  statNode = load<u64>(LOW, 8);
  statType = typeOf(load<u8>(LOW, 16));
  statSize = load<u64>(LOW, 32);
  statTime = load<u64>(LOW, 48);
  giveBack();
  return error;
}

function putStat(to: u32, error: u32): void {
  putFileResult(to, error, 8);
  if (error != 0) return;
  if (isWasi3) {
    putWasi3Type(to + 8, statType);
    to += 8;
  } else store<u8>(to, statType, 8);
  memory.fill(to + 16, 0, 88);
  store<u64>(to, 1, 16);
  store<u64>(to, statSize, 24);
  for (let at = to + 32; at < to + 104; at += 24) {
    store<u8>(at, 1);
    store<u64>(at, statTime / 1000000000, 8);
    store<u32>(at, <u32>(statTime % 1000000000), 16);
  }
}

function wasi_filesystem_types_descriptor_stat(descriptor: u32, to: u32): void {
  putStat(to, statOf(fdOf(descriptor), 0, 0, 0));
}

function wasi_filesystem_types_descriptor_stat_at(descriptor: u32, flags: u32, path: u32, length: u32, to: u32): void {
  putStat(to, statOf(fdOf(descriptor), flags, path, length));
}

function putHash(to: u32, error: u32): void {
  putFileResult(to, error, 8);
  if (error != 0) return;
  store<u64>(to, statNode, 8);
  store<u64>(to, statSize ^ statTime, 16);
}

function wasi_filesystem_types_descriptor_metadata_hash(descriptor: u32, to: u32): void {
  putHash(to, statOf(fdOf(descriptor), 0, 0, 0));
}

function wasi_filesystem_types_descriptor_metadata_hash_at(descriptor: u32, flags: u32, path: u32, length: u32, to: u32): void {
  putHash(to, statOf(fdOf(descriptor), flags, path, length));
}

function wasi_filesystem_types_descriptor_is_same_object(one: u32, other: u32): u32 {
  return one == other;
}

function wasi_filesystem_types_descriptor_open_at(descriptor: u32, flags: u32, path: u32, length: u32, open: u32, how: u32, to: u32): void {
  let rights = RIGHTS;
  if ((how & 1) == 0) rights &= ~RIGHTS_READ;
  if ((how & 2) == 0) rights &= ~RIGHTS_WRITE;
  borrowLow();
  const error = path_open(fdOf(descriptor), flags, path, length, open, rights, RIGHTS, 0, LOW);
  const fd = load<u32>(LOW);
  giveBack();
  putFileResult(to, error, 4);
  if (error == 0) okHandle(to, (fd << 3) | 5);
}

function wasi_filesystem_types_descriptor_create_directory_at(descriptor: u32, path: u32, length: u32, to: u32): void {
  putFileResult(to, path_create_directory(fdOf(descriptor), path, length));
}

function wasi_filesystem_types_descriptor_remove_directory_at(descriptor: u32, path: u32, length: u32, to: u32): void {
  putFileResult(to, path_remove_directory(fdOf(descriptor), path, length));
}

function wasi_filesystem_types_descriptor_unlink_file_at(descriptor: u32, path: u32, length: u32, to: u32): void {
  putFileResult(to, path_unlink_file(fdOf(descriptor), path, length));
}

function wasi_filesystem_types_descriptor_rename_at(descriptor: u32, path: u32, length: u32, toDescriptor: u32, toPath: u32, toLength: u32, to: u32): void {
  putFileResult(to, path_rename(fdOf(descriptor), path, length, fdOf(toDescriptor), toPath, toLength));
}

function wasi_filesystem_types_descriptor_link_at(_descriptor: u32, _flags: u32, _path: u32, _length: u32, _toDescriptor: u32, _toPath: u32, _toLength: u32, to: u32): void {
  putFileResult(to, NOT_SUPPORTED);
}

function wasi_filesystem_types_descriptor_symlink_at(_descriptor: u32, _path: u32, _length: u32, _toPath: u32, _toLength: u32, to: u32): void {
  putFileResult(to, NOT_SUPPORTED);
}

function wasi_filesystem_types_descriptor_readlink_at(_descriptor: u32, _path: u32, _length: u32, to: u32): void {
  putFileResult(to, NOT_SUPPORTED, 4);
}

// wasi:http. A request is sent when its response is waited for, or asked for after its body has ended. Requests go one
// after another: the guest waits for each.
//
// Fields: 1 entries, 2 their number, 3 room. An entry: address and length of its name and value.
// A request: 1 fields, 2 method, 3 its length, 4 path, 5 its length, 6 scheme, 7 authority, 8 its length, 9 body
// A body: 1 its bytes, 2 their number, 3 room
// A response and its future: 1 request, 2 state, 3 status, 4 fields, 5 bytes, 6 their number

const REQUEST_BODY: u32 = 9;
/** 1 if the body has ended, if it has failed, and if nobody wants the rest of it. */
const BODY_ENDED: u32 = 4;
const BODY_FAILED: u32 = 5;
const BODY_UNWANTED: u32 = 6;

const UNSENT: u32 = 0;
const RECEIVED: u32 = 1;
const FAILED: u32 = 2;
const TAKEN: u32 = 3;

function entryOf(fields: u32, index: u32): u32 {
  return slot(fields, 1) + index * 32;
}

function addField(fields: u32, name: u32, nameLength: u32, value: u32, valueLength: u32): void {
  const count = slot(fields, 2);
  if (count == slot(fields, 3)) {
    const more = max(count * 2, 8);
    const entries = blockOf(more * 32);
    kcopy(slot(fields, 1), entries, count * 32);
    if (count > 0) kfree(slot(fields, 1));
    setSlot(fields, 1, entries);
    setSlot(fields, 3, more);
  }
  const entry = entryOf(fields, count);
  for (let at: u32 = 0; at < nameLength; at++) {
    const c = kload8(name + at);
    if (c - 65 < 26) kstore8(name + at, c + 32);
  }
  kstore64(entry, name);
  kstore64(entry + 8, nameLength);
  kstore64(entry + 16, value);
  kstore64(entry + 24, valueLength);
  setSlot(fields, 2, count + 1);
}

function hasName(entry: u32, name: u32, length: u32): bool {
  if (<u32>kload64(entry + 8) != length) return false;
  const own = <u32>kload64(entry);
  for (let at: u32 = 0; at < length; at++) {
    let c = <u32>load<u8>(name + at);
    if (c - 65 < 26) c += 32;
    if (kload8(own + at) != c) return false;
  }
  return true;
}

function wasi_http_types_fields_constructor(): u32 {
  return make(OTHER);
}

function wasi_http_types_fields_from_list(list: u32, count: u32, to: u32): void {
  const fields = make(OTHER);
  for (let n: u32 = 0; n < count; n++) {
    const item = list + n * 16;
    const name = load<u32>(item, 4);
    const value = load<u32>(item, 12);
    addField(fields, toKernel(load<u32>(item), name), name, toKernel(load<u32>(item, 8), value), value);
  }
  okHandle(to, fields);
}

function wasi_http_types_fields_get(fields: u32, name: u32, length: u32, to: u32): void {
  const count = slot(fields, 2);
  let found: u32 = 0;
  for (let n: u32 = 0; n < count; n++) if (hasName(entryOf(fields, n), name, length)) found++;
  const list = listOf(4, found * 8);
  let item = list;
  for (let n: u32 = 0; n < count; n++) {
    const entry = entryOf(fields, n);
    if (!hasName(entry, name, length)) continue;
    const size = slot(entry, 3);
    putList(item, fromKernel(slot(entry, 2), size), size);
    item += 8;
  }
  putList(to, list, found);
}

function wasi_http_types_fields_has(fields: u32, name: u32, length: u32): u32 {
  const count = slot(fields, 2);
  for (let n: u32 = 0; n < count; n++) if (hasName(entryOf(fields, n), name, length)) return 1;
  return 0;
}

function wasi_http_types_fields_delete(fields: u32, name: u32, length: u32, to: u32): void {
  const count = slot(fields, 2);
  let left: u32 = 0;
  for (let n: u32 = 0; n < count; n++) {
    const entry = entryOf(fields, n);
    if (!hasName(entry, name, length)) kcopy(entry, entryOf(fields, left++), 32);
  }
  setSlot(fields, 2, left);
  store<u8>(to, 0);
}

function wasi_http_types_fields_set(fields: u32, name: u32, length: u32, values: u32, count: u32, to: u32): void {
  wasi_http_types_fields_delete(fields, name, length, to);
  for (let n: u32 = 0; n < count; n++)
    wasi_http_types_fields_append(fields, name, length, load<u32>(values + n * 8), load<u32>(values + n * 8, 4), to);
}

function wasi_http_types_fields_append(fields: u32, name: u32, length: u32, value: u32, valueLength: u32, to: u32): void {
  addField(fields, toKernel(name, length), length, toKernel(value, valueLength), valueLength);
  store<u8>(to, 0);
}

function wasi_http_types_fields_entries(fields: u32, to: u32): void {
  const count = slot(fields, 2);
  const list = listOf(4, count * 16);
  for (let n: u32 = 0; n < count; n++) {
    const entry = entryOf(fields, n);
    putList(list + n * 16, fromKernel(slot(entry, 0), slot(entry, 1)), slot(entry, 1));
    putList(list + n * 16 + 8, fromKernel(slot(entry, 2), slot(entry, 3)), slot(entry, 3));
  }
  putList(to, list, count);
}

function copyOf(fields: u32): u32 {
  const copy = make(OTHER);
  const count = slot(fields, 2);
  for (let n: u32 = 0; n < count; n++) {
    const entry = entryOf(fields, n);
    addField(copy, slot(entry, 0), slot(entry, 1), slot(entry, 2), slot(entry, 3));
  }
  return copy;
}

function wasi_http_types_fields_clone(fields: u32): u32 {
  return copyOf(fields);
}

function wasi_http_types_http_error_code(_error: u32, to: u32): void {
  store<u8>(to, 0);
}

function wasi_http_types_outgoing_request_constructor(fields: u32): u32 {
  const request = make(OTHER, fields);
  setSlot(request, 6, 1);
  return request;
}

function wasi_http_types_outgoing_request_headers(request: u32): u32 {
  return copyOf(slot(request, 1));
}

function wasi_http_types_outgoing_request_body(request: u32, to: u32): void {
  if (slot(request, REQUEST_BODY) != 0) return store<u8>(to, 1);
  const body = make(OTHER);
  setSlot(request, REQUEST_BODY, body);
  okHandle(to, body);
}

/** Keeps a text in two slots. */
function keep(request: u32, index: u32, from: u32, length: u32): void {
  setSlot(request, index, toKernel(from, length));
  setSlot(request, index + 1, length);
}

function wasi_http_types_outgoing_request_set_method(request: u32, method: u32, from: u32, length: u32): u32 {
  if (method == 9) keep(request, 2, from, length);
  else {
    beginOut();
    if (method == 0) text("GET");
    if (method == 1) text("HEAD");
    if (method == 2) text("POST");
    if (method == 3) text("PUT");
    if (method == 4) text("DELETE");
    if (method == 5) text("CONNECT");
    if (method == 6) text("OPTIONS");
    if (method == 7) text("TRACE");
    if (method == 8) text("PATCH");
    setSlot(request, 2, out);
    setSlot(request, 3, outLength);
  }
  return 0;
}

function wasi_http_types_outgoing_request_set_path_with_query(request: u32, is: u32, from: u32, length: u32): u32 {
  // Without a slash it would go on with the host's name.
  if (is != 0 && length > 0 && load<u8>(from) != 47 && load<u8>(from) != 63) return 1;
  keep(request, 4, from, is != 0 ? length : 0);
  return 0;
}

function wasi_http_types_outgoing_request_set_scheme(request: u32, is: u32, scheme: u32, _from: u32, _length: u32): u32 {
  if (is != 0 && scheme > 1) return 1;
  setSlot(request, 6, is != 0 ? scheme : 1);
  return 0;
}

function wasi_http_types_outgoing_request_set_authority(request: u32, is: u32, from: u32, length: u32): u32 {
  keep(request, 7, from, is != 0 ? length : 0);
  return 0;
}

function wasi_http_types_request_options_constructor(): u32 {
  return make(OTHER);
}

// The server has its own limits of time.

function wasi_http_types_request_options_set_connect_timeout(_options: u32, _is: u32, _duration: u64): u32 {
  return 0;
}

function wasi_http_types_request_options_set_first_byte_timeout(_options: u32, _is: u32, _duration: u64): u32 {
  return 0;
}

function wasi_http_types_request_options_set_between_bytes_timeout(_options: u32, _is: u32, _duration: u64): u32 {
  return 0;
}

function wasi_http_types_outgoing_body_write(body: u32, to: u32): void {
  okHandle(to, make(BODY, body));
}

function wasi_http_types_outgoing_body_finish(body: u32, _has: u32, _trailers: u32, to: u32): void {
  setSlot(body, BODY_ENDED, 1);
  store<u8>(to, 0);
}

function wasi_http_outgoing_handler_handle(request: u32, _has: u32, _options: u32, to: u32): void {
  store<u8>(to, 0);
  store<u32>(to, make(OTHER, request), 8);
}

function wasi_http_types_future_incoming_response_subscribe(future: u32): u32 {
  return make(RESPONSE_TIMER, future);
}

/** True if the response is there. Sends its request once the body has ended, or at once if the component waits. */
function hasResponse(future: u32, waits: bool): bool {
  if (!HAS_HTTP || slot(future, 2) != UNSENT) return true;
  if (!waits && !isWhole(slot(future, 1))) return false;
  send(future);
  return true;
}

function send(future: u32): void {
  const request = slot(future, 1);
  beginOut();
  text('{"method":"');
  if (slot(request, 3) == 0) text("GET");
  escapedFrom(slot(request, 2), slot(request, 3));
  if (slot(request, 6) == 0) text('","url":"http://');
  else text('","url":"https://');
  escapedFrom(slot(request, 7), slot(request, 8));
  escapedFrom(slot(request, 4), slot(request, 5));
  text('","headers":{');
  writeHeaders(slot(request, 1));
  text("}}");
  const head = endOut();
  let body: u64 = 0;
  const given = slot(request, REQUEST_BODY);
  if (given != 0 && slot(given, 2) > 0) {
    body = blockOf(slot(given, 2));
    kcopy(slot(given, 1), <u32>body, slot(given, 2));
  }
  const answer = http_fetch(head, body);
  const status = http_status_code();
  setSlot(future, 2, status == 0 ? FAILED : RECEIVED);
  setSlot(future, 3, status);
  setSlot(future, 4, readHeaders());
  setSlot(future, 5, answer);
  setSlot(future, 6, klength(answer));
}

/** True if the body of a request has ended. */
function isWhole(request: u32): bool {
  const body = slot(request, REQUEST_BODY);
  return body == 0 || slot(body, BODY_ENDED) != 0;
}

/** The bytes of "cookie", whose values have a separator of their own: https://www.rfc-editor.org/rfc/rfc6265#section-5.4 */
const COOKIE: u64 = 0x65696b6f6f63;

/** Values of the same name as one, as JSON cannot have a name twice. */
function writeHeaders(fields: u32): void {
  const count = slot(fields, 2);
  for (let n: u32 = 0; n < count; n++) {
    const entry = entryOf(fields, n);
    let isFirst = true;
    for (let other: u32 = 0; other < n; other++) if (isSame(entry, entryOf(fields, other))) isFirst = false;
    if (!isFirst) continue;
    const isCookie = slot(entry, 1) == 6 && (kload64(slot(entry, 0)) & 0xffffffffffff) == COOKIE;
    separate();
    byte(34);
    escapedFrom(slot(entry, 0), slot(entry, 1));
    text('":"');
    escapedFrom(slot(entry, 2), slot(entry, 3));
    for (let other = n + 1; other < count; other++) {
      const more = entryOf(fields, other);
      if (!isSame(entry, more)) continue;
      if (isCookie) text("; ");
      else text(", ");
      escapedFrom(slot(more, 2), slot(more, 3));
    }
    byte(34);
  }
}

/** True if two entries have the same name. */
function isSame(one: u32, other: u32): bool {
  const length = slot(one, 1);
  if (slot(other, 1) != length) return false;
  const own = slot(one, 0);
  const theirs = slot(other, 0);
  for (let at: u32 = 0; at < length; at++) if (kload8(own + at) != kload8(theirs + at)) return false;
  return true;
}

/** The headers of the last response, or the error. A value with several lines is several values. */
function readHeaders(): u32 {
  const fields = make(OTHER);
  const before = at;
  at = <u32>http_headers();
  while (next()) {
    const name = readBlock();
    const nameLength = blockLength;
    at++;
    let value = readBlock();
    let left = blockLength;
    while (true) {
      let length: u32 = 0;
      while (length < left && kload8(value + length) != 10) length++;
      addField(fields, name, nameLength, value, length);
      if (length == left) break;
      value += length + 1;
      left -= length + 1;
    }
  }
  at = before;
  return fields;
}

function wasi_http_types_future_incoming_response_get(future: u32, to: u32): void {
  if (!hasResponse(future, false)) return store<u8>(to, 0);
  store<u8>(to, 1);
  const state = slot(future, 2);
  store<u8>(to, state == TAKEN, 8);
  if (state == TAKEN) return;
  setSlot(future, 2, TAKEN);
  store<u8>(to, state == FAILED, 16);
  if (state == RECEIVED) {
    const response = make(OTHER);
    for (let index: u32 = 3; index < 7; index++) setSlot(response, index, slot(future, index));
    return store<u32>(to, response, 24);
  }
  putHttpError(to + 24, future);
}

const INTERNAL_ERROR: u32 = 38;

/** Puts an error code with the host's message, if there is one. */
function putHttpError(to: u32, future: u32): void {
  const fields = slot(future, 4);
  const entry = entryOf(fields, 0);
  store<u8>(to, INTERNAL_ERROR);
  store<u8>(to, slot(fields, 2) > 0, 8);
  if (slot(fields, 2) > 0) putList(to + 12, fromKernel(slot(entry, 2), slot(entry, 3)), slot(entry, 3));
}

function wasi_http_types_incoming_response_status(response: u32): u32 {
  return slot(response, 3);
}

function wasi_http_types_incoming_response_headers(response: u32): u32 {
  return copyOf(slot(response, 4));
}

function wasi_http_types_incoming_response_consume(response: u32, to: u32): void {
  okHandle(to, make(OTHER, slot(response, 5), slot(response, 6)));
}

function wasi_http_types_incoming_body_stream(body: u32, to: u32): void {
  okHandle(to, make(BYTES, slot(body, 1), slot(body, 2)));
}

function wasi_http_types_incoming_body_finish(_body: u32): u32 {
  return READY;
}

function wasi_http_types_future_trailers_subscribe(_trailers: u32): u32 {
  return READY;
}

function wasi_http_types_future_trailers_get(_trailers: u32, to: u32): void {
  store<u8>(to, 1);
  store<u8>(to, 0, 8);
  store<u8>(to, 0, 16);
  store<u8>(to, 0, 24);
}

// wasi:sockets: there is a network that refuses everything.

function wasi_sockets_instance_network_instance_network(): u32 {
  return READY;
}
