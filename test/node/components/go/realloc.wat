;; Memory for arguments. Go's runtime starts by calls to its host, which need memory before Go can give any.
(module
  (import "go" "memory" (memory 1))
  (global $next (mut i32) (i32.const 0))
  (global $end (mut i32) (i32.const 0))
  (func (export "cabi_realloc") (param $old i32) (param $length i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32) (local $pages i32)
    (local.set $at
      (i32.and
        (i32.add (global.get $next) (i32.sub (local.get $align) (i32.const 1)))
        (i32.sub (i32.const 0) (local.get $align))))
    (if (i32.gt_u (i32.add (local.get $at) (local.get $size)) (global.get $end))
      (then
        (local.set $pages (i32.add (i32.shr_u (local.get $size) (i32.const 16)) (i32.const 1)))
        (local.set $at (i32.shl (memory.grow (local.get $pages)) (i32.const 16)))
        (global.set $end (i32.add (local.get $at) (i32.shl (local.get $pages) (i32.const 16))))))
    (global.set $next (i32.add (local.get $at) (local.get $size)))
    (memory.copy (local.get $at) (local.get $old) (local.get $length))
    (local.get $at)))
