// WASI 0.3, where it differs from version 0.2: https://github.com/WebAssembly/WASI/tree/main/proposals
// library.ts lists the functions that only have another name.

// wasi:cli

function wasi3_cli_stdin_read_via_stream(to: u32): void {
  putBytes(to, 0, 0, CLI_ERROR);
}

/** Writes what comes by a stream to one of version 0.2, and gives the future of the outcome. */
function writeVia(stream: u32, index: u32, offset: u32): u32 {
  const outcome = newOutcome(offset);
  liftReadable(index, EVENT_STREAM_READ, newSink(stream, slot(outcome, HOST)));
  return outcome >> 3;
}

function wasi3_cli_stdout_write_via_stream(index: u32): u32 {
  return writeVia(2, index, CLI_ERROR);
}

function wasi3_cli_stderr_write_via_stream(index: u32): u32 {
  return writeVia(3, index, CLI_ERROR);
}

// wasi:clocks

function begin3_clocks_monotonic_clock_wait_until(when: u64): u32 {
  return newSubtask(TIMER_SUBTASK, when, 0);
}

function begin3_clocks_monotonic_clock_wait_for(duration: u64): u32 {
  return newSubtask(TIMER_SUBTASK, deadlineAfter(duration), 0);
}

function wasi3_clocks_monotonic_clock_wait_until(when: u64): void {
  waitForSubtask(begin3_clocks_monotonic_clock_wait_until(when));
}

function wasi3_clocks_monotonic_clock_wait_for(duration: u64): void {
  waitForSubtask(begin3_clocks_monotonic_clock_wait_for(duration));
}

// wasi:filesystem. Its error codes and types of files are variants, whose last case holds an option.

const OTHER_ERROR: u32 = 36;
const OTHER_TYPE: u32 = 7;

/** A code of version 0.2 in 0.3, which has no `would-block`. */
function wasi3Code(code: u32): u32 {
  return code == 0 ? 0 : code == 1 ? OTHER_ERROR : code - 1;
}

/** The error code for an error number of preview 1, and 1 more; 0 for none. */
function fileError(error: u32): u32 {
  return error == 0 ? 0 : wasi3Code(codeOf(error)) + 1;
}

/** Puts a type of files, which version 0.2 has as this number. */
function putWasi3Type(to: u32, type: u32): void {
  store<u8>(to, type == 0 ? OTHER_TYPE : type - 1);
  store<u8>(to, 0, 4);
}

function wasi3_filesystem_types_descriptor_read_via_stream(descriptor: u32, offset: u64, to: u32): void {
  putStream(to, fileStream(FILE, fdOf(descriptor), offset), FILE_ERROR);
}

function wasi3_filesystem_types_descriptor_write_via_stream(descriptor: u32, index: u32, offset: u64): u32 {
  return writeVia(fileStream(FILE, fdOf(descriptor), offset), index, FILE_ERROR);
}

function wasi3_filesystem_types_descriptor_append_via_stream(descriptor: u32, index: u32): u32 {
  return writeVia(fileStream(APPEND, fdOf(descriptor)), index, FILE_ERROR);
}

function wasi3_filesystem_types_descriptor_read_directory(descriptor: u32, to: u32): void {
  putStream(to, fileStream(ENTRIES, fdOf(descriptor)), FILE_ERROR);
}

/** Takes entries of a folder, of 24 bytes each. */
function takeEntries(stream: u32, buffer: u32, length: u32): u32 {
  let count: u32 = 0;
  for (; count < length && nextEntry(stream); count++) {
    const to = buffer + count * 24;
    putWasi3Type(to, entryType);
    putList(to + 16, fromKernel(entryName, entryLength), entryLength);
  }
  if (count == 0) setOutcome(stream, OUTCOME_OF, fileError(entryError));
  return count;
}

// wasi:http. Requests and responses have the slots of version 0.2, and of a request: 10 the case of its method, 11 the outcome
// of sending it.

const REQUEST_METHOD: u32 = 10;
const REQUEST_OUTCOME: u32 = 11;

function wasi3_http_types_fields_get_and_delete(fields: u32, name: u32, length: u32, to: u32): void {
  wasi_http_types_fields_get(fields, name, length, to + 4);
  wasi_http_types_fields_delete(fields, name, length, to);
}

function wasi3_http_types_request_new(headers: u32, hasContents: u32, contents: u32, trailers: u32, _hasOptions: u32, _options: u32, to: u32): void {
  const request = wasi_http_types_outgoing_request_constructor(headers);
  setSlot(request, 0, REQUEST);
  let body: u32 = 0;
  if (hasContents != 0) {
    body = make(OTHER);
    setSlot(request, REQUEST_BODY, body);
    liftReadable(contents, EVENT_STREAM_READ, newSink(make(BODY, body)));
  }
  liftReadable(trailers, EVENT_FUTURE_READ, newSink(0, 0, body));
  const outcome = newOutcome(HTTP_ERROR);
  setSlot(request, REQUEST_OUTCOME, slot(outcome, HOST));
  store<u32>(to, request);
  store<u32>(to, outcome >> 3, 4);
}

/** Ends a request that will not be sent: no error is to be told, as in Wasmtime. */
function abandon(request: u32): void {
  stopBody(request);
  setOutcome(request, REQUEST_OUTCOME, 0);
}

/** Tells the writer of a body that is still open that nobody reads it. */
function stopBody(request: u32): void {
  const body = slot(request, REQUEST_BODY);
  if (body != 0) setSlot(body, BODY_UNWANTED, 1);
}

/** Puts an option of a text that is in two slots. */
function putText(to: u32, request: u32, index: u32): void {
  const length = slot(request, index + 1);
  store<u8>(to, length > 0);
  if (length > 0) putList(to + 4, fromKernel(slot(request, index), length), length);
}

function wasi3_http_types_request_get_method(request: u32, to: u32): void {
  const method = slot(request, REQUEST_METHOD);
  store<u8>(to, method);
  const length = slot(request, 3);
  if (method == 9) putList(to + 4, fromKernel(slot(request, 2), length), length);
}

function wasi3_http_types_request_set_method(request: u32, method: u32, from: u32, length: u32): u32 {
  setSlot(request, REQUEST_METHOD, method);
  return wasi_http_types_outgoing_request_set_method(request, method, from, length);
}

function wasi3_http_types_request_get_path_with_query(request: u32, to: u32): void {
  putText(to, request, 4);
}

function wasi3_http_types_request_get_scheme(request: u32, to: u32): void {
  store<u8>(to, 1);
  store<u8>(to, slot(request, 6), 4);
}

function wasi3_http_types_request_get_authority(request: u32, to: u32): void {
  putText(to, request, 7);
}

function wasi3_http_types_request_get_options(_request: u32, to: u32): void {
  store<u8>(to, 0);
}

// Timeouts are kept, each in two slots, but the server has its own.

function setTimeout(options: u32, index: u32, is: u32, duration: u64, to: u32): void {
  setSlot(options, index, is);
  setSlot(options, index + 1, duration);
  store<u8>(to, 0);
}

function putTimeout(options: u32, index: u32, to: u32): void {
  store<u8>(to, slot(options, index));
  store<u64>(to, wideSlot(options, index + 1), 8);
}

function wasi3_http_types_request_options_set_connect_timeout(options: u32, is: u32, duration: u64, to: u32): void {
  setTimeout(options, 1, is, duration, to);
}

function wasi3_http_types_request_options_set_first_byte_timeout(options: u32, is: u32, duration: u64, to: u32): void {
  setTimeout(options, 3, is, duration, to);
}

function wasi3_http_types_request_options_set_between_bytes_timeout(options: u32, is: u32, duration: u64, to: u32): void {
  setTimeout(options, 5, is, duration, to);
}

function wasi3_http_types_request_options_get_connect_timeout(options: u32, to: u32): void {
  putTimeout(options, 1, to);
}

function wasi3_http_types_request_options_get_first_byte_timeout(options: u32, to: u32): void {
  putTimeout(options, 3, to);
}

function wasi3_http_types_request_options_get_between_bytes_timeout(options: u32, to: u32): void {
  putTimeout(options, 5, to);
}

function wasi3_http_types_request_options_clone(options: u32): u32 {
  const clone = make(OTHER);
  for (let index: u32 = 1; index < 7; index++) setSlot(clone, index, wideSlot(options, index));
  return clone;
}

function begin3_http_client_send(request: u32, to: u32): u32 {
  return newSubtask(REQUEST_SUBTASK, make(OTHER, request), to);
}

function wasi3_http_client_send(request: u32, to: u32): void {
  waitForSubtask(begin3_http_client_send(request, to));
}

/** Sends a request and stores the result of `send`: the response, or an error code. */
function respond(response: u32, to: u32): void {
  if (!HAS_HTTP) return;
  const request = slot(response, 1);
  const body = slot(request, REQUEST_BODY);
  if (body != 0 && slot(body, BODY_FAILED) != 0) {
    // It has no message: its fields are empty.
    setSlot(response, 2, FAILED);
    setSlot(response, 4, make(OTHER));
  } else send(response);
  stopBody(request);
  const failed = slot(response, 2) == FAILED;
  store<u8>(to, failed);
  if (failed) putHttpError(to + HTTP_ERROR, response);
  else store<u32>(to, response, HTTP_ERROR);
  setOutcome(request, REQUEST_OUTCOME, failed ? INTERNAL_ERROR + 1 : 0);
}

function wasi3_http_types_response_consume_body(response: u32, outcome: u32, to: u32): void {
  liftReadable(outcome, EVENT_FUTURE_READ, newSink(0));
  putBytes(to, slot(response, 5), slot(response, 6), HTTP_ERROR);
}
