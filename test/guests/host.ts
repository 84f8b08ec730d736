// Host functions that only the guests of the tests import.

@external("extism:host/env", "free")
export declare function raw_free(block: u64): void;
@external("extism:host/env", "config_get")
export declare function config_get(key: u64): u64;
@external("extism:host/env", "var_get")
export declare function var_get(key: u64): u64;
@external("extism:host/env", "var_set")
export declare function var_set(key: u64, value: u64): void;
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
@external("extism:host/user", "create_elicitation")
export declare function create_elicitation(params: u64): u64;
@external("extism:host/user", "create_message")
export declare function create_message(params: u64): u64;
@external("extism:host/user", "request_input")
export declare function request_input(params: u64): u64;
@external("extism:host/user", "get_access_token")
export declare function get_access_token(params: u64): u64;
@external("extism:host/user", "http_fetch")
export declare function http_fetch(head: u64, body: u64): u64;
@external("extism:host/user", "notify_resource_updated")
export declare function notify_resource_updated(params: u64): void;
@external("extism:host/user", "notify_url_elicitation_completed")
export declare function notify_url_elicitation_completed(params: u64): void;
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
@external("extism:host/user", "notify_tool_list_changed")
export declare function notify_tool_list_changed(): void;
