;; The memory half of Extism's `extism:host/env`, as Wasm: the bundle step merges this module into
;; every servlet, so that guest and kernel call each other without leaving Wasm.
;; The imports it answers: https://github.com/extism/extism/blob/main/kernel/README.md
;;
;; All state lives in the kernel's own memory, so a zeroed memory is a new kernel:
;;
;;    8  top: the first address never handed out (0 means $base)
;;   12  input block       16  input length
;;   20  output address    24  output length
;;   28  error block
;;   32  heads of the free lists: one for each power of two, 16 B … 64 KiB
;;   84  head of the free list of larger blocks
;;
;; A block is 8 bytes of header and its data, aligned to 8. Header: length in bytes (u32), then
;; capacity in bytes (a multiple of 16, u32) whose lowest bit says that the block is in use.
;; The data of a free block begins with the address of the next free one.
(module
  (memory $memory (export "edge_memory") 1)
  (global $base i32 (i32.const 96))

  ;; Which free list holds blocks of this capacity: its head's address.
  (func $list (param $capacity i32) (result i32)
    (if (i32.gt_u (local.get $capacity) (i32.const 65536)) (then (return (i32.const 84))))
    ;; 16 → 32, 32 → 36, … 65536 → 80
    (i32.add
      (i32.const 16)
      (i32.shl (i32.ctz (local.get $capacity)) (i32.const 2))))

  ;; A capacity for so many bytes: a power of two, or pages of 4 KiB for the large.
  (func $capacity (param $length i32) (result i32)
    (if (i32.le_u (local.get $length) (i32.const 16)) (then (return (i32.const 16))))
    (if (i32.le_u (local.get $length) (i32.const 65536))
      (then
        (return
          (i32.shl
            (i32.const 1)
            (i32.sub (i32.const 32) (i32.clz (i32.sub (local.get $length) (i32.const 1))))))))
    (i32.and (i32.add (local.get $length) (i32.const 4095)) (i32.const -4096)))

  ;; Takes a free block of at least $capacity off its list; 0 where there is none.
  (func $reuse (param $capacity i32) (result i32)
    (local $link i32) (local $block i32)
    (local.set $link (call $list (local.get $capacity)))
    (loop $next
      (local.set $block (i32.load (local.get $link)))
      (if (i32.eqz (local.get $block)) (then (return (i32.const 0))))
      (if (i32.ge_u (i32.load (i32.sub (local.get $block) (i32.const 4))) (local.get $capacity))
        (then
          (i32.store (local.get $link) (i32.load (local.get $block)))
          (return (local.get $block))))
      (local.set $link (local.get $block))
      (br $next))
    (unreachable))

  ;; A block that was never used, growing the memory where it must. Traps when that is refused.
  (func $fresh (param $capacity i32) (result i32)
    (local $block i32) (local $end i64) (local $have i64)
    (local.set $block (i32.load (i32.const 8)))
    (if (i32.eqz (local.get $block)) (then (local.set $block (global.get $base))))
    (local.set $block (i32.add (local.get $block) (i32.const 8)))
    (local.set $end
      (i64.add (i64.extend_i32_u (local.get $block)) (i64.extend_i32_u (local.get $capacity))))
    (local.set $have (i64.shl (i64.extend_i32_u (memory.size)) (i64.const 16)))
    (if (i64.gt_u (local.get $end) (local.get $have))
      (then
        (if (i32.eq
              (memory.grow
                (i32.wrap_i64
                  (i64.shr_u
                    (i64.add (i64.sub (local.get $end) (local.get $have)) (i64.const 65535))
                    (i64.const 16))))
              (i32.const -1))
          (then (unreachable)))))
    (i32.store (i32.const 8) (i32.wrap_i64 (local.get $end)))
    (local.get $block))

  ;; Is there a block in use whose data begins at this address?
  (func $in_use (param $block i32) (result i32)
    (local $capacity i32)
    (if (i32.or
          (i32.and (local.get $block) (i32.const 7))
          (i32.or
            (i32.lt_u (local.get $block) (i32.add (global.get $base) (i32.const 8)))
            (i32.ge_u (local.get $block) (i32.load (i32.const 8)))))
      (then (return (i32.const 0))))
    (local.set $capacity (i32.load (i32.sub (local.get $block) (i32.const 4))))
    (i32.and
      (i32.eq (i32.and (local.get $capacity) (i32.const 15)) (i32.const 1))
      (i32.le_u (i32.load (i32.sub (local.get $block) (i32.const 8))) (local.get $capacity))))

  ;; For the host: a block of so many bytes (its old content is not cleared), or 0 for none.
  (func $alloc (export "edge_alloc") (param $length i32) (result i32)
    (local $capacity i32) (local $block i32)
    (if (i32.eqz (local.get $length)) (then (return (i32.const 0))))
    (if (i32.gt_u (local.get $length) (i32.const 0x7fff0000)) (then (unreachable)))
    (local.set $capacity (call $capacity (local.get $length)))
    (local.set $block (call $reuse (local.get $capacity)))
    (if (local.get $block)
      (then
        (local.set $capacity (i32.load (i32.sub (local.get $block) (i32.const 4)))))
      (else
        (local.set $block (call $fresh (local.get $capacity)))))
    (i32.store (i32.sub (local.get $block) (i32.const 8)) (local.get $length))
    (i32.store
      (i32.sub (local.get $block) (i32.const 4))
      (i32.or (local.get $capacity) (i32.const 1)))
    (local.get $block))

  ;; For the host: how many bytes the block at this address has; 0 where there is no block.
  (func $length (export "edge_length") (param $block i32) (result i32)
    (if (result i32) (call $in_use (local.get $block))
      (then (i32.load (i32.sub (local.get $block) (i32.const 8))))
      (else (i32.const 0))))

  ;; For the host: frees a block; anything else is left alone.
  (func $free (export "edge_free") (param $block i32)
    (local $capacity i32) (local $link i32)
    (if (i32.eqz (call $in_use (local.get $block))) (then (return)))
    (local.set $capacity
      (i32.xor (i32.load (i32.sub (local.get $block) (i32.const 4))) (i32.const 1)))
    (i32.store (i32.sub (local.get $block) (i32.const 4)) (local.get $capacity))
    (local.set $link (call $list (local.get $capacity)))
    (i32.store (local.get $block) (i32.load (local.get $link)))
    (i32.store (local.get $link) (local.get $block)))

  ;; For the host: this block is the input, as far as it was filled.
  (func (export "edge_input") (param $block i32) (param $length i32)
    (i32.store (i32.sub (local.get $block) (i32.const 8)) (local.get $length))
    (i32.store (i32.const 12) (local.get $block))
    (i32.store (i32.const 16) (local.get $length)))

  ;; What guests import from `extism:host/env`. Addresses and lengths are i64 there.
  (func (export "alloc") (param $length i64) (result i64)
    (if (i64.gt_u (local.get $length) (i64.const 0x7fff0000)) (then (unreachable)))
    (i64.extend_i32_u (call $alloc (i32.wrap_i64 (local.get $length)))))
  (func (export "free") (param $block i64)
    (call $free (i32.wrap_i64 (local.get $block))))
  (func $length64 (param $block i64) (result i64)
    (i64.extend_i32_u (call $length (i32.wrap_i64 (local.get $block)))))
  (export "length" (func $length64))
  (export "length_unsafe" (func $length64))
  (func (export "load_u8") (param $at i64) (result i32)
    (i32.load8_u (i32.wrap_i64 (local.get $at))))
  (func (export "load_u64") (param $at i64) (result i64)
    (i64.load align=1 (i32.wrap_i64 (local.get $at))))
  (func (export "store_u8") (param $at i64) (param $value i32)
    (i32.store8 (i32.wrap_i64 (local.get $at)) (local.get $value)))
  (func (export "store_u64") (param $at i64) (param $value i64)
    (i64.store align=1 (i32.wrap_i64 (local.get $at)) (local.get $value)))
  (func (export "input_offset") (result i64)
    (i64.load32_u (i32.const 12)))
  (func (export "input_length") (result i64)
    (i64.load32_u (i32.const 16)))
  (func (export "input_load_u8") (param $at i64) (result i32)
    (i32.load8_u (i32.add (i32.load (i32.const 12)) (i32.wrap_i64 (local.get $at)))))
  (func (export "input_load_u64") (param $at i64) (result i64)
    (i64.load align=1 (i32.add (i32.load (i32.const 12)) (i32.wrap_i64 (local.get $at)))))
  (func (export "output_set") (param $at i64) (param $length i64)
    (i32.store (i32.const 20) (i32.wrap_i64 (local.get $at)))
    (i32.store (i32.const 24) (i32.wrap_i64 (local.get $length))))
  (func (export "error_set") (param $block i64)
    (i32.store (i32.const 28) (i32.wrap_i64 (local.get $block))))
  (func (export "error_get") (result i64)
    (i64.load32_u (i32.const 28))))
