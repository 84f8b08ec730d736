;; A component that uses the asynchronous functions of the component model as no toolchain does. Made by
;; `npx @bytecodealliance/jco@1.35.0 parse waits.wat -o waits.wasm`.
(component
  (import "wasi:clocks/monotonic-clock@0.3.2" (instance $clock
    (export "now" (func (result u64)))
    (export "wait-for" (func async (param "how-long" u64)))))
  (import "wasi:cli/stdin@0.3.2" (instance $stdin
    (export "read-via-stream"
      (func (result (tuple (stream u8) (future (result (error (enum "io" "illegal-byte-sequence" "pipe"))))))))))
  (import "wasi:cli/stdout@0.3.2" (instance $stdout
    (export "write-via-stream" (func (param "data" (stream u8))
      (result (future (result (error (enum "io" "illegal-byte-sequence" "pipe")))))))))
  (core module $memory (memory (export "memory") 2) (data (i32.const 3072) "headbody"))
  (core instance $m (instantiate $memory))
  (alias core export $m "memory" (core memory $mem))
  (type $bytes (stream u8))
  (type $texts (stream string))
  (type $number (future u32))
  (core func $now (canon lower (func $clock "now")))
  (core func $begin (canon lower (func $clock "wait-for") async (memory $mem)))
  (core func $wait-for (canon lower (func $clock "wait-for")))
  (core func $stdin (canon lower (func $stdin "read-via-stream") (memory $mem)))
  (core func $print (canon lower (func $stdout "write-via-stream")))
  (core func $return (canon task.return (result u64)))
  (core func $return-other (canon task.return (result u32)))
  (core func $cancel-task (canon task.cancel))
  (core func $cancel (canon subtask.cancel))
  (core func $drop (canon subtask.drop))
  (core func $new-set (canon waitable-set.new))
  (core func $wait (canon waitable-set.wait (memory $mem)))
  (core func $poll (canon waitable-set.poll (memory $mem)))
  (core func $drop-set (canon waitable-set.drop))
  (core func $join (canon waitable.join))
  (core func $get (canon context.get i32 1))
  (core func $set (canon context.set i32 1))
  (core func $new (canon stream.new $bytes))
  (core func $read (canon stream.read $bytes (memory $mem) async))
  (core func $read-now (canon stream.read $bytes (memory $mem)))
  (core func $write (canon stream.write $bytes (memory $mem) async))
  (core func $cancel-read (canon stream.cancel-read $bytes))
  (core func $cancel-write (canon stream.cancel-write $bytes))
  (core func $drop-reader (canon stream.drop-readable $bytes))
  (core func $drop-writer (canon stream.drop-writable $bytes))
  (core func $new-texts (canon stream.new $texts))
  (core module $realloc (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 8192)))
  (core instance $r (instantiate $realloc))
  (alias core export $r "realloc" (core func $realloc))
  (core func $read-texts (canon stream.read $texts (memory $mem) (realloc $realloc) async))
  (core func $write-texts (canon stream.write $texts (memory $mem) async))
  (core func $new-future (canon future.new $number))
  (core func $write-future (canon future.write $number (memory $mem) async))
  (core func $read-future (canon future.read $number (memory $mem) async))
  (core func $cancel-future-read (canon future.cancel-read $number))
  (core func $inc (canon backpressure.inc))
  (core func $dec (canon backpressure.dec))
  (core func $drop-future-reader (canon future.drop-readable $number))
  (core func $drop-future-writer (canon future.drop-writable $number))
  (core module $main
    (import "m" "memory" (memory 2))
    (import "h" "now" (func $now (result i64)))
    (import "h" "begin" (func $begin (param i64) (result i32)))
    (import "h" "wait-for" (func $wait-for (param i64)))
    (import "h" "stdin" (func $stdin (param i32)))
    (import "h" "print" (func $print (param i32) (result i32)))
    (import "h" "return" (func $return (param i64)))
    (import "h" "return-other" (func $return-other (param i32)))
    (import "h" "cancel-task" (func $cancel-task))
    (import "h" "cancel" (func $cancel (param i32) (result i32)))
    (import "h" "drop" (func $drop (param i32)))
    (import "h" "new-set" (func $new-set (result i32)))
    (import "h" "wait" (func $wait (param i32 i32) (result i32)))
    (import "h" "poll" (func $poll (param i32 i32) (result i32)))
    (import "h" "drop-set" (func $drop-set (param i32)))
    (import "h" "join" (func $join (param i32 i32)))
    (import "h" "get" (func $get (result i32)))
    (import "h" "set" (func $set (param i32)))
    (import "h" "new" (func $new (result i64)))
    (import "h" "read" (func $read (param i32 i32 i32) (result i32)))
    (import "h" "read-now" (func $read-now (param i32 i32 i32) (result i32)))
    (import "h" "write" (func $write (param i32 i32 i32) (result i32)))
    (import "h" "cancel-read" (func $cancel-read (param i32) (result i32)))
    (import "h" "cancel-write" (func $cancel-write (param i32) (result i32)))
    (import "h" "cancel-future-read" (func $cancel-future-read (param i32) (result i32)))
    (import "h" "inc" (func $inc))
    (import "h" "dec" (func $dec))
    (import "h" "drop-reader" (func $drop-reader (param i32)))
    (import "h" "drop-writer" (func $drop-writer (param i32)))
    (import "h" "new-texts" (func $new-texts (result i64)))
    (import "h" "read-texts" (func $read-texts (param i32 i32 i32) (result i32)))
    (import "h" "write-texts" (func $write-texts (param i32 i32 i32) (result i32)))
    (import "h" "new-future" (func $new-future (result i64)))
    (import "h" "write-future" (func $write-future (param i32 i32) (result i32)))
    (import "h" "read-future" (func $read-future (param i32 i32) (result i32)))
    (import "h" "drop-future-reader" (func $drop-future-reader (param i32)))
    (import "h" "drop-future-writer" (func $drop-future-writer (param i32)))
    (global $kept (mut i32) (i32.const 0))
    (global $mode (mut i32) (i32.const 0))
    (global $reader (mut i32) (i32.const 0))
    (global $writer (mut i32) (i32.const 0))

    (func $second (result i32) (call $drop (i32.shr_u (call $begin (i64.const 1000000000)) (i32.const 4))) (i32.const 0))
    ;; A timer of one second, in a new set.
    (func $timer (result i32) (local $set i32)
      (local.set $set (call $new-set))
      (call $join (i32.shr_u (call $begin (i64.const 1000000000)) (i32.const 4)) (local.get $set))
      (local.get $set))
    (func $both (param $ends i64)
      (global.set $reader (i32.wrap_i64 (local.get $ends)))
      (global.set $writer (i32.wrap_i64 (i64.shr_u (local.get $ends) (i64.const 32)))))
    ;; A write of eight bytes, of which four are read.
    (func $half
      (call $both (call $new))
      (drop (call $write (global.get $writer) (i32.const 3072) (i32.const 8)))
      (drop (call $read (global.get $reader) (i32.const 2048) (i32.const 4))))
    (func $done (param $value i32) (result i32) (call $return (i64.extend_i32_u (local.get $value))) (i32.const 0))

    (func (export "run") (param $kind i32) (result i32) (local $one i32)
      (global.set $mode (local.get $kind))
      (block $31 (block $30 (block $29 (block $28 (block $27 (block $26 (block $25 (block $24 (block $23 (block $22 (block $21 (block $20 (block $19 (block $18 (block $17 (block $16 (block $15
      (block $14 (block $13 (block $12 (block $11 (block $10 (block $9 (block $8 (block $7 (block $6 (block $5 (block $4
      (block $3 (block $2 (block $1 (block $0
        (br_table $0 $1 $2 $3 $4 $5 $6 $7 $8 $9 $10 $11 $12 $13 $14 $15 $16 $17 $18 $19 $20 $21 $22 $23 $24 $25 $26 $27 $28 $29 $30 $31 (local.get $kind)))
      ;; 0: no result
      (return (i32.const 0)))
      ;; 1: two results
      (call $return (i64.const 1)) (return (call $done (i32.const 2))))
      ;; 2: a result of another type
      (call $return-other (i32.const 1)) (return (i32.const 0)))
      ;; 3: a code that there is not
      (return (i32.const 3)))
      ;; 4: a set that there is not
      (return (i32.const 0x12342)))
      ;; 5: a set with nothing in it
      (return (i32.or (i32.const 2) (i32.shl (call $new-set) (i32.const 4)))))
      ;; 6: yields for ever
      (return (i32.const 1)))
      ;; 7: a set of an earlier call
      (if (global.get $kept) (then (return (i32.or (i32.const 2) (i32.shl (global.get $kept) (i32.const 4))))))
      (global.set $kept (call $timer))
      (return (call $done (i32.const 7))))
      ;; 8: a timer that is cancelled
      (local.set $one (i32.shr_u (call $begin (i64.const 1000000000)) (i32.const 4)))
      (call $return (i64.extend_i32_u (call $cancel (local.get $one))))
      (call $drop (local.get $one))
      (return (i32.const 0)))
      ;; 9: a timer that is waited for
      (return (i32.or (i32.const 2) (i32.shl (call $timer) (i32.const 4)))))
      ;; 10: drops what is under way
      (return (call $second)))
      ;; 11: drops a set with something in it
      (call $drop-set (call $timer)) (return (i32.const 0)))
      ;; 12: begins more and more
      (loop $more (drop (call $begin (i64.const 1))) (br $more)))
      ;; 13: writes to nobody
      (call $both (call $new)) (call $drop-reader (global.get $reader))
      (local.set $one (call $write (global.get $writer) (i32.const 1024) (i32.const 4)))
      (call $drop-writer (global.get $writer))
      (return (call $done (local.get $one))))
      ;; 14: an empty write completes when the reader arrives
      (call $both (call $new))
      (drop (call $write (global.get $writer) (i32.const 1024) (i32.const 0)))
      (local.set $one (call $new-set))
      (call $join (global.get $writer) (local.get $one))
      (if (i32.ne (call $read (global.get $reader) (i32.const 1024) (i32.const 4)) (i32.const -1)) (then (unreachable)))
      (return (i32.or (i32.const 2) (i32.shl (local.get $one) (i32.const 4)))))
      ;; 15: texts of its own
      (call $both (call $new-texts))
      (drop (call $write-texts (global.get $writer) (i32.const 1024) (i32.const 1)))
      (return (call $done (call $read-texts (global.get $reader) (i32.const 1024) (i32.const 1)))))
      ;; 16: what a task keeps
      (local.set $one (call $get)) (call $set (i32.const 16))
      (return (call $done (i32.add (call $get) (local.get $one)))))
      ;; 17: asks whether a second is over
      (return (call $done (call $poll (call $timer) (i32.const 1024)))))
      ;; 18: a read that is cancelled
      (call $both (call $new))
      (drop (call $read (global.get $reader) (i32.const 1024) (i32.const 4)))
      (return (call $done (call $cancel-read (global.get $reader)))))
      ;; 19: reads where it writes
      (call $both (call $new))
      (return (call $done (call $read (global.get $writer) (i32.const 1024) (i32.const 4)))))
      ;; 20: a future that nobody wants
      (call $both (call $new-future)) (call $drop-future-reader (global.get $reader))
      (local.set $one (call $write-future (global.get $writer) (i32.const 1024)))
      (call $drop-future-writer (global.get $writer))
      (return (call $done (local.get $one))))
      ;; 21: a future without a value
      (call $both (call $new-future)) (call $drop-future-writer (global.get $writer)) (return (i32.const 0)))
      ;; 22: reads twice at once
      (call $both (call $new))
      (drop (call $read (global.get $reader) (i32.const 1024) (i32.const 4)))
      (return (call $done (call $read (global.get $reader) (i32.const 1024) (i32.const 4)))))
      ;; 23: a number by a future
      (call $both (call $new-future))
      (i32.store (i32.const 1024) (i32.const 42))
      (drop (call $write-future (global.get $writer) (i32.const 1024)))
      (if (call $read-future (global.get $reader) (i32.const 1028)) (then (unreachable)))
      (return (call $done (i32.load (i32.const 1028)))))
      ;; 24: cancels itself
      (call $cancel-task) (return (i32.const 0)))
      ;; 25: one write that is read in two parts
      (call $both (call $new))
      (drop (call $write (global.get $writer) (i32.const 1024) (i32.const 8)))
      (if (i32.ne (call $read (global.get $reader) (i32.const 2048) (i32.const 4)) (i32.const 64)) (then (unreachable)))
      (if (i32.ne (call $read (global.get $reader) (i32.const 2048) (i32.const 4)) (i32.const 64)) (then (unreachable)))
      (return (call $done (call $cancel-write (global.get $writer)))))
      ;; 26: a future that is no longer wanted, with backpressure
      (call $inc) (call $dec)
      (call $both (call $new-future))
      (drop (call $read-future (global.get $reader) (i32.const 1024)))
      (return (call $done (call $cancel-future-read (global.get $reader)))))
      ;; 27: a part of a write that is dropped
      (call $both (call $new))
      (drop (call $write (global.get $writer) (i32.const 1024) (i32.const 8)))
      (drop (call $read (global.get $reader) (i32.const 2048) (i32.const 4)))
      (call $drop-reader (global.get $reader))
      (return (call $done (call $cancel-write (global.get $writer)))))
      ;; 28: a stream that is printed after a part of it was read
      (call $half) (drop (call $print (global.get $reader)))
      (return (call $done (call $cancel-write (global.get $writer)))))
      ;; 29: a stream that is read after it was passed on
      (call $both (call $new)) (drop (call $print (global.get $reader)))
      (return (call $done (call $read (global.get $reader) (i32.const 2048) (i32.const 4)))))
      ;; 30: a write that was read to its end, and dropped
      (call $half) (drop (call $read (global.get $reader) (i32.const 2048) (i32.const 4)))
      (call $drop-reader (global.get $reader))
      (return (call $done (call $cancel-write (global.get $writer)))))
      ;; 31: an empty write completes behind a read whose buffer is full
      (call $both (call $new))
      (drop (call $read (global.get $reader) (i32.const 2048) (i32.const 4)))
      (drop (call $write (global.get $writer) (i32.const 3072) (i32.const 4)))
      (call $done (call $write (global.get $writer) (i32.const 3072) (i32.const 0))))
    (func (export "callback") (param $event i32) (param $of i32) (param $payload i32) (result i32)
      (if (i32.eq (global.get $mode) (i32.const 6)) (then (return (i32.const 1))))
      (call $done (i32.add (i32.mul (local.get $event) (i32.const 1000)) (local.get $payload))))

    ;; Functions that wait within, and have no callback.
    (func (export "deep") (param $kind i32) (local $one i32)
      (if (i32.eq (local.get $kind) (i32.const 0)) (then
        (call $return (i64.extend_i32_u (i32.add
          (i32.mul (call $wait (call $timer) (i32.const 1024)) (i32.const 1000)) (i32.load (i32.const 1028)))))))
      (if (i32.eq (local.get $kind) (i32.const 1)) (then
        (call $stdin (i32.const 1024))
        (call $return (i64.extend_i32_u (call $read-now (i32.load (i32.const 1024)) (i32.const 2048) (i32.const 4))))))
      (if (i32.eq (local.get $kind) (i32.const 4)) (then
        ;; A timer that is over before it is cancelled.
        (local.set $one (i32.shr_u (call $begin (i64.const 1000)) (i32.const 4)))
        (drop (call $wait (call $timer) (i32.const 1024)))
        (call $return (i64.extend_i32_u (call $cancel (local.get $one))))
        (call $drop (local.get $one))))
      (if (i32.eq (local.get $kind) (i32.const 2)) (then
        (call $both (call $new))
        (call $return (i64.extend_i32_u (call $read-now (global.get $reader) (i32.const 2048) (i32.const 4)))))))

    ;; Functions that are not asynchronous.
    (func (export "plain") (param $kind i32) (result i64) (local $before i64)
      (local.set $before (call $now))
      (if (i32.eq (local.get $kind) (i32.const 0)) (then (call $wait-for (i64.const 2000000000))))
      (if (i32.eq (local.get $kind) (i32.const 1)) (then (call $return (i64.const 1))))
      (i64.sub (call $now) (local.get $before))))
  (core instance $i (instantiate $main
    (with "m" (instance $m))
    (with "h" (instance
      (export "now" (func $now)) (export "begin" (func $begin)) (export "wait-for" (func $wait-for))
      (export "stdin" (func $stdin)) (export "print" (func $print)) (export "return" (func $return)) (export "return-other" (func $return-other))
      (export "cancel-task" (func $cancel-task)) (export "cancel" (func $cancel)) (export "drop" (func $drop))
      (export "new-set" (func $new-set)) (export "wait" (func $wait)) (export "poll" (func $poll))
      (export "drop-set" (func $drop-set)) (export "join" (func $join)) (export "get" (func $get)) (export "set" (func $set))
      (export "new" (func $new)) (export "read" (func $read)) (export "read-now" (func $read-now))
      (export "write" (func $write)) (export "cancel-read" (func $cancel-read)) (export "drop-reader" (func $drop-reader))
      (export "drop-writer" (func $drop-writer)) (export "new-texts" (func $new-texts))
      (export "read-texts" (func $read-texts)) (export "write-texts" (func $write-texts))
      (export "new-future" (func $new-future)) (export "write-future" (func $write-future))
      (export "read-future" (func $read-future)) (export "drop-future-reader" (func $drop-future-reader))
      (export "cancel-write" (func $cancel-write)) (export "cancel-future-read" (func $cancel-future-read))
      (export "inc" (func $inc)) (export "dec" (func $dec))
      (export "drop-future-writer" (func $drop-future-writer))))))
  (alias core export $i "run" (core func $run))
  (alias core export $i "callback" (core func $callback))
  (alias core export $i "deep" (core func $deep))
  (alias core export $i "plain" (core func $plain))
  (type $waiting (func async (param "kind" u32) (result u64)))
  (type $direct (func (param "kind" u32) (result u64)))
  (func $f-run (type $waiting) (canon lift (core func $run) async (callback $callback)))
  (func $f-deep (type $waiting) (canon lift (core func $deep) async))
  (func $f-plain (type $direct) (canon lift (core func $plain)))
  (export "run" (func $f-run))
  (export "deep" (func $f-deep))
  (export "plain" (func $f-plain)))
