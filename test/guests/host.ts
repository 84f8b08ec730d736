// Host functions that only the guests of the tests import.

@external("extism:host/env", "output_set")
export declare function raw_output_set(block: u64, length: u64): void;
@external("extism:host/env", "error_set")
export declare function raw_error_set(block: u64): void;
@external("extism:host/env", "alloc")
export declare function raw_alloc(length: u64): u64;
@external("extism:host/env", "free")
export declare function raw_free(block: u64): void;
@external("extism:host/env", "length")
export declare function raw_length(block: u64): u64;
@external("extism:host/env", "store_u64")
export declare function raw_store_u64(offset: u64, bytes: u64): void;
@external("extism:host/env", "load_u64")
export declare function raw_load_u64(offset: u64): u64;
@external("extism:host/env", "config_get")
export declare function config_get(key: u64): u64;
@external("extism:host/env", "var_get")
export declare function var_get(key: u64): u64;
@external("extism:host/env", "var_set")
export declare function var_set(key: u64, value: u64): void;
@external("extism:host/env", "http_request")
export declare function http_request(request: u64, body: u64): u64;
@external("extism:host/env", "http_status_code")
export declare function http_status_code(): i32;
@external("extism:host/env", "http_headers")
export declare function http_headers(): u64;
@external("extism:host/env", "log_info")
export declare function log_info(message: u64): void;
@external("extism:host/env", "log_debug")
export declare function log_debug(message: u64): void;
@external("extism:host/env", "get_log_level")
export declare function get_log_level(): i32;
@external("extism:host/user", "config_get")
export declare function config_get_json(key: u64): u64;
@external("extism:host/user", "get_keyring_secret")
export declare function get_keyring_secret(key: u64): u64;
@external("extism:host/usr", "list_roots")
export declare function list_roots(): u64;
@external("wasi_snapshot_preview1", "random_get")
export declare function random_get(at: usize, length: usize): u32;
@external("wasi_snapshot_preview1", "fd_write")
export declare function fd_write(fd: u32, vectors: usize, count: u32, written: usize): u32;
@external("wasi_snapshot_preview1", "fd_prestat_get")
export declare function fd_prestat_get(fd: u32, at: usize): u32;
@external("wasi_snapshot_preview1", "path_open")
export declare function path_open(
  fd: u32, lookup: u32, path: usize, length: usize, flags: u32,
  rights: u64, inheriting: u64, fdflags: u32, opened: usize,
): u32;
@external("wasi_snapshot_preview1", "args_sizes_get")
export declare function args_sizes_get(count: usize, bytes: usize): u32;
@external("wasi_snapshot_preview1", "environ_sizes_get")
export declare function environ_sizes_get(count: usize, bytes: usize): u32;
@external("wasi_snapshot_preview1", "proc_exit")
export declare function proc_exit(code: u32): void;
@external("wasi_snapshot_preview1", "poll_oneoff")
export declare function poll_oneoff(from: usize, to: usize, count: u32, ready: usize): u32;
