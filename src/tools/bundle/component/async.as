// The asynchronous functions of the component model, and WASI 0.3 by those of 0.2:
// https://github.com/WebAssembly/component-model/blob/main/design/mvp/CanonicalABI.md
//
// A call is one task. Whatever it has under way is either a timer or a request, and the server waits for those when the task
// waits: for requests first, then for the first time that comes. So the record of a call holds all that it waited for.
//
// Indices are those of handles without their lowest three bits, which are 0 for records: the component model has 28 for them.
//
// A set: 2 first waitable
// A waitable: 1 its set, 2 next in the set, 3 code of its event or 0, 4 payload of the event
// A subtask, which is one: 5 next under way, 6 when it ends or the response, 7 place of the result, 8 its `which`
// An end of a stream or future, which is one: 5 other end, 6 buffer, 7 values in it, 8 how many were passed on, 9 state,
// 10 what the server gives (see `take`) or takes (see `put`) at the other end, 11 code of its events, which tells its kind

const SET: u32 = 9;
const TIMED: u32 = 10;
const SENDING: u32 = 11;
const END: u32 = 12;
const OUTCOME: u32 = 13;
const SINK: u32 = 14;
const ENTRIES: u32 = 15;

const SUBTASK: u32 = 1;
const STREAM_READ: u32 = 2;
const STREAM_WRITE: u32 = 3;
const FUTURE_READ: u32 = 4;
const FUTURE_WRITE: u32 = 5;

const STARTED: u32 = 1;
const RETURNED: u32 = 2;
const CANCELLED_BEFORE_RETURNED: u32 = 4;

const COMPLETED: u32 = 0;
const DROPPED: u32 = 1;
const CANCELLED: u32 = 2;
const BLOCKED: u32 = 0xffffffff;

const IDLE: u32 = 0;
const COPYING: u32 = 1;
const DONE: u32 = 2;

/** The size of values that hold others, which one component may not pass to itself. */
const ALIASED: u32 = 0xffffffff;

/** Is the function that is called one of version 0.3? Files have other types there. */
let isThird = false;

/** The number of the type of the result that the task owes; -1 for none. */
let expected: i32 = -1;
/** The first subtask that is under way. */
let underWay: u32 = 0;
let contexts: u64 = 0;

/** Forgets what an earlier task has left. */
function beginTask(): void {
  expected = -1;
  underWay = 0;
  contexts = 0;
}

/** Takes note that the task gives its result, of the type of this number. */
function returned(type: i32): void {
  if (type != expected) broken();
  expected = -1;
}

function ended(): void {
  log_warn(endOut());
  unreachable();
}

function withoutResult(): void {
  beginOut();
  text("the component's function ended without a result");
  ended();
}

/** Ends the call of a component that does not keep to the canonical ABI. */
function broken(): void {
  beginOut();
  text("the component calls a function of the component model as it may not be called: build it with other versions of its tools");
  ended();
}

function canon_task_cancel(): void {
  // Nobody cancels tasks.
  broken();
}

function canon_context_get(context: u32): u32 {
  return <u32>(contexts >> (context * 32));
}

function canon_context_set(context: u32, value: u32): void {
  const shift = context * 32;
  contexts = (contexts & ~(<u64>0xffffffff << shift)) | (<u64>value << shift);
}

function canon_backpressure_inc(): void {}

function canon_backpressure_dec(): void {}

function canon_thread_yield(): u32 {
  goOn(false);
  return 0;
}

// Waitables and sets of them

function recordOf(index: u32, kind: u32): u32 {
  const record = index << 3;
  if (slot(record, 0) != kind) broken();
  return record;
}

function waitableOf(index: u32): u32 {
  const record = index << 3;
  const kind = slot(record, 0);
  if (kind != TIMED && kind != SENDING && kind != END) broken();
  return record;
}

function canon_waitable_set_new(): u32 {
  return make(SET) >> 3;
}

function canon_waitable_set_drop(index: u32): void {
  const set = recordOf(index, SET);
  if (slot(set, 2) != 0) broken();
  kfree(addressOf(set));
}

function canon_waitable_join(index: u32, to: u32): void {
  const waitable = waitableOf(index);
  leave(waitable);
  if (to != 0) enter(recordOf(to, SET), waitable);
}

function leave(waitable: u32): void {
  let before = slot(waitable, 1);
  if (before == 0) return;
  while (slot(before, 2) != waitable) before = slot(before, 2);
  setSlot(before, 2, slot(waitable, 2));
  setSlot(waitable, 1, 0);
}

/** Adds a waitable as the last, so that each has its turn. */
function enter(set: u32, waitable: u32): void {
  let last = set;
  while (slot(last, 2) != 0) last = slot(last, 2);
  setSlot(last, 2, waitable);
  setSlot(waitable, 1, set);
  setSlot(waitable, 2, 0);
}

let eventCode: u32 = 0;
let eventOf: u32 = 0;
let eventPayload: u32 = 0;

/** Takes an event in a set, if there is one. */
function hasEvent(set: u32): bool {
  eventCode = 0;
  eventOf = 0;
  eventPayload = 0;
  for (let at = slot(set, 2); at != 0; at = slot(at, 2)) {
    if (slot(at, 3) == 0) continue;
    eventCode = slot(at, 3);
    eventOf = at >> 3;
    eventPayload = takeEvent(at);
    leave(at);
    enter(set, at);
    return true;
  }
  return false;
}

/** The payload of the event of a waitable, which it has no more. */
function takeEvent(waitable: u32): u32 {
  const payload = slot(waitable, 4);
  const code = slot(waitable, 3);
  setSlot(waitable, 3, 0);
  if (code >= FUTURE_READ) setSlot(waitable, 9, payload == CANCELLED ? IDLE : DONE);
  else if (code != SUBTASK) setSlot(waitable, 9, (payload & 15) == DROPPED ? DONE : IDLE);
  return payload;
}

/** Waits for what the code says that a function of the task has ended with. */
function awaitEvent(code: u32): void {
  const kind = code & 15;
  if (kind == 1) {
    goOn(false);
    eventCode = 0;
    eventOf = 0;
    eventPayload = 0;
  } else if (kind == 2) waitIn(recordOf(code >> 4, SET));
  else broken();
}

let events: u32 = 0;

function waitIn(set: u32): void {
  // Parts of a component that wait for each other only do not hold up the rest.
  if ((++events & 15) == 0) goOn(false);
  while (!hasEvent(set)) waitMore();
}

function waitMore(): void {
  if (goOn(true)) return;
  beginOut();
  text("the component waits for what never comes: nothing is under way");
  ended();
}

function canon_waitable_set_wait(index: u32, to: u32): u32 {
  waitIn(recordOf(index, SET));
  return putEvent(to);
}

function canon_waitable_set_poll(index: u32, to: u32): u32 {
  const set = recordOf(index, SET);
  if (!hasEvent(set) && goOn(false)) hasEvent(set);
  return putEvent(to);
}

function putEvent(to: u32): u32 {
  store<u32>(to, eventOf);
  store<u32>(to, eventPayload, 4);
  return eventCode;
}

// Subtasks

/** A subtask that ends later, whose result is put `to` an address. */
function subtask(kind: u32, what: u64, to: u32): u32 {
  const made = make(kind);
  setSlot(made, 5, underWay);
  setSlot(made, 6, what);
  setSlot(made, 7, to);
  setSlot(made, 8, which);
  underWay = made;
  return made;
}

/** The state of a call with the index of its subtask. */
function begun(made: u32): u32 {
  return STARTED | (made << 1);
}

/** Waits for a subtask in a call that waits. */
function endOf(made: u32): void {
  while (slot(made, 3) == 0) waitMore();
  kfree(addressOf(made));
}

/** Goes on with what is under way; only with what need not be waited for, unless it `waits`. False if there was nothing. */
function goOn(waits: bool): bool {
  let first = u64.MAX_VALUE;
  let timed: u32 = 0;
  let unfinished: u32 = 0;
  for (let at = underWay; at != 0; at = slot(at, 5)) {
    if (slot(at, 0) == SENDING) {
      if (isWhole(slot(slot(at, 6), 1))) return finish(at);
      unfinished = at;
    } else if (timed == 0 || wideSlot(at, 6) <= first) {
      timed = at;
      first = wideSlot(at, 6);
    }
  }
  if (timed != 0 && (waits || nowOf(1) >= first)) {
    waitUntil(first);
    return finish(timed);
  }
  // The rest of its body may depend on the response: it gets what there is.
  return waits && unfinished != 0 && finish(unfinished);
}

function finish(made: u32): bool {
  remove(made);
  setSlot(made, 3, SUBTASK);
  setSlot(made, 4, RETURNED);
  if (slot(made, 0) == SENDING) {
    const before = which;
    which = slot(made, 8);
    respond(slot(made, 6), slot(made, 7));
    which = before;
  }
  return true;
}

function remove(made: u32): void {
  if (underWay == made) underWay = slot(made, 5);
  let before = underWay;
  while (before != 0 && slot(before, 5) != made) before = slot(before, 5);
  if (before != 0) setSlot(before, 5, slot(made, 5));
}

function subtaskOf(index: u32): u32 {
  const made = waitableOf(index);
  if (slot(made, 0) == END) broken();
  return made;
}

function canon_subtask_cancel(index: u32): u32 {
  const made = subtaskOf(index);
  // One whose end is known cannot be cancelled.
  if (slot(made, 4) != 0) {
    if (slot(made, 3) == 0) broken();
    return takeEvent(made);
  }
  remove(made);
  setSlot(made, 4, CANCELLED_BEFORE_RETURNED);
  return CANCELLED_BEFORE_RETURNED;
}

function canon_subtask_drop(index: u32): void {
  const made = subtaskOf(index);
  if (slot(made, 4) == 0 || slot(made, 3) != 0) broken();
  leave(made);
  kfree(addressOf(made));
}

// Streams and futures

function endOfKind(index: u32, code: u32): u32 {
  const end = recordOf(index, END);
  if (slot(end, 11) != code) broken();
  return end;
}

function newEnd(code: u32): u32 {
  const end = make(END);
  setSlot(end, 11, code);
  return end;
}

function newEnds(reader: u32): u64 {
  const from = newEnd(reader);
  const to = newEnd(reader + 1);
  setSlot(from, 5, to);
  setSlot(to, 5, from);
  return (<u64>(to >> 3) << 32) | (from >> 3);
}

function canon_stream_new(): u64 {
  return newEnds(STREAM_READ);
}

function canon_future_new(): u64 {
  return newEnds(FUTURE_READ);
}

function canon_stream_read(index: u32, place: u32, count: u32, size: u32, isAsync: u32): u32 {
  return copied(endOfKind(index, STREAM_READ), place, count, size, isAsync);
}

function canon_stream_write(index: u32, place: u32, count: u32, size: u32, isAsync: u32): u32 {
  return copied(endOfKind(index, STREAM_WRITE), place, count, size, isAsync);
}

function canon_future_read(index: u32, place: u32, size: u32, isAsync: u32): u32 {
  return copied(endOfKind(index, FUTURE_READ), place, 1, size, isAsync);
}

function canon_future_write(index: u32, place: u32, size: u32, isAsync: u32): u32 {
  return copied(endOfKind(index, FUTURE_WRITE), place, 1, size, isAsync);
}

function copied(end: u32, place: u32, count: u32, size: u32, isAsync: u32): u32 {
  if (slot(end, 9) != IDLE || count >= 1 << 28) broken();
  setSlot(end, 6, place);
  setSlot(end, 7, count);
  setSlot(end, 8, 0);
  setSlot(end, 9, COPYING);
  copy(end, size);
  if (slot(end, 3) == 0 && isAsync != 0) return BLOCKED;
  while (slot(end, 3) == 0) waitMore();
  return takeEvent(end);
}

function isReader(end: u32): bool {
  return (slot(end, 11) & 1) == 0;
}

/** Does an end wait for the other one? */
function isWaiting(end: u32): bool {
  return slot(end, 9) == COPYING && slot(end, 3) == 0;
}

function complete(end: u32, outcome: u32): void {
  const code = slot(end, 11);
  setSlot(end, 3, code);
  setSlot(end, 4, code >= FUTURE_READ ? outcome : outcome | (slot(end, 8) << 4));
}

/** Passes on what can be passed on now. */
function copy(end: u32, size: u32): void {
  const other = slot(end, 5);
  if (isReader(end) && slot(end, 10) != 0) return fill(end);
  if (other == 0) return complete(end, DROPPED);
  if (slot(other, 10) != 0) return empty(end, slot(other, 10));
  if (!isWaiting(other)) return;
  if (size == ALIASED) {
    beginOut();
    text("the component reads what it writes itself: within one, only numbers can be passed on");
    return ended();
  }
  const count = min(slot(end, 7), slot(other, 7));
  // What waits with an empty buffer is told that the other end is there.
  if (slot(other, 7) == 0) {
    if (isReader(end) || slot(end, 7) > 0) return complete(other, COMPLETED);
  } else if (count > 0) {
    const from = isReader(end) ? other : end;
    const to = isReader(end) ? end : other;
    memory.copy(slot(to, 6), slot(from, 6), count * size);
    setSlot(end, 8, count);
    setSlot(other, 8, count);
    complete(other, COMPLETED);
  }
  complete(end, COMPLETED);
}

function cancelled(end: u32): u32 {
  if (slot(end, 9) != COPYING) broken();
  if (slot(end, 3) == 0) complete(end, CANCELLED);
  return takeEvent(end);
}

function canon_stream_cancel_read(index: u32): u32 {
  return cancelled(endOfKind(index, STREAM_READ));
}

function canon_stream_cancel_write(index: u32): u32 {
  return cancelled(endOfKind(index, STREAM_WRITE));
}

function canon_future_cancel_read(index: u32): u32 {
  return cancelled(endOfKind(index, FUTURE_READ));
}

function canon_future_cancel_write(index: u32): u32 {
  return cancelled(endOfKind(index, FUTURE_WRITE));
}

function canon_stream_drop_readable(index: u32): void {
  dropEnd(endOfKind(index, STREAM_READ));
}

function canon_stream_drop_writable(index: u32): void {
  dropEnd(endOfKind(index, STREAM_WRITE));
}

function canon_future_drop_readable(index: u32): void {
  dropEnd(endOfKind(index, FUTURE_READ));
}

function canon_future_drop_writable(index: u32): void {
  const end = endOfKind(index, FUTURE_WRITE);
  // A future has a value in the end, unless nobody wants it.
  if (slot(end, 9) != DONE) broken();
  dropEnd(end);
}

function dropEnd(end: u32): void {
  if (slot(end, 9) == COPYING) broken();
  leave(end);
  const other = slot(end, 5);
  if (isReader(end) && slot(end, 10) != 0) giveUp(slot(end, 10));
  else if (other != 0) {
    setSlot(other, 5, 0);
    if (slot(other, 10) != 0) close(other);
    else if (isWaiting(other)) complete(other, DROPPED);
  }
  kfree(addressOf(end));
}

// What the server gives and takes at the other end.
//
// An outcome, of a `result` with an error code: 1 is it known, 2 error code and 1 more, or 0, 3 offset of the code in the
// result, 4 end that reads it
// A source is of the kind `BYTES`, `FILE` or `ENTRIES`, with 6 its outcome.
// A sink: 1 stream of version 0.2 or 0, 6 its outcome

/** A reader of what the server gives. */
function readerOf(code: u32, source: u32): u32 {
  const end = newEnd(code);
  setSlot(end, 10, source);
  return end;
}

/** Puts a stream and the future of its outcome. */
function putStream(to: u32, source: u32, offset: u32): void {
  const reader = outcomeReader(offset);
  setSlot(source, 6, slot(reader, 10));
  store<u32>(to, readerOf(STREAM_READ, source) >> 3);
  store<u32>(to, reader >> 3, 4);
}

/** A reader of an outcome that is not known yet. */
function outcomeReader(offset: u32): u32 {
  const outcome = make(OUTCOME);
  const reader = readerOf(FUTURE_READ, outcome);
  setSlot(outcome, 3, offset);
  setSlot(outcome, 4, reader);
  return reader;
}

/** Tells the outcome in a slot of a record, once: an error code and 1 more, or 0. */
function resolve(record: u32, index: u32, error: u32): void {
  const outcome = slot(record, index);
  if (outcome == 0) return;
  setSlot(record, index, 0);
  setSlot(outcome, 1, 1);
  setSlot(outcome, 2, error);
  const reader = slot(outcome, 4);
  if (reader == 0) kfree(addressOf(outcome));
  else if (isWaiting(reader)) fill(reader);
}

/** Fills the buffer of a reader with what the server gives. */
function fill(reader: u32): void {
  const source = slot(reader, 10);
  const place = slot(reader, 6);
  if (slot(source, 0) == OUTCOME) {
    if (slot(source, 1) == 0) return;
    const error = slot(source, 2);
    const offset = slot(source, 3);
    store<u8>(place, error != 0);
    // The first case of an option is "none": so is the content of every code that is given.
    store<u8>(place + offset, error != 0 ? error - 1 : 0);
    if (offset > 1 && error != 0) store<u8>(place + offset * 2, 0);
    return complete(reader, COMPLETED);
  }
  if (slot(reader, 7) == 0) return complete(reader, COMPLETED);
  const count = take(source, place, slot(reader, 7));
  setSlot(reader, 8, count);
  complete(reader, count == 0 ? DROPPED : COMPLETED);
}

/** Takes values of a source; none at its end. */
function take(source: u32, place: u32, most: u32): u32 {
  const kind = slot(source, 0);
  if (kind == ENTRIES) return takeEntries(source, place, most);
  if (kind == BYTES) return takeBytes(source, place, most);
  const offset = wideSlot(source, 2);
  const error = readFile(slot(source, 1), offset, place, most);
  if (error != 0 || moved == 0) resolve(source, 6, thirdCode(error));
  setSlot(source, 2, offset + moved);
  return moved;
}

/** Forgets what the server gives. */
function giveUp(source: u32): void {
  const kind = slot(source, 0);
  if (kind == OUTCOME) {
    if (slot(source, 1) != 0) kfree(addressOf(source));
    else setSlot(source, 4, 0);
    return;
  }
  resolve(source, 6, 0);
  if (kind == ENTRIES) kfree(slot(source, 3));
  kfree(addressOf(source));
}

/** What takes the values of a stream and writes them to one of version 0.2, or to nothing. */
function sinkOf(stream: u32, outcome: u32 = 0): u32 {
  const sink = make(SINK, stream);
  setSlot(sink, 6, outcome);
  return sink;
}

/** Takes the values in the buffer of a writer. */
function empty(writer: u32, sink: u32): void {
  const count = slot(writer, 7);
  const error = slot(sink, 1) == 0 ? 0 : writeTo(slot(sink, 1), slot(writer, 6), count);
  if (error != 0) {
    resolve(sink, 6, thirdCode(error));
    return complete(writer, DROPPED);
  }
  setSlot(writer, 8, count);
  complete(writer, COMPLETED);
}

/** Ends what the server takes from a reader that it was given. */
function close(reader: u32): void {
  closeSink(slot(reader, 10));
  kfree(addressOf(reader));
}

function closeSink(sink: u32): void {
  const stream = slot(sink, 1);
  if (kindOf(stream) == BODY) setSlot(slot(stream, 1), 4, 1);
  resolve(sink, 6, 0);
  if (stream != 0 && isRecord(stream)) kfree(addressOf(stream));
  kfree(addressOf(sink));
}

/** Gives the server the reader of a stream or future, whose values a sink takes. */
function handOver(index: u32, sink: u32): void {
  const reader = recordOf(index, END);
  if (!isReader(reader) || slot(reader, 9) != IDLE) broken();
  leave(reader);
  const source = slot(reader, 10);
  const writer = slot(reader, 5);
  setSlot(reader, 10, sink);
  if (source != 0) {
    drain(source, sink);
    close(reader);
  } else if (writer == 0) close(reader);
  else if (isWaiting(writer)) empty(writer, sink);
}

/** Passes on what the server gives itself, as a response's body. */
function drain(source: u32, sink: u32): void {
  const stream = slot(sink, 1);
  if (slot(source, 0) == OUTCOME || stream == 0) return giveUp(source);
  borrowScratch();
  while (true) {
    const count = take(source, SCRATCH, SCRATCH_BYTES);
    if (count == 0) break;
    const error = writeTo(stream, SCRATCH, count);
    if (error == 0) continue;
    resolve(sink, 6, thirdCode(error));
    break;
  }
  giveScratchBack();
  giveUp(source);
}

// wasi:cli 0.3

function wasi3_cli_environment_get_initial_cwd(to: u32): void {
  store<u8>(to, 0);
}

function wasi3_cli_stdin_read_via_stream(to: u32): void {
  putStream(to, make(BYTES), 1);
}

function writeVia(stream: u32, index: u32, offset: u32): u32 {
  const reader = outcomeReader(offset);
  handOver(index, sinkOf(stream, slot(reader, 10)));
  return reader >> 3;
}

function wasi3_cli_stdout_write_via_stream(index: u32): u32 {
  return writeVia(2, index, 1);
}

function wasi3_cli_stderr_write_via_stream(index: u32): u32 {
  return writeVia(3, index, 1);
}

// wasi:clocks 0.3

function wasi3_clocks_monotonic_clock_get_resolution(): u64 {
  return wasi_clocks_monotonic_clock_resolution();
}

function wasi3_clocks_system_clock_now(to: u32): void {
  wasi_clocks_wall_clock_now(to);
}

function wasi3_clocks_system_clock_get_resolution(): u64 {
  return wasi_clocks_monotonic_clock_resolution();
}

function begin3_clocks_monotonic_clock_wait_until(when: u64): u32 {
  return subtask(TIMED, when, 0);
}

function begin3_clocks_monotonic_clock_wait_for(duration: u64): u32 {
  const now = nowOf(1);
  return subtask(TIMED, duration > <u64>-1 - now ? <u64>-1 : now + duration, 0);
}

function wasi3_clocks_monotonic_clock_wait_until(when: u64): void {
  endOf(begin3_clocks_monotonic_clock_wait_until(when));
}

function wasi3_clocks_monotonic_clock_wait_for(duration: u64): void {
  endOf(begin3_clocks_monotonic_clock_wait_for(duration));
}

// wasi:random 0.3

function wasi3_random_insecure_seed_get_insecure_seed(to: u32): void {
  wasi_random_insecure_seed_insecure_seed(to);
}

// wasi:filesystem 0.3. Error codes are without `would-block` there, and have a content.

function thirdOf(code: u32): u32 {
  return code == 0 ? 0 : code == 1 ? 36 : code - 1;
}

/** The error code of an outcome, and 1 more. */
function thirdCode(error: u32): u32 {
  return error == 0 ? 0 : thirdOf(codeOf(error)) + 1;
}

function wasi3_filesystem_types_descriptor_read_via_stream(descriptor: u32, offset: u64, to: u32): void {
  putStream(to, make(FILE, fdOf(descriptor), offset), 4);
}

function wasi3_filesystem_types_descriptor_write_via_stream(descriptor: u32, index: u32, offset: u64): u32 {
  return writeVia(make(FILE, fdOf(descriptor), offset), index, 4);
}

function wasi3_filesystem_types_descriptor_append_via_stream(descriptor: u32, index: u32): u32 {
  return writeVia(make(APPEND, fdOf(descriptor)), index, 4);
}

function wasi3_filesystem_types_descriptor_read_directory(descriptor: u32, to: u32): void {
  putStream(to, make(ENTRIES, fdOf(descriptor)), 4);
}

function takeEntries(stream: u32, place: u32, most: u32): u32 {
  let count: u32 = 0;
  for (; count < most && nextEntry(stream); count++) {
    const to = place + count * 24;
    putThirdType(to, entryType);
    putList(to + 16, fromKernel(entryName, entryLength), entryLength);
  }
  if (count == 0) resolve(stream, 6, thirdCode(entryError));
  return count;
}

function putThirdType(to: u32, type: u32): void {
  store<u8>(to, type == 0 ? 7 : type - 1);
  store<u8>(to, 0, 4);
}

// wasi:http 0.3. The slots of requests and responses are those of version 0.2; of a request, too: 10 the case of its method,
// 11 the outcome of sending it.

/** The offset of an error code in a result. */
const ERROR_CODE: u32 = 8;

function wasi3_http_types_fields_get_and_delete(fields: u32, name: u32, length: u32, to: u32): void {
  store<u8>(to, 0);
  wasi_http_types_fields_get(fields, name, length, to + 4);
  const list = load<u64>(to, 4);
  wasi_http_types_fields_delete(fields, name, length, to);
  store<u64>(to, list, 4);
}

function wasi3_http_types_fields_copy_all(fields: u32, to: u32): void {
  wasi_http_types_fields_entries(fields, to);
}

function wasi3_http_types_request_new(headers: u32, hasContents: u32, contents: u32, trailers: u32, _hasOptions: u32, _options: u32, to: u32): void {
  const request = wasi_http_types_outgoing_request_constructor(headers);
  if (hasContents != 0) {
    const body = make(OTHER);
    setSlot(request, 9, body);
    handOver(contents, sinkOf(make(BODY, body)));
  }
  handOver(trailers, sinkOf(0));
  const reader = outcomeReader(ERROR_CODE);
  setSlot(request, 11, slot(reader, 10));
  store<u32>(to, request);
  store<u32>(to, reader >> 3, 4);
}

function putText(to: u32, request: u32, index: u32): void {
  const length = slot(request, index + 1);
  store<u8>(to, length > 0);
  if (length > 0) putList(to + 4, fromKernel(slot(request, index), length), length);
}

function wasi3_http_types_request_get_method(request: u32, to: u32): void {
  const method = slot(request, 10);
  store<u8>(to, method);
  const length = slot(request, 3);
  if (method == 9) putList(to + 4, fromKernel(slot(request, 2), length), length);
}

function wasi3_http_types_request_set_method(request: u32, method: u32, from: u32, length: u32): u32 {
  setSlot(request, 10, method);
  return wasi_http_types_outgoing_request_set_method(request, method, from, length);
}

function wasi3_http_types_request_get_path_with_query(request: u32, to: u32): void {
  putText(to, request, 4);
}

function wasi3_http_types_request_set_path_with_query(request: u32, is: u32, from: u32, length: u32): u32 {
  return wasi_http_types_outgoing_request_set_path_with_query(request, is, from, length);
}

function wasi3_http_types_request_get_scheme(request: u32, to: u32): void {
  store<u8>(to, 1);
  store<u8>(to, slot(request, 6), 4);
}

function wasi3_http_types_request_set_scheme(request: u32, is: u32, scheme: u32, from: u32, length: u32): u32 {
  return wasi_http_types_outgoing_request_set_scheme(request, is, scheme, from, length);
}

function wasi3_http_types_request_get_authority(request: u32, to: u32): void {
  putText(to, request, 7);
}

function wasi3_http_types_request_set_authority(request: u32, is: u32, from: u32, length: u32): u32 {
  return wasi_http_types_outgoing_request_set_authority(request, is, from, length);
}

function wasi3_http_types_request_get_options(_request: u32, to: u32): void {
  store<u8>(to, 0);
}

function wasi3_http_types_request_get_headers(request: u32): u32 {
  return copyOf(slot(request, 1));
}

function wasi3_http_types_request_options_set_connect_timeout(_options: u32, _is: u32, _duration: u64, to: u32): void {
  store<u8>(to, 0);
}

function wasi3_http_types_request_options_set_first_byte_timeout(_options: u32, _is: u32, _duration: u64, to: u32): void {
  store<u8>(to, 0);
}

function wasi3_http_types_request_options_set_between_bytes_timeout(_options: u32, _is: u32, _duration: u64, to: u32): void {
  store<u8>(to, 0);
}

function wasi3_http_types_request_options_get_connect_timeout(_options: u32, to: u32): void {
  store<u8>(to, 0);
}

function wasi3_http_types_request_options_get_first_byte_timeout(_options: u32, to: u32): void {
  store<u8>(to, 0);
}

function wasi3_http_types_request_options_get_between_bytes_timeout(_options: u32, to: u32): void {
  store<u8>(to, 0);
}

function wasi3_http_types_request_options_clone(_options: u32): u32 {
  return make(OTHER);
}

function begin3_http_client_send(request: u32, to: u32): u32 {
  return subtask(SENDING, make(OTHER, request), to);
}

function wasi3_http_client_send(request: u32, to: u32): void {
  endOf(begin3_http_client_send(request, to));
}

/** Sends a request, whose future it is given, and puts the response. */
function respond(future: u32, to: u32): void {
  if (!HAS_HTTP) return;
  send(future);
  const request = slot(future, 1);
  const failed = slot(future, 2) == FAILED;
  store<u8>(to, failed);
  if (failed) putHttpError(to + ERROR_CODE, future);
  else store<u32>(to, future, ERROR_CODE);
  resolve(request, 11, failed ? INTERNAL_ERROR + 1 : 0);
}

function wasi3_http_types_response_get_status_code(response: u32): u32 {
  return slot(response, 3);
}

function wasi3_http_types_response_get_headers(response: u32): u32 {
  return copyOf(slot(response, 4));
}

function wasi3_http_types_response_consume_body(response: u32, outcome: u32, to: u32): void {
  handOver(outcome, sinkOf(0));
  const source = make(BYTES, slot(response, 5), slot(response, 6));
  putStream(to, source, ERROR_CODE);
  resolve(source, 6, 0);
}
