;; operations: does with its tables, its memory and the host what its argument says: operations of a letter
;; and three numbers in eight hexadecimal digits each. They stand at a fixed place in the input.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (import "extism:host/env" "input_load_u8" (func $input (param i64) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 64)
  (table $first 10 funcref)
  (table $second 10 funcref)
  (elem $segment func $list $list $list $list $list $list $list $list)
  (data (i32.const 0) "{\"tools\":[{\"name\":\"operate\",\"inputSchema\":{\"type\":\"object\"}}]}")
  (data (i32.const 100) "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}")

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

  (func $list (export "list_tools") (result i32)
    (call $say (i32.const 0) (i32.const 62))
    (i32.const 0))

  (func $number (param $at i64) (result i32)
    (local $value i32) (local $digit i32) (local $left i32)
    (local.set $left (i32.const 8))
    (loop $more
      (local.set $digit (call $input (local.get $at)))
      (local.set $digit
        (i32.sub (local.get $digit)
          (select (i32.const 87) (i32.const 48) (i32.gt_u (local.get $digit) (i32.const 57)))))
      (local.set $value (i32.or (i32.shl (local.get $value) (i32.const 4)) (local.get $digit)))
      (local.set $at (i64.add (local.get $at) (i64.const 1)))
      (br_if $more (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
    (local.get $value))

  ;; $count vectors at $at, each of $length bytes from $from on.
  (func $vectors (param $at i32) (param $count i32) (param $from i32) (param $length i32)
    (loop $more
      (i32.store (local.get $at) (local.get $from))
      (i32.store offset=4 (local.get $at) (local.get $length))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br_if $more (local.tee $count (i32.sub (local.get $count) (i32.const 1))))))

  (func $operate (param $what i32) (param $a i32) (param $b i32) (param $c i32)
    (if (i32.eq (local.get $what) (i32.const 103)) ;; g: grow
      (then
        (drop (table.grow $first (ref.func $list) (local.get $a)))
        (drop (table.grow $second (ref.null func) (local.get $b)))))
    (if (i32.eq (local.get $what) (i32.const 102)) ;; f: fill
      (then (table.fill $first (local.get $a) (ref.func $list) (local.get $b))))
    (if (i32.eq (local.get $what) (i32.const 99)) ;; c: copy, from one into the other
      (then (table.copy $second $first (local.get $a) (local.get $b) (local.get $c))))
    (if (i32.eq (local.get $what) (i32.const 111)) ;; o: copy, over itself
      (then (table.copy $first $first (local.get $a) (local.get $b) (local.get $c))))
    (if (i32.eq (local.get $what) (i32.const 105)) ;; i: init
      (then (table.init $first $segment (local.get $a) (local.get $b) (local.get $c))))
    (if (i32.eq (local.get $what) (i32.const 118)) ;; v: vectors, all over one range
      (then (call $vectors (i32.const 65536) (local.get $a) (local.get $b) (local.get $c))))
    (if (i32.eq (local.get $what) (i32.const 119)) ;; w: write
      (then (drop (call $write (local.get $a) (local.get $b) (local.get $c) (i32.const 1024)))))
    (if (i32.eq (local.get $what) (i32.const 114)) ;; r: read
      (then (drop (call $read (local.get $a) (local.get $b) (local.get $c) (i32.const 1024)))))
    (if (i32.eq (local.get $what) (i32.const 101)) ;; e: entropy
      (then (drop (call $random (local.get $a) (local.get $b)))))
    (if (i32.eq (local.get $what) (i32.const 112)) ;; p: poll
      (then (drop (call $poll (local.get $a) (local.get $b) (local.get $c) (i32.const 1024)))))
    (if (i32.eq (local.get $what) (i32.const 109)) ;; m: memory
      (then (drop (memory.grow (local.get $a)))))
    (if (i32.eq (local.get $what) (i32.const 98)) ;; b: bytes
      (then (memory.fill (local.get $a) (local.get $b) (local.get $c)))))

  ;; Again and again, where the first is an x: as often as its first number says.
  (func (export "call_tool") (result i32)
    (local $at i64) (local $what i32) (local $left i32)
    (local.set $left (i32.const 1))
    (if (i32.eq (call $input (i64.const 48)) (i32.const 120))
      (then (local.set $left (call $number (i64.const 49)))))
    (loop $again
      (local.set $at (i64.const 48))
      (block $end
        (loop $more
          (local.set $what (call $input (local.get $at)))
          (br_if $end (i32.lt_u (local.get $what) (i32.const 97)))
          (call $operate
            (local.get $what)
            (call $number (i64.add (local.get $at) (i64.const 1)))
            (call $number (i64.add (local.get $at) (i64.const 9)))
            (call $number (i64.add (local.get $at) (i64.const 17))))
          (local.set $at (i64.add (local.get $at) (i64.const 25)))
          (br $more)))
      (br_if $again (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
    (call $say (i32.const 100) (i32.const 43))
    (i32.const 0)))
