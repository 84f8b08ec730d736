// Tasks, subtasks, streams and futures of the component model, as its canonical ABI defines them:
// https://github.com/WebAssembly/component-model/blob/main/design/mvp/CanonicalABI.md
//
// There is one task, the call. An asynchronous import makes a subtask, a timer or a request, and nothing runs in the
// background: when the task waits, `progress` resolves one subtask by a host function that waits, and sets the event of it.
//
// A stream or future has two ends. The peer of a component's end is another end of the component (`stream.new`), a source that
// the host reads from (a file, a body) or a sink that the host writes to (the log, the body of a request). `copy` tells them
// apart.
//
// Core modules import `canon_X`, a built-in of the component model, `wasi3_X`, a function of WASI 0.3, and `begin3_X`, its
// asynchronous form, which returns a subtask. Parameters named `context`, `code`, `size` and `isAsync`, and the `length` of a
// future, are not imported: imports.ts fills them in, as the component defines them.
//
// The index of a handle is its record without the lowest three bits, which are 0: 28 bits, as the component model requires.

// Slots of a set and of a waitable: the set that it is in, and the next in that set.
const SET_OF: u32 = 1;
const NEXT: u32 = 2;
/** Code of the event that is pending, or 0. */
const EVENT: u32 = 3;
const PAYLOAD: u32 = 4;

// Slots of a subtask, which is a waitable. Its payload is its state, 0 while it is pending.
const SUBTASK_NEXT: u32 = 5;
/** Of a timer, in nanoseconds of the monotonic clock. */
const SUBTASK_DEADLINE: u32 = 6;
/** Of a request: where `send` puts the response. */
const SUBTASK_RESPONSE: u32 = 6;
/** Address of the result. */
const SUBTASK_RESULT: u32 = 7;
/** The `currentRealloc` for its result. */
const SUBTASK_REALLOC: u32 = 8;

// Slots of an end of a stream or future, which is a waitable.
/** The other end, if it is the component's: 0 if it is dropped. */
const PEER: u32 = 5;
const BUFFER: u32 = 6;
/** Elements that the buffer holds, and those of them that were copied. */
const LENGTH: u32 = 7;
const PROGRESS: u32 = 8;
const STATE: u32 = 9;
/** Of a readable end: a source (see `take`) or an outcome of the host; or, if the host reads it, a sink. */
const HOST: u32 = 10;
/** Code of its events, which tells what kind of end it is. */
const CODE: u32 = 11;

const EVENT_NONE: u32 = 0;
const EVENT_SUBTASK: u32 = 1;
const EVENT_STREAM_READ: u32 = 2;
const EVENT_FUTURE_READ: u32 = 4;

const STARTED: u32 = 1;
const RETURNED: u32 = 2;
const CANCELLED_BEFORE_RETURNED: u32 = 4;

const YIELD: u32 = 1;
const WAIT: u32 = 2;

const IDLE: u32 = 0;
const COPYING: u32 = 1;
const DONE: u32 = 2;

const COMPLETED: u32 = 0;
const DROPPED: u32 = 1;
const CANCELLED: u32 = 2;
const BLOCKED: u32 = 0xffffffff;

/** The size of elements other than numbers, which a component may not pass to itself. */
const ALIASED: u32 = 0xffffffff;

// The task

/** The number of the type of the result that the task has to give; -1 for none. */
let expectedResult: i32 = -1;
/** The list of subtasks that have not resolved, the newest first. */
let pendingSubtasks: u32 = 0;
/** Two values of 32 bits. */
let contexts: u64 = 0;

function beginTask(): void {
  expectedResult = -1;
  contexts = 0;
}

/** Checks that the task has to give a result of this type. */
function checkTaskReturn(type: i32): void {
  if (type != expectedResult) trap("task.return: the function has another result, or none, or has given it already");
  expectedResult = -1;
}

function checkTaskExit(): void {
  if (expectedResult >= 0) trap("the function has exited without calling task.return");
}

/** Writes the beginning of a message about a rule of the component model. */
function beginTrap(): void {
  beginOut();
  text("the component broke a rule of the component model, so rebuild it with newer tools: ");
}

function abortCall(): void {
  log_warn(endOut());
  unreachable();
}

function canon_task_cancel(): void {
  trap("task.cancel: the task was not cancelled");
}

function canon_context_get(context: u32): u32 {
  return <u32>(contexts >> (context * 32));
}

function canon_context_set(context: u32, value: u32): void {
  const shift = context * 32;
  contexts = (contexts & ~(<u64>0xffffffff << shift)) | (<u64>value << shift);
}

// Backpressure is for tasks that run at the same time.

function canon_backpressure_inc(): void {}

function canon_backpressure_dec(): void {}

function canon_thread_yield(): u32 {
  progress(false);
  return 0;
}

let eventCode: u32 = 0;
/** Index of the waitable. */
let eventOf: u32 = 0;
let eventPayload: u32 = 0;

/** Waits for the event that the task has asked for: by a code, and the index of a set. */
function awaitEvent(asked: u32): void {
  const code = asked & 15;
  if (code == WAIT) return waitIn(recordOf(asked >> 4, SET));
  if (code != YIELD) trap("a callback has returned a code that is not EXIT, YIELD or WAIT");
  progress(false);
  setEvent(EVENT_NONE, 0, 0);
}

function setEvent(code: u32, index: u32, payload: u32): void {
  eventCode = code;
  eventOf = index;
  eventPayload = payload;
}

// Waitables and sets of waitables

function recordOf(index: u32, kind: u32): u32 {
  const record = index << 3;
  if (slot(record, 0) != kind) trap("a handle is of another kind, or was dropped");
  return record;
}

function waitableOf(index: u32): u32 {
  const record = index << 3;
  const kind = slot(record, 0);
  if (kind != TIMER_SUBTASK && kind != REQUEST_SUBTASK && kind != COPY_END) trap("a handle is not one of a waitable, or was dropped");
  return record;
}

function canon_waitable_set_new(): u32 {
  return make(SET) >> 3;
}

function canon_waitable_set_drop(index: u32): void {
  const set = recordOf(index, SET);
  if (slot(set, NEXT) != 0) trap("waitable-set.drop: the set still has waitables");
  kfree(addressOf(set));
}

function canon_waitable_join(index: u32, to: u32): void {
  const waitable = waitableOf(index);
  leaveSet(waitable);
  if (to != 0) joinSet(recordOf(to, SET), waitable);
}

function leaveSet(waitable: u32): void {
  let before = slot(waitable, SET_OF);
  if (before == 0) return;
  while (slot(before, NEXT) != waitable) before = slot(before, NEXT);
  setSlot(before, NEXT, slot(waitable, NEXT));
  setSlot(waitable, SET_OF, 0);
}

/** Adds a waitable as the last of a set, so that each has its turn. */
function joinSet(set: u32, waitable: u32): void {
  let last = set;
  while (slot(last, NEXT) != 0) last = slot(last, NEXT);
  setSlot(last, NEXT, waitable);
  setSlot(waitable, SET_OF, set);
  setSlot(waitable, NEXT, 0);
}

/** Takes a pending event of a set, if there is one. */
function nextEvent(set: u32): bool {
  for (let waitable = slot(set, NEXT); waitable != 0; waitable = slot(waitable, NEXT)) {
    const code = slot(waitable, EVENT);
    if (code == 0) continue;
    setEvent(code, waitable >> 3, takePendingEvent(waitable));
    leaveSet(waitable);
    joinSet(set, waitable);
    return true;
  }
  setEvent(EVENT_NONE, 0, 0);
  return false;
}

/** Takes the pending event of a waitable and gives its payload. */
function takePendingEvent(waitable: u32): u32 {
  const code = slot(waitable, EVENT);
  const payload = slot(waitable, PAYLOAD);
  setSlot(waitable, EVENT, 0);
  if (code >= EVENT_FUTURE_READ) setSlot(waitable, STATE, payload == CANCELLED ? IDLE : DONE);
  else if (code != EVENT_SUBTASK) setSlot(waitable, STATE, (payload & 15) == DROPPED ? DONE : IDLE);
  return payload;
}

let waits: u32 = 0;

function waitIn(set: u32): void {
  // Parts of a component that exchange events with each other must not starve its timers and requests.
  if ((++waits & 15) == 0) progress(false);
  while (!nextEvent(set)) waitForProgress();
}

function waitForProgress(): void {
  if (progress(true)) return;
  beginOut();
  text("the component waits for an event that cannot come, as no timer or request is pending: write to the other end of the stream or future that it reads, or drop that end");
  abortCall();
}

function canon_waitable_set_wait(index: u32, to: u32): u32 {
  waitIn(recordOf(index, SET));
  return putEvent(to);
}

function canon_waitable_set_poll(index: u32, to: u32): u32 {
  const set = recordOf(index, SET);
  if (!nextEvent(set) && progress(false)) nextEvent(set);
  return putEvent(to);
}

function putEvent(to: u32): u32 {
  store<u32>(to, eventOf);
  store<u32>(to, eventPayload, 4);
  return eventCode;
}

// Subtasks

/** A pending subtask whose result is put at an address. */
function newSubtask(kind: u32, what: u64, result: u32): u32 {
  const subtask = make(kind);
  setSlot(subtask, SUBTASK_NEXT, pendingSubtasks);
  setSlot(subtask, SUBTASK_DEADLINE, what);
  setSlot(subtask, SUBTASK_RESULT, result);
  setSlot(subtask, SUBTASK_REALLOC, currentRealloc);
  pendingSubtasks = subtask;
  return subtask;
}

/** Packs the value that an asynchronous import returns for a pending subtask: STARTED, and the index of the subtask. */
function packed(subtask: u32): u32 {
  return STARTED | (subtask << 1);
}

/** Waits for a subtask in an import that is not asynchronous. */
function waitForSubtask(subtask: u32): void {
  while (slot(subtask, EVENT) == 0) waitForProgress();
  kfree(addressOf(subtask));
}

function requestOf(subtask: u32): u32 {
  return slot(slot(subtask, SUBTASK_RESPONSE), 1);
}

/**
 * Resolves one pending subtask: the oldest request with a complete body, which waits for the response; else the first
 * timer, if it is over or `mayWait` is true; else the oldest request, if `mayWait` is true. False if none was resolved.
 */
function progress(mayWait: bool): bool {
  let deadline = u64.MAX_VALUE;
  let timer: u32 = 0;
  let whole: u32 = 0;
  let open: u32 = 0;
  for (let subtask = pendingSubtasks; subtask != 0; subtask = slot(subtask, SUBTASK_NEXT)) {
    if (slot(subtask, 0) == REQUEST_SUBTASK) {
      if (isWhole(requestOf(subtask))) whole = subtask;
      else open = subtask;
    } else if (timer == 0 || wideSlot(subtask, SUBTASK_DEADLINE) <= deadline) {
      timer = subtask;
      deadline = wideSlot(subtask, SUBTASK_DEADLINE);
    }
  }
  if (whole != 0) return resolveSubtask(whole);
  if (timer != 0 && (mayWait || nowOf(1) >= deadline)) {
    waitUntil(deadline);
    return resolveSubtask(timer);
  }
  // The rest of the body may depend on the response: send what has been written so far.
  return mayWait && open != 0 && resolveSubtask(open);
}

function resolveSubtask(subtask: u32): bool {
  removePending(subtask);
  if (slot(subtask, 0) == REQUEST_SUBTASK) {
    const before = currentRealloc;
    currentRealloc = slot(subtask, SUBTASK_REALLOC);
    respond(slot(subtask, SUBTASK_RESPONSE), slot(subtask, SUBTASK_RESULT));
    currentRealloc = before;
  }
  setSlot(subtask, EVENT, EVENT_SUBTASK);
  setSlot(subtask, PAYLOAD, RETURNED);
  return true;
}

function removePending(subtask: u32): void {
  if (pendingSubtasks == subtask) pendingSubtasks = slot(subtask, SUBTASK_NEXT);
  let before = pendingSubtasks;
  while (before != 0 && slot(before, SUBTASK_NEXT) != subtask) before = slot(before, SUBTASK_NEXT);
  if (before != 0) setSlot(before, SUBTASK_NEXT, slot(subtask, SUBTASK_NEXT));
}

function subtaskOf(index: u32): u32 {
  const subtask = waitableOf(index);
  if (slot(subtask, 0) == COPY_END) trap("a handle is not one of a subtask");
  return subtask;
}

function canon_subtask_cancel(index: u32): u32 {
  const subtask = subtaskOf(index);
  if (slot(subtask, EVENT) != 0) return takePendingEvent(subtask);
  if (slot(subtask, PAYLOAD) != 0) trap("subtask.cancel: the subtask has resolved");
  removePending(subtask);
  if (slot(subtask, 0) == REQUEST_SUBTASK) abandon(requestOf(subtask));
  setSlot(subtask, PAYLOAD, CANCELLED_BEFORE_RETURNED);
  return CANCELLED_BEFORE_RETURNED;
}

function canon_subtask_drop(index: u32): void {
  const subtask = subtaskOf(index);
  if (slot(subtask, PAYLOAD) == 0 || slot(subtask, EVENT) != 0) trap("subtask.drop: the subtask has not resolved, or its event was not received");
  leaveSet(subtask);
  kfree(addressOf(subtask));
}

// Streams and futures

function endOf(index: u32, code: u32): u32 {
  const end = recordOf(index, COPY_END);
  if (slot(end, CODE) != code) trap("a handle is one of another end of a stream or future");
  return end;
}

function newEnd(code: u32, host: u32 = 0): u32 {
  const end = make(COPY_END);
  setSlot(end, CODE, code);
  setSlot(end, HOST, host);
  return end;
}

/** Makes both ends of a stream or future, whose reads have this event code. */
function canon_new(code: u32): u64 {
  const reader = newEnd(code);
  const writer = newEnd(code + 1);
  setSlot(reader, PEER, writer);
  setSlot(writer, PEER, reader);
  return (<u64>(writer >> 3) << 32) | (reader >> 3);
}

/** Begins to read or write; a future has one element. */
function canon_copy(index: u32, buffer: u32, length: u32, code: u32, size: u32, isAsync: u32): u32 {
  const end = endOf(index, code);
  if (slot(end, STATE) != IDLE) trap("a stream or future is read or written again before that has ended, or after its other end was dropped");
  if (length >= 1 << 28) trap("a stream is read or written in parts of more than 2^28 - 1 elements");
  setSlot(end, BUFFER, buffer);
  setSlot(end, LENGTH, length);
  setSlot(end, PROGRESS, 0);
  setSlot(end, STATE, COPYING);
  copy(end, size);
  if (slot(end, EVENT) == 0 && isAsync != 0) return BLOCKED;
  while (slot(end, EVENT) == 0) waitForProgress();
  return takePendingEvent(end);
}

function canon_cancel(index: u32, code: u32): u32 {
  const end = endOf(index, code);
  if (slot(end, STATE) != COPYING) trap("a read or write is cancelled that is not pending");
  if (slot(end, EVENT) == 0) setCopyEvent(end, CANCELLED);
  return takePendingEvent(end);
}

function canon_drop(index: u32, code: u32): void {
  const end = endOf(index, code);
  if (slot(end, STATE) == COPYING) trap("an end of a stream or future is dropped while it is read or written");
  if (code > EVENT_FUTURE_READ && slot(end, STATE) != DONE) trap("future.drop-writable: the future has no value");
  leaveSet(end);
  const peer = slot(end, PEER);
  if (isReader(end) && slot(end, HOST) != 0) dropSource(slot(end, HOST));
  else if (peer != 0) {
    setSlot(peer, PEER, 0);
    if (slot(peer, HOST) != 0) closeReader(peer);
    else if (isPending(peer)) setCopyEvent(peer, DROPPED);
  }
  kfree(addressOf(end));
}

function isReader(end: u32): bool {
  return (slot(end, CODE) & 1) == 0;
}

/** True if an end has a buffer for its peer. A stream's end keeps a used buffer until its event is received. */
function isPending(end: u32): bool {
  if (slot(end, STATE) != COPYING) return false;
  return slot(end, EVENT) == 0 || (slot(end, CODE) < EVENT_FUTURE_READ && slot(end, PROGRESS) > 0);
}

/** Sets the event of a read or write. */
function setCopyEvent(end: u32, result: u32): void {
  const code = slot(end, CODE);
  setSlot(end, EVENT, code);
  setSlot(end, PAYLOAD, code >= EVENT_FUTURE_READ ? result : result | (slot(end, PROGRESS) << 4));
}

/** Copies what can be copied now between an end and its peer; `size` is that of an element, in bytes. */
function copy(end: u32, size: u32): void {
  const peer = slot(end, PEER);
  if (isReader(end) && slot(end, HOST) != 0) return readFromHost(end);
  if (peer == 0) return setCopyEvent(end, DROPPED);
  if (slot(peer, HOST) != 0) return writeToHost(end, slot(peer, HOST));
  if (!isPending(peer)) return;
  if (size == ALIASED) trap("the component reads a stream or future that it writes itself, whose elements are not numbers");
  const room = slot(peer, LENGTH) - slot(peer, PROGRESS);
  const count = min(slot(end, LENGTH), room);
  if (room == 0) {
    // A peer with an empty buffer only wants to know that this end is there. Of two empty ones, the write completes.
    if (isReader(end) || slot(end, LENGTH) > 0 || slot(peer, LENGTH) > 0) return setCopyEvent(peer, COMPLETED);
  } else if (count > 0) {
    const before = slot(peer, PROGRESS);
    const place = slot(peer, BUFFER) + before * size;
    const own = slot(end, BUFFER);
    memory.copy(isReader(end) ? own : place, isReader(end) ? place : own, count * size);
    setSlot(end, PROGRESS, count);
    setSlot(peer, PROGRESS, before + count);
    setCopyEvent(peer, COMPLETED);
  }
  setCopyEvent(end, COMPLETED);
}

// Sources and sinks of the host
//
// A source has the kind `BYTES`, `FILE` or `ENTRIES`.

/** Slot of a source or sink: its outcome, if that is not known yet. */
const OUTCOME_OF: u32 = 6;

// Slots of an outcome, which is a `result` with an error code and without another value.
const OUTCOME_KNOWN: u32 = 1;
/** The error code and 1 more, or 0. */
const OUTCOME_ERROR: u32 = 2;
/** The offset of the error code in the result; what the code holds follows at twice that. */
const OUTCOME_OFFSET: u32 = 3;
/** The readable end, 0 if it is dropped. */
const OUTCOME_READER: u32 = 4;

/** Offset of the error code in results of `wasi:cli`, `wasi:filesystem` and `wasi:http`. */
const CLI_ERROR: u32 = 1;
const FILE_ERROR: u32 = 4;
const HTTP_ERROR: u32 = 8;

// Slots of a sink.
/** An output stream of version 0.2, or 0 for a future. */
const SINK_STREAM: u32 = 1;
/** The body that a future of trailers belongs to, or 0. */
const SINK_BODY: u32 = 2;

/** A readable end of an outcome that is not known yet. */
function newOutcome(offset: u32): u32 {
  const outcome = make(OUTCOME);
  const reader = newEnd(EVENT_FUTURE_READ, outcome);
  setSlot(outcome, OUTCOME_OFFSET, offset);
  setSlot(outcome, OUTCOME_READER, reader);
  return reader;
}

/** Sets the outcome in a slot of a record to an error code and 1 more, or 0. Does nothing if it is known. */
function setOutcome(record: u32, index: u32, error: u32): void {
  const outcome = slot(record, index);
  if (outcome == 0) return;
  setSlot(record, index, 0);
  setSlot(outcome, OUTCOME_KNOWN, 1);
  setSlot(outcome, OUTCOME_ERROR, error);
  const reader = slot(outcome, OUTCOME_READER);
  if (reader == 0) kfree(addressOf(outcome));
  else if (isPending(reader)) readFromHost(reader);
}

/** Puts a stream from a source, and the future of its outcome. */
function putStream(to: u32, source: u32, offset: u32): void {
  const outcome = newOutcome(offset);
  setSlot(source, OUTCOME_OF, slot(outcome, HOST));
  store<u32>(to, newEnd(EVENT_STREAM_READ, source) >> 3);
  store<u32>(to, outcome >> 3, 4);
}

/** Puts a stream of bytes in a block of the kernel, whose outcome is known to be no error. */
function putBytes(to: u32, block: u32, length: u32, offset: u32): void {
  const source = make(BYTES, block, length);
  putStream(to, source, offset);
  setOutcome(source, OUTCOME_OF, 0);
}

function readFromHost(reader: u32): void {
  const source = slot(reader, HOST);
  const buffer = slot(reader, BUFFER);
  const length = slot(reader, LENGTH);
  if (slot(source, 0) == OUTCOME) {
    if (slot(source, OUTCOME_KNOWN) != 0) putOutcome(source, buffer, reader);
  } else if (length == 0) setCopyEvent(reader, COMPLETED);
  else {
    const count = take(source, buffer, length);
    setSlot(reader, PROGRESS, count);
    setCopyEvent(reader, count == 0 ? DROPPED : COMPLETED);
  }
}

function putOutcome(outcome: u32, to: u32, reader: u32): void {
  const error = slot(outcome, OUTCOME_ERROR);
  const offset = slot(outcome, OUTCOME_OFFSET);
  store<u8>(to, error != 0);
  // Without an error there may be an option here, of trailers: none.
  store<u8>(to + offset, error != 0 ? error - 1 : 0);
  // All that a code may hold is an option: none.
  if (error != 0 && offset != CLI_ERROR) store<u8>(to + offset * 2, 0);
  setCopyEvent(reader, COMPLETED);
}

/** Takes elements from a source, and gives their number: 0 at its end, after which its outcome is known. */
function take(source: u32, buffer: u32, length: u32): u32 {
  const kind = slot(source, 0);
  if (kind == ENTRIES) return takeEntries(source, buffer, length);
  if (kind == BYTES) return takeBytes(source, buffer, length);
  const offset = wideSlot(source, 2);
  const error = readFile(slot(source, 1), offset, buffer, length);
  if (moved == 0) setOutcome(source, OUTCOME_OF, fileError(error));
  setSlot(source, 2, offset + moved);
  return moved;
}

function dropSource(source: u32): void {
  if (slot(source, 0) == OUTCOME) {
    if (slot(source, OUTCOME_KNOWN) != 0) kfree(addressOf(source));
    else setSlot(source, OUTCOME_READER, 0);
    return;
  }
  setOutcome(source, OUTCOME_OF, 0);
  dropHandle(source);
}

function newSink(stream: u32, outcome: u32 = 0, body: u32 = 0): u32 {
  const sink = make(SINK, stream, body);
  setSlot(sink, OUTCOME_OF, outcome);
  return sink;
}

/** Takes what is left in the buffer of a writable end. */
function writeToHost(writer: u32, sink: u32): void {
  const copied = slot(writer, PROGRESS);
  const length = slot(writer, LENGTH);
  const stream = slot(sink, SINK_STREAM);
  const body = slot(sink, SINK_BODY);
  // Trailers that are an error: the body is not whole.
  if (body != 0 && load<u8>(slot(writer, BUFFER)) != 0) setSlot(body, BODY_FAILED, 1);
  if (stream != 0 && kindOf(stream) == BODY && slot(slot(stream, 1), BODY_UNWANTED) != 0) return setCopyEvent(writer, DROPPED);
  const error = stream == 0 ? 0 : writeTo(stream, slot(writer, BUFFER) + copied, length - copied);
  if (error == 0) setSlot(writer, PROGRESS, length);
  else setOutcome(sink, OUTCOME_OF, fileError(error));
  setCopyEvent(writer, error == 0 ? COMPLETED : DROPPED);
}

/** Gives the host a readable end, whose elements a sink takes from now on. */
function liftReadable(index: u32, code: u32, sink: u32): void {
  const reader = endOf(index, code);
  if (slot(reader, STATE) != IDLE) trap("a stream or future is passed on while it is read, or after it was read to the end");
  leaveSet(reader);
  // It is no handle of the component any more.
  setSlot(reader, 0, OTHER);
  const source = slot(reader, HOST);
  const writer = slot(reader, PEER);
  setSlot(reader, HOST, sink);
  if (source != 0) {
    copyToSink(source, sink);
    closeReader(reader);
  } else if (writer == 0) closeReader(reader);
  else if (isPending(writer)) writeToHost(writer, sink);
}

/** Copies a source to its end, as the body of a response to that of a request. */
function copyToSink(source: u32, sink: u32): void {
  const stream = slot(sink, SINK_STREAM);
  if (stream != 0 && slot(source, 0) != OUTCOME) {
    borrowScratch();
    let count: u32 = 0;
    let error: u32 = 0;
    do {
      count = take(source, SCRATCH, SCRATCH_BYTES);
      error = writeTo(stream, SCRATCH, count);
    } while (count > 0 && error == 0);
    giveScratchBack();
    if (error != 0) setOutcome(sink, OUTCOME_OF, fileError(error));
  }
  dropSource(source);
}

/** Closes a readable end that the host has, and its sink. */
function closeReader(reader: u32): void {
  const sink = slot(reader, HOST);
  const stream = slot(sink, SINK_STREAM);
  setOutcome(sink, OUTCOME_OF, 0);
  if (stream != 0 && kindOf(stream) == BODY) {
    setSlot(slot(stream, 1), BODY_ENDED, 1);
    kfree(addressOf(stream));
  } else if (stream != 0) dropHandle(stream);
  kfree(addressOf(sink));
  kfree(addressOf(reader));
}
