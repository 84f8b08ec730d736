// Every host function that a servlet here may import. Only those that it uses end up in its Wasm.
// (This file alone has a syntax that formatters of TypeScript cannot read.)

// Extism: blocks of memory that the host keeps, input and output, HTTP.

@external("extism:host/env", "input_length")
export declare function input_length(): u64;
@external("extism:host/env", "input_load_u8")
export declare function input_load_u8(offset: u64): u8;
@external("extism:host/env", "input_load_u64")
export declare function input_load_u64(offset: u64): u64;
@external("extism:host/env", "alloc")
export declare function alloc(length: u64): u64;
@external("extism:host/env", "length")
export declare function block_length(block: u64): u64;
@external("extism:host/env", "load_u8")
export declare function load_u8(offset: u64): u8;
@external("extism:host/env", "load_u64")
export declare function load_u64(offset: u64): u64;
@external("extism:host/env", "store_u8")
export declare function store_u8(offset: u64, byte: u8): void;
@external("extism:host/env", "store_u64")
export declare function store_u64(offset: u64, bytes: u64): void;
@external("extism:host/env", "output_set")
export declare function output_set(block: u64, length: u64): void;
@external("extism:host/env", "error_set")
export declare function error_set(block: u64): void;
@external("extism:host/env", "http_request")
export declare function http_request(request: u64, body: u64): u64;
@external("extism:host/env", "http_status_code")
export declare function http_status_code(): i32;
@external("extism:host/env", "http_headers")
export declare function http_headers(): u64;

// MCP: what a servlet says to the client. Blocks of JSON.

@external("extism:host/user", "notify_progress")
export declare function notify_progress(params: u64): void;
@external("extism:host/user", "notify_logging_message")
export declare function notify_logging_message(params: u64): void;

// WASI preview 1.

@external("wasi_snapshot_preview1", "clock_time_get")
export declare function clock_time_get(clock: u32, precision: u64, time: usize): u32;
@external("wasi_snapshot_preview1", "poll_oneoff")
export declare function poll_oneoff(
  subscriptions: usize,
  events: usize,
  count: u32,
  ready: usize,
): u32;
