;; A component with data at low addresses and at 1024, which tells whether they are as they were. Handles are written as
;; numbers. Made by `npx @bytecodealliance/jco@1.35.0 parse low.wat -o low.wasm`.
(component
  (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
    (export "subscribe-duration" (func (param "when" u64) (result u32)))))
  (import "wasi:io/poll@0.2.0" (instance $poll
    (export "[method]pollable.ready" (func (param "self" u32) (result bool)))))
  (import "wasi:io/streams@0.2.0" (instance $streams
    (export "[method]input-stream.skip" (func (param "self" u32) (param "len" u64) (result (result u64 (error u64)))))
    (export "[method]output-stream.splice"
      (func (param "self" u32) (param "src" u32) (param "len" u64) (result (result u64 (error u64)))))
    (export "[method]output-stream.write-zeroes"
      (func (param "self" u32) (param "len" u64) (result (result (error u64)))))))
  (import "wasi:filesystem/types@0.2.0" (instance $files
    (export "[method]descriptor.open-at" (func (param "self" u32) (param "path-flags" u32) (param "path" string)
      (param "open-flags" u32) (param "flags" u32) (result (result u32 (error u8)))))
    (export "[method]descriptor.read-via-stream"
      (func (param "self" u32) (param "offset" u64) (result (result u32 (error u8)))))
    (export "[method]descriptor.write-via-stream"
      (func (param "self" u32) (param "offset" u64) (result (result u32 (error u8)))))))
  (core module $memory
    (memory (export "memory") 2)
    (data (i32.const 8) "0123456789abcdefghijklmnopqrstuvwxyz")
    (data (i32.const 528) "0123456789abcdefghijklmnopqrstuvwxyz")
    (data (i32.const 1024) "0123456789abcdefghijklmnopqrstuvwxyz")
    (data (i32.const 2048) "file"))
  (core instance $m (instantiate $memory))
  (alias core export $m "memory" (core memory $mem))
  (core func $later (canon lower (func $clock "subscribe-duration")))
  (core func $ready (canon lower (func $poll "[method]pollable.ready")))
  (core func $skip (canon lower (func $streams "[method]input-stream.skip") (memory $mem)))
  (core func $splice (canon lower (func $streams "[method]output-stream.splice") (memory $mem)))
  (core func $zeroes (canon lower (func $streams "[method]output-stream.write-zeroes") (memory $mem)))
  (core func $open (canon lower (func $files "[method]descriptor.open-at") (memory $mem)))
  (core func $reader (canon lower (func $files "[method]descriptor.read-via-stream") (memory $mem)))
  (core func $writer (canon lower (func $files "[method]descriptor.write-via-stream") (memory $mem)))
  (core module $main
    (import "m" "memory" (memory 2))
    (import "h" "later" (func $later (param i64) (result i32)))
    (import "h" "ready" (func $ready (param i32) (result i32)))
    (import "h" "skip" (func $skip (param i32 i64 i32)))
    (import "h" "splice" (func $splice (param i32 i32 i64 i32)))
    (import "h" "zeroes" (func $zeroes (param i32 i64 i32)))
    (import "h" "open" (func $open (param i32 i32 i32 i32 i32 i32 i32)))
    (import "h" "reader" (func $reader (param i32 i64 i32)))
    (import "h" "writer" (func $writer (param i32 i64 i32)))
    ;; A resource that is made as it starts.
    (func $begin (i32.store (i32.const 4100) (call $later (i64.const 1000000000))))
    (start $begin)
    (func (export "begun") (result i32) (call $ready (i32.load (i32.const 4100))))
    (func $same (param $address i32) (result i32)
      (i32.and
        (i64.eq (i64.load (local.get $address)) (i64.const 0x3736353433323130))
        (i64.eq (i64.load offset=8 (local.get $address)) (i64.const 0x6665646362613938))))
    (func $all (result i32)
      (i32.and (call $same (i32.const 8)) (i32.and (call $same (i32.const 528)) (call $same (i32.const 1024)))))
    (func (export "kept") (param i32 i64) (result i32) (call $all))
    ;; The number that was moved, as a `u64` after the tag.
    (func (export "moved") (param $length i64) (result i64)
      (local $file i32)
      ;; The first folder has the descriptor 3.
      (call $open (i32.const 29) (i32.const 0) (i32.const 2048) (i32.const 4) (i32.const 1) (i32.const 3) (i32.const 3072))
      (if (i32.load8_u (i32.const 3072)) (then (return (i64.const -1))))
      (local.set $file (i32.load (i32.const 3076)))
      (call $writer (local.get $file) (i64.const 0) (i32.const 3088))
      (call $zeroes (i32.load (i32.const 3092)) (local.get $length) (i32.const 3104))
      (if (i32.load8_u (i32.const 3104)) (then (return (i64.const -2))))
      (call $reader (local.get $file) (i64.const 0) (i32.const 3120))
      (call $skip (i32.load (i32.const 3124)) (i64.const 100) (i32.const 3136))
      (if (i32.load8_u (i32.const 3136)) (then (return (i64.const -3))))
      (call $splice (i32.const 2) (i32.load (i32.const 3124)) (local.get $length) (i32.const 3152))
      (if (i32.load8_u (i32.const 3152)) (then (return (i64.const -4))))
      (if (i32.eqz (call $all)) (then (return (i64.const -5))))
      (i64.add (i64.load (i32.const 3144)) (i64.load (i32.const 3160))))
    ;; Writes to the stream that the first call has made, with another open: 1 if that fails.
    (func (export "held") (result i32)
      (call $open (i32.const 29) (i32.const 0) (i32.const 2048) (i32.const 4) (i32.const 1) (i32.const 3) (i32.const 3072))
      (call $writer (i32.load (i32.const 3076)) (i64.const 0) (i32.const 3088))
      (if (i32.eqz (i32.load (i32.const 4096))) (then (i32.store (i32.const 4096) (i32.load (i32.const 3092)))))
      (call $zeroes (i32.load (i32.const 4096)) (i64.const 3) (i32.const 3104))
      (i32.load8_u (i32.const 3104))))
  (core instance $i (instantiate $main
    (with "m" (instance $m))
    (with "h" (instance
      (export "later" (func $later))
      (export "ready" (func $ready))
      (export "skip" (func $skip))
      (export "splice" (func $splice))
      (export "zeroes" (func $zeroes))
      (export "open" (func $open))
      (export "reader" (func $reader))
      (export "writer" (func $writer))))))
  (func $kept (param "one" u32) (param "other" u64) (result bool) (canon lift (core func $i "kept")))
  (export "kept" (func $kept))
  (func $moved (param "length" u64) (result s64) (canon lift (core func $i "moved")))
  (export "moved" (func $moved))
  (func $held (result u8) (canon lift (core func $i "held")))
  (export "held" (func $held))
  (func $begun (result bool) (canon lift (core func $i "begun")))
  (export "begun" (func $begun)))
