;; pages: changes one page of 4 KiB of its memory in each call, the next one each time. Its memory has 64 KB, or
;; 10 MB from a call on whose input has an "@"; all of it is written then.
(module
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "input_load_u8" (func $input (param i64) (result i32)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (memory (export "memory") 1)
  (global $page (mut i32) (i32.const 0))
  (data (i32.const 256) "{\"tools\":[{\"name\":\"change\",\"inputSchema\":{\"type\":\"object\"}}]}")
  (data (i32.const 512) "{\"content\":[{\"type\":\"text\",\"text\":\"one page\"}]}")
  (func $say (param $at i32) (param $length i32) (result i32)
    (local $block i64) (local $i i32)
    (local.set $block (call $alloc (i64.extend_i32_u (local.get $length))))
    (loop $more
      (call $store
        (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))
        (i32.load8_u (i32.add (local.get $at) (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $i) (local.get $length))))
    (call $output (local.get $block) (i64.extend_i32_u (local.get $length)))
    (i32.const 0))
  (func $is_large (result i32)
    (local $i i64) (local $length i64)
    (local.set $length (call $input_length))
    (loop $more
      (if (i32.eq (call $input (local.get $i)) (i32.const 64)) (then (return (i32.const 1))))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br_if $more (i64.lt_u (local.get $i) (local.get $length))))
    (i32.const 0))
  (func (export "list_tools") (result i32)
    (call $say (i32.const 256) (i32.const 61)))
  (func (export "call_tool") (result i32)
    (local $at i32)
    (if (i32.and (call $is_large) (i32.eq (memory.size) (i32.const 1)))
      (then
        (if (i32.eq (memory.grow (i32.const 159)) (i32.const -1)) (then (unreachable)))
        (memory.fill (i32.const 65536) (i32.const 7) (i32.const 10420224))))
    (global.set $page (i32.rem_u
      (i32.add (global.get $page) (i32.const 1))
      (i32.mul (memory.size) (i32.const 16))))
    ;; Behind the text in the first one.
    (local.set $at (i32.add (i32.mul (global.get $page) (i32.const 4096)) (i32.const 1024)))
    (i32.store (local.get $at) (i32.add (i32.load (local.get $at)) (i32.const 1)))
    (call $say (i32.const 512) (i32.const 47))))
