/** A servlet that lists one tool of this name. */
export const lists = (tool: string, more = "") => {
  const text = `{"tools":[{"name":"${tool}","inputSchema":{"type":"object"}${more}}]}`;
  return servlet(text);
};

export const servlet = (text: string) => `(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (memory 1)
  (data (i32.const 0) "${text.replaceAll('"', '\\"')}")
  (func (export "list_tools") (result i32) (local $block i64) (local $i i32)
    (local.set $block (call $alloc (i64.const ${text.length})))
    (loop $more
      (call $store (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))
        (i32.load8_u (local.get $i)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $i) (i32.const ${text.length}))))
    (call $output (local.get $block) (i64.const ${text.length}))
    (i32.const 0))
  (func (export "call_tool") (result i32) (i32.const 0)))`;

/** An export is all that a plugin needs in order to be looked at. */
export const plugin = (inside: string) =>
  `(module ${inside} (func (export "call_tool") (result i32) (i32.const 0)))`;
