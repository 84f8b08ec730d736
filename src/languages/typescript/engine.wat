;; What stands between QuickJS and Extism: the exports of a servlet, and the host functions that the
;; authoring kit calls. Merged with quickjs.wasm it makes a plugin that runs the script it is given.
;;
;; QuickJS's own functions take and give handles of JavaScript values. Those that a call makes are freed: the memory
;; of a servlet that keeps state is that of its next call. The arguments and the result of `host_call` are freed by
;; QuickJS, the arguments of `host_promise_rejection` are not.
;;
;; The lowest 4 KiB of QuickJS's memory are the far end of its stack, which is never reached; they hold
;; what is passed by address:
;;
;;   64 a length   72 and 80 arguments of calls   96 the heap's first bytes   128 subscription   192 event   240 count of events
;;   256 names, each ended by a zero
(module
  (import "qjs" "memory" (memory $memory 1))
  (import "qjs" "__stack_pointer" (global $stack (mut i32)))
  (import "qjs" "qjs_initialize" (func $qjs_initialize))
  (import "qjs" "qjs_init" (func $qjs_init (result i32)))
  (import "qjs" "qjs_compile" (func $compile (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "qjs" "qjs_eval" (func $eval_script (param i32 i32 i32 i32) (result i32)))
  (import "qjs" "qjs_eval_bytecode" (func $eval (param i32 i32) (result i32)))
  (import "qjs" "qjs_run_gc" (func $collect_garbage))
  (import "qjs" "qjs_call" (func $call (param i32 i32 i32 i32) (result i32)))
  (import "qjs" "qjs_is_job_pending" (func $is_job_pending (result i32)))
  (import "qjs" "qjs_execute_pending_job" (func $run_job (result i32)))
  (import "qjs" "qjs_free_value" (func $free_value (param i32)))
  (import "qjs" "qjs_is_exception" (func $is_exception (param i32) (result i32)))
  (import "qjs" "qjs_get_exception" (func $exception (result i32)))
  (import "qjs" "qjs_get_global" (func $global (result i32)))
  (import "qjs" "qjs_get_prop_string" (func $get (param i32 i32) (result i32)))
  (import "qjs" "qjs_set_prop_string" (func $set (param i32 i32 i32) (result i32)))
  (import "qjs" "qjs_new_host_function" (func $new_function (param i32 i32 i32) (result i32)))
  (import "qjs" "qjs_new_string" (func $new_string (param i32 i32) (result i32)))
  (import "qjs" "qjs_get_string_len" (func $get_string (param i32 i32) (result i32)))
  (import "qjs" "qjs_free_cstring" (func $free_string (param i32)))
  (import "qjs" "qjs_new_array_buffer" (func $new_buffer (param i32 i32) (result i32)))
  (import "qjs" "qjs_get_array_buffer" (func $get_buffer (param i32 i32) (result i32)))
  (import "qjs" "qjs_new_number" (func $new_number (param f64) (result i32)))
  (import "qjs" "qjs_get_float64" (func $get_number (param i32) (result f64)))
  (import "qjs" "qjs_get_undefined" (func $undefined (result i32)))
  (import "qjs" "qjs_is_undefined" (func $is_undefined (param i32) (result i32)))
  (import "qjs" "qjs_set_promise_rejection_handler" (func $watch_rejections (param i32)))
  (import "qjs" "qjs_set_interrupt_handler" (func $watch (param i32)))
  (import "qjs" "wasm_malloc" (func $malloc (param i32) (result i32)))
  (import "qjs" "wasm_free" (func $free (param i32)))

  (import "extism:host/env" "alloc" (func $block_alloc (param i64) (result i64)))
  (import "extism:host/env" "free" (func $block_free (param i64)))
  (import "extism:host/env" "length" (func $block_length (param i64) (result i64)))
  (import "extism:host/env" "load_u64" (func $block_load (param i64) (result i64)))
  (import "extism:host/env" "store_u64" (func $block_store (param i64 i64)))
  (import "extism:host/env" "input_offset" (func $input_offset (result i64)))
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (import "extism:host/env" "error_set" (func $error_set (param i64)))
  (import "extism:host/env" "config_get" (func $config_get (param i64) (result i64)))
  (import "extism:host/user" "http_fetch" (func $http_fetch (param i64 i64) (result i64)))
  (import "extism:host/user" "file_call" (func $file_call (param i64 i64) (result i64)))
  (import "extism:host/user" "crypto_call" (func $crypto_call (param i64 i64) (result i64)))
  (import "extism:host/user" "decode_text" (func $decode_text (param i64 i64) (result i64)))
  (import "extism:host/env" "http_status_code" (func $http_status (result i32)))
  (import "extism:host/env" "http_headers" (func $http_headers (result i64)))
  (import "extism:host/env" "log_trace" (func $log_trace (param i64)))
  (import "extism:host/env" "log_debug" (func $log_debug (param i64)))
  (import "extism:host/env" "log_info" (func $log_info (param i64)))
  (import "extism:host/env" "log_warn" (func $log_warn (param i64)))
  (import "extism:host/env" "log_error" (func $log_error (param i64)))
  (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff"
    (func $poll (param i32 i32 i32 i32) (result i32)))

  (import "extism:host/user" "ask_client" (func $user0 (param i64) (result i64)))
  (import "extism:host/user" "notify_progress" (func $user1 (param i64)))
  (import "extism:host/user" "notify_logging_message" (func $user2 (param i64)))
  (import "extism:host/user" "notify_resource_updated" (func $user3 (param i64)))
  (import "extism:host/user" "notify_tool_list_changed" (func $user4))
  (import "extism:host/user" "notify_prompt_list_changed" (func $user5))
  (import "extism:host/user" "notify_resource_list_changed" (func $user6))
  (import "extism:host/user" "notify_url_elicitation_completed" (func $user7 (param i64)))
  (import "extism:host/user" "get_keyring_secret" (func $user8 (param i64) (result i64)))
  (import "extism:host/user" "get_access_token" (func $user9 (param i64) (result i64)))
  (import "extism:host/user" "discard_changes" (func $user10))
  (import "extism:host/user" "reset_state" (func $user11))
  (import "extism:host/user" "call_tool" (func $user12 (param i64) (result i64)))
  (import "extism:host/user" "call_host" (func $user13 (param i64) (result i64)))

  (data (i32.const 256)
    "__A\00__B\00__C\00__D\00__E\00__F\00__G\00__H\00__I\00__J\00__K\00__L\00__begin\00__turn\00__rejected\00script\00__loaded\00")

  ;; Bytes between QuickJS's memory and blocks, eight at a time. Both sides have room for the last eight.
  (func $block_of_bytes (param $from i32) (param $length i32) (result i64)
    (local $block i64) (local $at i32)
    (local.set $block (call $block_alloc (i64.extend_i32_u (local.get $length))))
    (block $done
      (loop $more
        (br_if $done (i32.ge_u (local.get $at) (local.get $length)))
        (call $block_store
          (i64.add (local.get $block) (i64.extend_i32_u (local.get $at)))
          (i64.load align=1 (i32.add (local.get $from) (local.get $at))))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br $more)))
    (local.get $block))
  (func $bytes_of_block (param $block i64) (param $length i32) (result i32)
    (local $to i32) (local $at i32)
    (local.set $to (call $malloc (i32.add (local.get $length) (i32.const 8))))
    (block $done
      (loop $more
        (br_if $done (i32.ge_u (local.get $at) (local.get $length)))
        (i64.store align=1
          (i32.add (local.get $to) (local.get $at))
          (call $block_load (i64.add (local.get $block) (i64.extend_i32_u (local.get $at)))))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br $more)))
    (i32.store8 (i32.add (local.get $to) (local.get $length)) (i32.const 0))
    (local.get $to))

  (func $block_of_string (param $value i32) (result i64)
    (local $bytes i32) (local $block i64)
    (local.set $bytes (call $get_string (local.get $value) (i32.const 64)))
    (local.set $block (call $block_of_bytes (local.get $bytes) (i32.load (i32.const 64))))
    (call $free_string (local.get $bytes))
    (local.get $block))
  ;; Calls a function of the global object, whose name and arguments are at these addresses.
  (func $call_global (param $name i32) (param $count i32) (param $values i32) (result i32)
    (local $global i32) (local $function i32) (local $result i32)
    (local.set $global (call $global))
    (local.set $function (call $get (local.get $global) (local.get $name)))
    (local.set $result
      (call $call
        (local.get $function)
        (local.get $global)
        (local.get $count)
        (local.get $values)))
    (call $free_value (local.get $function))
    (call $free_value (local.get $global))
    (local.get $result))
  ;; Makes what was thrown the error of the export; gives its code.
  (func $fail (result i32)
    (local $exception i32)
    (local.set $exception (call $exception))
    (call $error_set (call $block_of_string (local.get $exception)))
    (call $free_value (local.get $exception))
    (i32.const 1))
  (func $string_of_block (param $block i64) (result i32)
    (local $length i32) (local $bytes i32) (local $value i32)
    (local.set $length (i32.wrap_i64 (call $block_length (local.get $block))))
    (local.set $bytes (call $bytes_of_block (local.get $block) (local.get $length)))
    (local.set $value (call $new_string (local.get $bytes) (local.get $length)))
    (call $free (local.get $bytes))
    (call $block_free (local.get $block))
    (local.get $value))

  ;; Calls `extism:host/user` function number $which; 0 for those that give nothing.
  (func $user (param $which i32) (param $payload i64) (result i64)
    (block $13 (block $12 (block $11 (block $10 (block $9 (block $8 (block $7 (block $6 (block $5 (block $4
    (block $3 (block $2 (block $1 (block $0
      (br_table $0 $1 $2 $3 $4 $5 $6 $7 $8 $9 $10 $11 $12 $13 (local.get $which)))
    (return (call $user0 (local.get $payload))))
    (call $user1 (local.get $payload)) (return (i64.const 0)))
    (call $user2 (local.get $payload)) (return (i64.const 0)))
    (call $user3 (local.get $payload)) (return (i64.const 0)))
    (call $user4) (return (i64.const 0)))
    (call $user5) (return (i64.const 0)))
    (call $user6) (return (i64.const 0)))
    (call $user7 (local.get $payload)) (return (i64.const 0)))
    (return (call $user8 (local.get $payload))))
    (return (call $user9 (local.get $payload))))
    (call $user10) (return (i64.const 0)))
    (call $user11) (return (i64.const 0)))
    (return (call $user12 (local.get $payload))))
    (call $user13 (local.get $payload)))

  ;; Does what function number $which does, and frees what it was given.
  (func $exchange (param $which i32) (param $head i64) (param $body i64) (result i64)
    (local $answer i64)
    (local.set $answer
      (call $exchanged (local.get $which) (local.get $head) (local.get $body)))
    (call $block_free (local.get $head))
    (if (i64.ne (local.get $body) (i64.const 0)) (then (call $block_free (local.get $body))))
    (local.get $answer))
  (func $exchanged (param $which i32) (param $head i64) (param $body i64) (result i64)
    (block $3 (block $2 (block $1 (block $0
      (br_table $0 $1 $2 $3 (local.get $which)))
    (return (call $http_fetch (local.get $head) (local.get $body))))
    (return (call $file_call (local.get $head) (local.get $body))))
    (return (call $crypto_call (local.get $head) (local.get $body))))
    (call $decode_text (local.get $head) (local.get $body)))

  (func $log (param $level i32) (param $text i64)
    (block $4 (block $3 (block $2 (block $1 (block $0
      (br_table $0 $1 $2 $3 $4 (local.get $level)))
    (return (call $log_trace (local.get $text))))
    (return (call $log_debug (local.get $text))))
    (return (call $log_info (local.get $text))))
    (return (call $log_warn (local.get $text))))
    (call $log_error (local.get $text)))

  (func $sleep (param $ms f64)
    (memory.fill (i32.const 128) (i32.const 0) (i32.const 48))
    (i32.store (i32.const 144) (i32.const 1)) ;; the monotonic clock
    (i64.store (i32.const 152)
      (i64.trunc_sat_f64_u (f64.mul (local.get $ms) (f64.const 1000000))))
    (drop (call $poll (i32.const 128) (i32.const 192) (i32.const 1) (i32.const 240))))

  (func $argument (param $values i32) (param $index i32) (result i32)
    (i32.load (i32.add (local.get $values) (i32.shl (local.get $index) (i32.const 2)))))
  (func $integer (param $value i32) (result i32)
    (i32.trunc_sat_f64_s (call $get_number (local.get $value))))

  ;; QuickJS calls this for every function that `edge_start` has made; the third letter of its name
  ;; tells which it is.
  (func (export "host_call")
    (param $name i32) (param $length i32) (param $this i32) (param $count i32) (param $values i32)
    (result i32)
    (local $first i32) (local $second i32) (local $block i64) (local $payload i64)
    (local $bytes i32)
    (if (local.get $count)
      (then (local.set $first (call $argument (local.get $values) (i32.const 0)))))
    (if (i32.gt_u (local.get $count) (i32.const 1))
      (then (local.set $second (call $argument (local.get $values) (i32.const 1)))))
    (block $L (block $K (block $J (block $I (block $H (block $G (block $F (block $E (block $D
    (block $C (block $B (block $A
      (br_table $A $B $C $D $E $F $G $H $I $J $K $L
        (i32.sub (i32.load8_u offset=2 (local.get $name)) (i32.const 65))))
    ;; A: input()
    (local.set $length (i32.wrap_i64 (call $input_length)))
    (local.set $bytes (call $bytes_of_block (call $input_offset) (local.get $length)))
    (local.set $first (call $new_string (local.get $bytes) (local.get $length)))
    (call $free (local.get $bytes))
    (return (local.get $first)))
    ;; B: output(text)
    (local.set $block (call $block_of_string (local.get $first)))
    (call $output_set (local.get $block) (call $block_length (local.get $block)))
    (return (call $undefined)))
    ;; C: fail(message)
    (call $error_set (call $block_of_string (local.get $first)))
    (return (call $undefined)))
    ;; D: call(number, payload)
    (return
      (call $string_of_block
        (call $user
          (call $integer (local.get $first))
          (call $block_of_string (local.get $second))))))
    ;; E: http(head, body), and with a third argument 1 files, 2 crypto, 3 decode
    (local.set $block (call $block_of_string (local.get $first)))
    (local.set $payload
      (if (result i64)
        (i32.or (i32.eqz (local.get $second)) (call $is_undefined (local.get $second)))
        (then (i64.const 0))
        (else
          (call $block_of_bytes
            (call $get_buffer (local.get $second) (i32.const 64))
            (i32.load (i32.const 64))))))
    (local.set $block (call $exchange
      (if (result i32) (i32.gt_u (local.get $count) (i32.const 2))
        (then (call $integer (call $argument (local.get $values) (i32.const 2))))
        (else (i32.const 0)))
      (local.get $block)
      (local.get $payload)))
    (local.set $length (i32.wrap_i64 (call $block_length (local.get $block))))
    (local.set $bytes (call $bytes_of_block (local.get $block) (local.get $length)))
    (if (i64.ne (local.get $block) (i64.const 0)) (then (call $block_free (local.get $block))))
    (local.set $first (call $new_buffer (local.get $bytes) (local.get $length)))
    (call $free (local.get $bytes))
    (return (local.get $first)))
    ;; F: httpStatus(), or with an argument textOf(buffer), which decodes UTF-8
    (if (local.get $count)
      (then
        (local.set $bytes (call $get_buffer (local.get $first) (i32.const 64)))
        (return (call $new_string (local.get $bytes) (i32.load (i32.const 64))))))
    (return (call $new_number (f64.convert_i32_s (call $http_status)))))
    ;; G: httpHeaders(), or with an argument bytesOf(text), which encodes UTF-8
    (if (local.get $count)
      (then
        (local.set $bytes (call $get_string (local.get $first) (i32.const 64)))
        (local.set $first (call $new_buffer (local.get $bytes) (i32.load (i32.const 64))))
        (call $free_string (local.get $bytes))
        (return (local.get $first))))
    (return (call $string_of_block (call $http_headers))))
    ;; H: log(level, text)
    (call $log (call $integer (local.get $first)) (call $block_of_string (local.get $second)))
    (return (call $undefined)))
    ;; I: config(key)
    (local.set $block (call $config_get (call $block_of_string (local.get $first))))
    (if (i64.eqz (local.get $block)) (then (return (call $undefined))))
    (return (call $string_of_block (local.get $block))))
    ;; J: random(bytes)
    (local.set $length (call $integer (local.get $first)))
    (local.set $bytes (call $malloc (i32.add (local.get $length) (i32.const 8))))
    (drop (call $random_get (local.get $bytes) (local.get $length)))
    (local.set $first (call $new_buffer (local.get $bytes) (local.get $length)))
    (call $free (local.get $bytes))
    (return (local.get $first)))
    ;; K: sleep(ms)
    (call $sleep (call $get_number (local.get $first)))
    (return (call $undefined)))
    ;; L: with a second argument load(bytecode); gives what its script gives.
    (if (i32.gt_u (local.get $count) (i32.const 1))
      (then
        (local.set $bytes (call $get_buffer (local.get $second) (i32.const 64)))
        (local.set $first (call $eval (local.get $bytes) (i32.load (i32.const 64))))
        (if (call $is_exception (local.get $first))
          (then
            (call $free_value (local.get $first))
            (return (i32.const 0))))
        (return (local.get $first))))
    ;; evaluate(script), in the global scope, with `await` (128) and no frames of its caller in traces (64).
    ;; Gives a promise; throws what was wrong with the syntax, which 0 tells.
    (local.set $bytes (call $get_string (local.get $first) (i32.const 64)))
    (local.set $first
      (call $eval_script
        (local.get $bytes)
        (i32.load (i32.const 64))
        (i32.const 330)
        (i32.const 192)))
    (call $free_string (local.get $bytes))
    (if (result i32) (call $is_exception (local.get $first))
      (then (call $free_value (local.get $first)) (i32.const 0))
      (else (local.get $first))))

  (func (export "host_get_timezone_offset") (param i32 i32) (result i32) (i32.const 0))
  ;; Asked every ten thousand steps or so while a script is loaded: one that has no end is stopped.
  (global $patience (mut i32) (i32.const 0))
  (func (export "host_interrupt") (result i32)
    (global.set $patience (i32.sub (global.get $patience) (i32.const 1)))
    (i32.lt_s (global.get $patience) (i32.const 0)))
  ;; Tells `__rejected(promise, reason, isHandled)` of a promise that is rejected without a handler.
  (func (export "host_promise_rejection")
    (param $promise i32) (param $reason i32) (param $is_handled i32)
    (local.set $is_handled (call $new_number (f64.convert_i32_s (local.get $is_handled))))
    (i32.store (i32.const 80) (local.get $promise))
    (i32.store (i32.const 84) (local.get $reason))
    (i32.store (i32.const 88) (local.get $is_handled))
    (call $free_value (call $call_global (i32.const 319) (i32.const 3) (i32.const 80)))
    (call $free_value (local.get $promise))
    (call $free_value (local.get $reason))
    (call $free_value (local.get $is_handled)))
  (func (export "host_module_normalize") (param i32 i32) (result i32) (i32.const 0))
  (func (export "host_module_load") (param i32 i32) (result i32) (i32.const 0))

  ;; Starts QuickJS and gives it the functions `__A` … `__L`.
  (func (export "_initialize")
    (local $name i32) (local $global i32)
    (call $qjs_initialize)
    (i32.store (i32.const 96) (call $malloc (i32.const 8)))
    (drop (call $qjs_init))
    (local.set $global (call $global))
    (local.set $name (i32.const 256))
    (loop $next
      (drop
        (call $set
          (local.get $global)
          (local.get $name)
          (call $new_function (local.get $name) (i32.const 3) (i32.const 0))))
      (local.set $name (i32.add (local.get $name) (i32.const 4)))
      (br_if $next (i32.lt_u (local.get $name) (i32.const 304)))))

  ;; For the bundle step: gives the bytecode of the script that is the input, without its source. The input
  ;; is the script's name, a zero, and its text; without a name, the bytecode is without lines, too.
  (func (export "edge_compile") (result i32)
    (local $length i32) (local $bytecode i32) (local $block i64) (local $name i32) (local $text i32)
    (local.set $length (i32.wrap_i64 (call $input_length)))
    (local.set $name (call $bytes_of_block (call $input_offset) (local.get $length)))
    (local.set $text (local.get $name))
    (loop $next
      (local.set $text (i32.add (local.get $text) (i32.const 1)))
      (br_if $next (i32.load8_u (i32.sub (local.get $text) (i32.const 1)))))
    (local.set $bytecode
      (call $compile
        (local.get $text)
        (i32.sub (i32.add (local.get $name) (local.get $length)) (local.get $text))
        (local.get $name)
        (i32.const 0)
        (select (i32.const 16) (i32.const 48) (i32.load8_u (local.get $name)))
        (i32.const 64)))
    (if (i32.eqz (local.get $bytecode))
      (then (return (call $fail))))
    (local.set $block (call $block_of_bytes (local.get $bytecode) (i32.load (i32.const 64))))
    (call $output_set (local.get $block) (call $block_length (local.get $block)))
    (i32.const 0))

  ;; For the bundle step: runs the bytecode that is the input, and leaves no trace of it but its effects.
  (func (export "edge_load") (result i32)
    (local $length i32) (local $bytecode i32) (local $result i32)
    (local.set $length (i32.wrap_i64 (call $input_length)))
    (global.set $patience (i32.const 20000))
    (call $watch (i32.const 1))
    (local.set $bytecode (call $bytes_of_block (call $input_offset) (local.get $length)))
    (local.set $result (call $eval (local.get $bytecode) (local.get $length)))
    (memory.fill
      (local.get $bytecode)
      (i32.const 0)
      (i32.add (local.get $length) (i32.const 8)))
    (call $free (local.get $bytecode))
    (call $watch_rejections (i32.const 1))
    ;; `__loaded()` and jobs until it is over.
    (block $done
      (loop $again
        (br_if $done (call $is_exception (local.get $result)))
        (call $free_value (local.get $result))
        (local.set $result (call $call_global (i32.const 337) (i32.const 0) (i32.const 0)))
        (br_if $done (call $is_exception (local.get $result)))
        (br_if $done (i32.ne (call $integer (local.get $result)) (i32.const 2)))
        (call $run_jobs)
        (br $again)))
    (call $watch (i32.const 0))
    (if (call $is_exception (local.get $result))
      (then (return (call $fail))))
    (call $collect_garbage)
    (i32.const 0))

  ;; Before the state of a servlet is stored: collects garbage, and makes memory zero that is not used, as that takes no
  ;; room there. First the rest of the stack; then free chunks of dlmalloc's heap, which reaches to the end of the memory.
  ;; The second word of a chunk is its size, with 2 where it is used; a free one has up to eight words of its own.
  (func (export "edge_collect")
    (local $chunk i32) (local $size i32) (local $next i32) (local $end i32)
    (call $collect_garbage)
    (local.set $chunk (i32.const 4096))
    (block $done
      (loop $again
        (br_if $done (i32.ge_u (local.get $chunk) (global.get $stack)))
        (if (i64.ne (i64.load (local.get $chunk)) (i64.const 0))
          (then (i64.store (local.get $chunk) (i64.const 0))))
        (local.set $chunk (i32.add (local.get $chunk) (i32.const 8)))
        (br $again)))
    (local.set $chunk (i32.sub (i32.load (i32.const 96)) (i32.const 8)))
    (local.set $end (i32.shl (memory.size) (i32.const 16)))
    (block $done
      (loop $again
        (local.set $size (i32.and (i32.load offset=4 (local.get $chunk)) (i32.const -8)))
        (local.set $next (i32.add (local.get $chunk) (local.get $size)))
        (br_if $done (i32.lt_u (local.get $size) (i32.const 16)))
        (br_if $done (i32.gt_u (local.get $next) (local.get $end)))
        (if
          (i32.and
            (i32.eqz (i32.and (i32.load offset=4 (local.get $chunk)) (i32.const 2)))
            (i32.gt_u (local.get $size) (i32.const 64)))
          (then
            (memory.fill
              (i32.add (local.get $chunk) (i32.const 32))
              (i32.const 0)
              (i32.sub (local.get $size) (i32.const 32)))))
        (local.set $chunk (local.get $next))
        (br_if $again
          (i32.lt_u (i32.add (local.get $chunk) (i32.const 8)) (local.get $end))))))

  (func $run_jobs
    (block $idle
      (loop $jobs
        (br_if $idle (i32.eqz (call $is_job_pending)))
        (drop (call $run_job))
        (br $jobs))))

  ;; Runs the servlet's export number $which: `__begin(which)`, then jobs and `__turn()` until it is over.
  (func $run (param $which i32) (result i32)
    (local $result i32) (local $state i32)
    (local.set $which (call $new_number (f64.convert_i32_s (local.get $which))))
    (i32.store (i32.const 72) (local.get $which))
    (local.set $result (call $call_global (i32.const 304) (i32.const 1) (i32.const 72)))
    (call $free_value (local.get $which))
    (loop $again
      (if (call $is_exception (local.get $result))
        (then
          (call $free_value (local.get $result))
          (return (call $fail))))
      (call $free_value (local.get $result))
      (call $run_jobs)
      (local.set $result (call $call_global (i32.const 312) (i32.const 0) (i32.const 0)))
      (if (i32.eqz (call $is_exception (local.get $result)))
        (then
          (local.set $state (call $integer (local.get $result)))
          (if (i32.ne (local.get $state) (i32.const 2))
            (then
              (call $free_value (local.get $result))
              (return (local.get $state))))))
      (br $again))
    (unreachable))

  (func (export "list_tools") (result i32) (call $run (i32.const 0)))
  (func (export "list_resources") (result i32) (call $run (i32.const 1)))
  (func (export "list_resource_templates") (result i32) (call $run (i32.const 2)))
  (func (export "list_prompts") (result i32) (call $run (i32.const 3)))
  (func (export "call_tool") (result i32) (call $run (i32.const 4)))
  (func (export "read_resource") (result i32) (call $run (i32.const 5)))
  (func (export "get_prompt") (result i32) (call $run (i32.const 6)))
  (func (export "complete") (result i32) (call $run (i32.const 7)))
  (func (export "on_roots_list_changed") (result i32) (call $run (i32.const 8)))
  ;; Runs the modules of a servlet that depends on its environment.
  (func (export "edge_environment") (result i32) (call $run (i32.const 9)))
  ;; Run a servlet without a request of a caller.
  (func (export "run_schedule") (result i32) (call $run (i32.const 10)))
  (func (export "receive_webhook") (result i32) (call $run (i32.const 11))))
