;; A component that counts the bytes of the blocks that it is asked for, and reads its environment as it starts. Handles are written as numbers. Made by
;; `npx @bytecodealliance/jco@1.35.0 parse blocks.wat -o blocks.wasm`.
(component
  (import "wasi:cli/environment@0.2.0" (instance $cli
    (export "get-environment" (func (result (list (tuple string string)))))))
  (import "wasi:io/streams@0.2.0" (instance $streams
    (export "[method]input-stream.read"
      (func (param "self" u32) (param "len" u64) (result (result (list u8) (error u64)))))
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
    (memory (export "memory") 4)
    (global $given (mut i32) (i32.const 0))
    (func (export "given") (result i32) (global.get $given))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (local $block i32)
      (local.set $block (i32.add (i32.const 8192) (global.get $given)))
      (global.set $given (i32.add (global.get $given) (i32.and (i32.add (local.get 3) (i32.const 7)) (i32.const -8))))
      (local.get $block))
    (data (i32.const 2048) "file"))
  (core instance $m (instantiate $memory))
  (alias core export $m "memory" (core memory $mem))
  (alias core export $m "realloc" (core func $realloc))
  (core func $environment (canon lower (func $cli "get-environment") (memory $mem) (realloc $realloc)))
  (core func $read (canon lower (func $streams "[method]input-stream.read") (memory $mem) (realloc $realloc)))
  (core func $zeroes (canon lower (func $streams "[method]output-stream.write-zeroes") (memory $mem)))
  (core func $open (canon lower (func $files "[method]descriptor.open-at") (memory $mem)))
  (core func $reader (canon lower (func $files "[method]descriptor.read-via-stream") (memory $mem)))
  (core func $writer (canon lower (func $files "[method]descriptor.write-via-stream") (memory $mem)))
  (core module $main
    (import "m" "memory" (memory 4))
    (import "m" "given" (func $given (result i32)))
    (import "h" "environment" (func $environment (param i32)))
    (import "h" "read" (func $read (param i32 i64 i32)))
    (import "h" "zeroes" (func $zeroes (param i32 i64 i32)))
    (import "h" "open" (func $open (param i32 i32 i32 i32 i32 i32 i32)))
    (import "h" "reader" (func $reader (param i32 i64 i32)))
    (import "h" "writer" (func $writer (param i32 i64 i32)))
    (func $begin (call $environment (i32.const 3168)))
    (start $begin)
    (func (export "told") (param i32 i32 i64) (result i32) (call $given))
    ;; Writes so many zeros and reads them, to the end of the file.
    (func (export "whole") (param $length i64) (result i32)
      (local $file i32)
      (local $before i32)
      ;; The first folder has the descriptor 3.
      (call $open (i32.const 29) (i32.const 0) (i32.const 2048) (i32.const 4) (i32.const 1) (i32.const 3) (i32.const 3072))
      (if (i32.load8_u (i32.const 3072)) (then (unreachable)))
      (local.set $file (i32.load (i32.const 3076)))
      (call $writer (local.get $file) (i64.const 0) (i32.const 3088))
      (call $zeroes (i32.load (i32.const 3092)) (local.get $length) (i32.const 3104))
      (call $reader (local.get $file) (i64.const 0) (i32.const 3120))
      (local.set $before (call $given))
      (loop $again
        (call $read (i32.load (i32.const 3124)) (i64.const 1000000) (i32.const 3136))
        (br_if $again (i32.eqz (i32.load8_u (i32.const 3136)))))
      (i32.sub (call $given) (local.get $before))))
  (core instance $i (instantiate $main
    (with "m" (instance $m))
    (with "h" (instance
      (export "environment" (func $environment))
      (export "read" (func $read))
      (export "zeroes" (func $zeroes))
      (export "open" (func $open))
      (export "reader" (func $reader))
      (export "writer" (func $writer))))))
  (func $told (param "text" string) (param "number" u64) (result u32)
    (canon lift (core func $i "told") (memory $mem) (realloc $realloc)))
  (export "told" (func $told))
  (func $whole (param "length" u64) (result u32) (canon lift (core func $i "whole")))
  (export "whole" (func $whole)))
