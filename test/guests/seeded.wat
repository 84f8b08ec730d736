;; seeded: seeds itself when it starts, as Go and many others do, and tells its seed when it is called.
(module
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (memory (export "memory") 1)
  (data (i32.const 0) "{\"tools\":[{\"name\":\"seed\",\"inputSchema\":{\"type\":\"object\"}}]}")
  (data (i32.const 100) "{\"content\":[{\"type\":\"text\",\"text\":\"                \"}]}")
  (func $say (param $at i32) (param $length i32)
    (local $block i64) (local $i i32)
    (local.set $block (call $alloc (i64.extend_i32_u (local.get $length))))
    (loop $more
      (call $store
        (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))
        (i32.load8_u (i32.add (local.get $at) (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $i) (local.get $length))))
    (call $output (local.get $block) (i64.extend_i32_u (local.get $length))))
  (func (export "_initialize")
    (local $i i32)
    (drop (call $random (i32.const 135) (i32.const 16)))
    ;; Letters, so that they stand in JSON as they are.
    (loop $more
      (i32.store8 offset=135
        (local.get $i)
        (i32.add (i32.const 97) (i32.and (i32.load8_u offset=135 (local.get $i)) (i32.const 15))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $i) (i32.const 16)))))
  (func (export "list_tools") (result i32)
    (call $say (i32.const 0) (i32.const 59))
    (i32.const 0))
  (func (export "call_tool") (result i32)
    (call $say (i32.const 100) (i32.const 55))
    (i32.const 0)))
