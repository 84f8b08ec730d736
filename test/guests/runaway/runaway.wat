;; runaway: computes for ever. The first letter of a tool's name says how; it stands at a fixed place in
;; the input.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "free" (func $free (param i64)))
  (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (import "extism:host/env" "input_load_u8" (func $input (param i64) (result i32)))
  (import "extism:host/env" "get_log_level" (func $level (result i32)))
  (import "extism:host/env" "log_error" (func $log (param i64)))
  (import "extism:host/env" "var_get" (func $var (param i64) (result i64)))
  (import "extism:host/user" "notify_progress" (func $notify (param i64)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff"
    (func $poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 64)
  (table funcref (elem $level $call))
  (table $many 10 funcref)
  (elem $segment func $level $call $level $call $level $call $level $call)
  (type $nothing (func (result i32)))
  (tag $thrown)
  (data (i32.const 0) "{\"tools\":[{\"name\":\"loop\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"recurse\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"grow\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"host\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"indirect\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"fill\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"catch\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"throw\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"deaf\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"branch\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"poll\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"kernel\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"entropy\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"write_logs\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"swell\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"move\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"unwind\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"quick\",\"inputSchema\":{\"type\":\"object\"}}]}")
  (data (i32.const 2000) "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}")
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
  (func (export "list_tools") (result i32)
    (local $end i32)
    (loop $more
      (local.set $end (i32.add (local.get $end) (i32.const 1)))
      (br_if $more (i32.load8_u (local.get $end))))
    (call $say (i32.const 0) (local.get $end))
    (i32.const 0))

  (func $deep (param $depth i32) (result i32)
    (i32.add (call $deep (i32.add (local.get $depth) (i32.const 1))) (local.get $depth)))
  ;; A tree of calls, two for each.
  (func $tree (param $depth i32) (result i32)
    (if (result i32) (local.get $depth)
      (then
        (i32.add
          (call $tree (i32.sub (local.get $depth) (i32.const 1)))
          (call $tree (i32.sub (local.get $depth) (i32.const 1)))))
      (else (i32.load (i32.const 0)))))
  (func $throws (throw $thrown))
  (func $throws_below (param $depth i32) (result i32)
    (if (i32.eqz (local.get $depth)) (then (throw $thrown)))
    (i32.add
      (call $throws_below (i32.sub (local.get $depth) (i32.const 1)))
      (local.get $depth)))

  (func $call (export "call_tool") (result i32)
    (local $how i32) (local $block i64)
    (local.set $how (call $input (i64.const 20)))
    (if (i32.eq (local.get $how) (i32.const 108)) ;; loop
      (then (loop $ever (br $ever))))
    (if (i32.eq (local.get $how) (i32.const 114)) ;; recurse, again after each time that it went too deep
      (then (loop $ever
        (block $caught (try_table (catch_all $caught) (drop (call $deep (i32.const 0)))))
        (br $ever))))
    (if (i32.eq (local.get $how) (i32.const 103)) ;; grow
      (then (loop $ever (drop (memory.grow (i32.const 1))) (br $ever))))
    (if (i32.eq (local.get $how) (i32.const 104)) ;; host
      (then (loop $ever (drop (call $level)) (drop (call $var (i64.const 0))) (br $ever))))
    (if (i32.eq (local.get $how) (i32.const 105)) ;; indirect
      (then (loop $ever (drop (call_indirect (type $nothing) (i32.const 0))) (br $ever))))
    (if (i32.eq (local.get $how) (i32.const 102)) ;; fill
      (then (loop $ever
        (memory.fill (i32.const 4096) (i32.const 7) (i32.const 4000000))
        (memory.copy (i32.const 4096) (i32.const 8192) (i32.const 4000000))
        (br $ever))))
    (if (i32.eq (local.get $how) (i32.const 99)) ;; catch
      (then (loop $ever
        (block $caught (try_table (catch_all $caught) (call $throws)))
        (br $ever))))
    (if (i32.eq (local.get $how) (i32.const 116)) ;; throw: a loop that is turned by exceptions alone
      (then (loop $ever (try_table (catch $thrown $ever) (throw $thrown)))))
    (if (i32.eq (local.get $how) (i32.const 100)) ;; deaf to the host, which has ended it
      (then (loop $ever
        (block $caught (try_table (catch_all $caught) (call $notify (i64.const 0))))
        (br $ever))))
    (if (i32.eq (local.get $how) (i32.const 98)) ;; branch
      (then (drop (call $tree (i32.const 100)))))
    (if (i32.eq (local.get $how) (i32.const 112)) ;; poll
      (then (loop $ever
        (i32.store8 (i32.const 4104) (i32.const 1))
        (drop (call $poll (i32.const 4096) (i32.const 8192) (i32.const 1) (i32.const 3000)))
        (br $ever))))
    (if (i32.eq (local.get $how) (i32.const 107)) ;; kernel: a list of free blocks that bites its tail
      (then
        (local.set $block (call $alloc (i64.const 70000)))
        (call $free (local.get $block))
        (call $store_u64 (local.get $block) (local.get $block))
        (call $store_u64 (i64.sub (local.get $block) (i64.const 4)) (i64.shl (local.get $block) (i64.const 32)))
        (drop (call $alloc (i64.const 1000000)))))
    (if (i32.eq (local.get $how) (i32.const 101)) ;; entropy
      (then (loop $ever (drop (call $random (i32.const 4096) (i32.const 4000000))) (br $ever))))
    (if (i32.eq (local.get $how) (i32.const 119)) ;; write_logs
      (then
        (local.set $block (call $alloc (i64.const 4000000)))
        (loop $ever (call $log (local.get $block)) (br $ever))))
    (if (i32.eq (local.get $how) (i32.const 115)) ;; swell: tables grow as far as they may
      (then (loop $ever
        (drop (table.grow $many (ref.func $call) (i32.const 10000)))
        (drop (table.grow 0 (ref.null func) (i32.const 10000000)))
        (br $ever))))
    (if (i32.eq (local.get $how) (i32.const 109)) ;; move: all that a table holds
      (then
        (drop (table.grow $many (ref.func $call) (i32.const 40000)))
        (loop $ever
          (table.fill $many (i32.const 0) (ref.func $call) (table.size $many))
          (table.copy $many $many (i32.const 1) (i32.const 0) (i32.const 40000))
          (table.init $many $segment (i32.const 0) (i32.const 0) (i32.const 8))
          (br $ever))))
    (if (i32.eq (local.get $how) (i32.const 117)) ;; unwind: thousands of frames each time
      (then (loop $ever
        (block $caught
          (try_table (catch_all $caught) (drop (call $throws_below (i32.const 5000)))))
        (br $ever))))
    (call $say (i32.const 2000) (i32.const 43))
    (i32.const 0)))
