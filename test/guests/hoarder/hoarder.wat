;; hoarder: makes the host keep or decode as much as it can. The first two letters of a tool's name say
;; how; they stand at a fixed place in the input. Blocks are filled with the letter a, or with empty objects.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (import "extism:host/env" "error_set" (func $error (param i64)))
  (import "extism:host/env" "input_load_u8" (func $input (param i64) (result i32)))
  (import "extism:host/env" "config_get" (func $config (param i64) (result i64)))
  (import "extism:host/env" "var_get" (func $var (param i64) (result i64)))
  (import "extism:host/env" "log_info" (func $log (param i64)))
  (import "extism:host/user" "get_keyring_secret" (func $secret (param i64) (result i64)))
  (import "extism:host/user" "notify_logging_message" (func $note (param i64)))
  (import "extism:host/user" "http_fetch" (func $fetch (param i64 i64) (result i64)))
  (import "extism:host/user" "create_elicitation" (func $ask (param i64) (result i64)))
  (import "extism:host/user" "request_input" (func $input_of (param i64) (result i64)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 448)
  (data (i32.const 0) "{\"tools\":[{\"name\":\"vectors\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"config\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"keyring\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"notify\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"log\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"error\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"output\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"parts\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"request\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"body\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"ask\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"many\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"varkey\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"input\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"fits\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"wide\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"items\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"down\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"up\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"long\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"held\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"state\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"wait\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"answer\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"late\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"rich\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"quiet\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"end\",\"inputSchema\":{\"type\":\"object\"}}]}")
  (data (i32.const 4096) "\"")
  (data (i32.const 4112) "\"")
  (data (i32.const 4128) "{\"service\":\"vault\",\"user\":\"")
  (data (i32.const 4160) "\"}")
  (data (i32.const 4176) "{\"level\":\"info\",\"data\":\"")
  (data (i32.const 4208) "{\"content\":[{\"type\":\"text\",\"text\":\"")
  (data (i32.const 4256) "\"}]}")
  (data (i32.const 4272) "{\"content\":[],    \"structuredContent\":{\"parts\":[")
  (data (i32.const 4320) "   {}]}}")
  (data (i32.const 4336) "{\"url\":\"http://127.0.0.1/")
  (data (i32.const 4368) "{\"method\":\"POST\",\"url\":\"http://127.0.0.1:9/\"}")
  (data (i32.const 4416) "{\"message\":\"")
  (data (i32.const 4432) "{\"a\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"")
  (data (i32.const 4496) "\"}}}")
  (data (i32.const 4512) "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}")

  (data (i32.const 4640) "{\"content\":[{\"type\":\"text\",\"text\":\"ā")
  (data (i32.const 4688) "{\"url\":\"http://127.0.0.1:8899/\"}")
  (data (i32.const 4736) "{\"method\":\"POST\",\"url\":\"http://127.0.0.1:8899/\"}")

  (data (i32.const 4800) "{\"url\":\"http://127.0.0.1:8899/less\"}")
  (data (i32.const 4864) "{\"url\":\"http://127.0.0.1:8899/slow\"}")
  (data (i32.const 4928) "{\"message\":\"Go on?\"}")
  (data (i32.const 4992) "{\"structuredContent\":{\"text\":\"")
  (data (i32.const 5040) "\"}}")
  (data (i32.const 5136) "{\"error\":{\"code\":-32002,\"message\":\"none\"}}")
  (data (i32.const 5056) "{\"contents\":[{\"uri\":\"hoard://blob\",\"mimeType\":\"text/plain\",\"text\":\"")

  ;; Copies from the guest's own memory into a block.
  (func $copy (param $to i64) (param $at i32) (param $length i32)
    (block $done
      (loop $more
        (br_if $done (i32.eqz (local.get $length)))
        (call $store (local.get $to) (i32.load8_u (local.get $at)))
        (local.set $to (i64.add (local.get $to) (i64.const 1)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set $length (i32.sub (local.get $length) (i32.const 1)))
        (br $more))))

  ;; A block of $total bytes: what begins it, what ends it, and in between what $fill has.
  (func $block (param $begin i32) (param $begins i32) (param $total i32) (param $end i32)
    (param $ends i32) (param $fill i64) (result i64)
    (local $block i64) (local $at i64)
    (local.set $block (call $alloc (i64.extend_i32_u (local.get $total))))
    (block $full
      (loop $more
        (br_if $full
          (i64.gt_u (i64.add (local.get $at) (i64.const 8)) (i64.extend_i32_u (local.get $total))))
        (call $store_u64 (i64.add (local.get $block) (local.get $at)) (local.get $fill))
        (local.set $at (i64.add (local.get $at) (i64.const 8)))
        (br $more)))
    (call $copy (local.get $block) (local.get $begin) (local.get $begins))
    (call $copy
      (i64.add
        (local.get $block)
        (i64.extend_i32_u (i32.sub (local.get $total) (local.get $ends))))
      (local.get $end)
      (local.get $ends))
    (local.get $block))

  (func $say (param $at i32) (param $length i32)
    (local $block i64)
    (local.set $block (call $alloc (i64.extend_i32_u (local.get $length))))
    (call $copy (local.get $block) (local.get $at) (local.get $length))
    (call $output (local.get $block) (i64.extend_i32_u (local.get $length))))

  (func (export "list_tools") (result i32)
    (call $say (i32.const 0) (i32.const 1375))
    (i32.const 0))

  ;; Fetches from what stands here as {"url"}.
  (func $get (param $at i32) (param $length i32)
    (drop (call $fetch
      (call $block (local.get $at) (local.get $length) (local.get $length) (i32.const 0) (i32.const 0) (i64.const 0x6161616161616161))
      (i64.const 0))))

  ;; Fills the journal as far as it goes: two of the largest responses, and one that is a little smaller.
  (func $most
    (call $get (i32.const 4688) (i32.const 32))
    (call $get (i32.const 4688) (i32.const 32))
    (call $get (i32.const 4800) (i32.const 36)))

  (func $go_on
    (drop (call $ask (call $block (i32.const 4928) (i32.const 20) (i32.const 20) (i32.const 0) (i32.const 0) (i64.const 0x6161616161616161)))))

  ;; The largest output that is read.
  (func $largest
    (call $output (call $block (i32.const 4208) (i32.const 35) (i32.const 4194304) (i32.const 4256) (i32.const 4) (i64.const 0x6161616161616161)) (i64.const 4194304)))

  ;; Of its own scheme alone, by its first letter.
  (func (export "read_resource") (result i32)
    (if (i32.ne (call $input (i64.const 19)) (i32.const 104))
      (then (call $say (i32.const 5136) (i32.const 42)) (return (i32.const 0))))
    (call $output (call $block (i32.const 5056) (i32.const 67) (i32.const 4194304) (i32.const 4256) (i32.const 4) (i64.const 0x6161616161616161)) (i64.const 4194304))
    (i32.const 0))

  (func (export "call_tool") (result i32)
    (local $how i32) (local $block i64) (local $at i32)
    (local.set $how
      (i32.or
        (call $input (i64.const 20))
        (i32.shl (call $input (i64.const 21)) (i32.const 8))))
    (if (i32.eq (local.get $how) (i32.const 25974)) ;; vectors: 48 over the same 24 MiB
      (then
        (local.set $at (i32.const 65536))
        (loop $more
          (i32.store (local.get $at) (i32.const 131072))
          (i32.store offset=4 (local.get $at) (i32.const 25165824))
          (local.set $at (i32.add (local.get $at) (i32.const 8)))
          (br_if $more (i32.lt_u (local.get $at) (i32.const 65920))))
        (memory.fill (i32.const 131072) (i32.const 97) (i32.const 25165824))
        (drop (call $write (i32.const 1) (i32.const 65536) (i32.const 48) (i32.const 65528)))))
    (if (i32.eq (local.get $how) (i32.const 24941)) ;; many: three million vectors
      (then
        (memory.fill (i32.const 131072) (i32.const 0) (i32.const 25165824))
        (drop (call $write (i32.const 1) (i32.const 131072) (i32.const 3145728) (i32.const 65528)))))
    (if (i32.eq (local.get $how) (i32.const 28515)) ;; config: a name of 24 MiB
      (then
        (drop (call $config (call $block (i32.const 0) (i32.const 0) (i32.const 25165824) (i32.const 0) (i32.const 0) (i64.const 0x6161616161616161))))))
    (if (i32.eq (local.get $how) (i32.const 24950)) ;; varkey: a name of 24 MiB
      (then
        (drop (call $var (call $block (i32.const 0) (i32.const 0) (i32.const 25165824) (i32.const 0) (i32.const 0) (i64.const 0x6161616161616161))))))
    (if (i32.eq (local.get $how) (i32.const 25963)) ;; keyring: a user of 24 MiB
      (then
        (drop (call $secret (call $block (i32.const 4128) (i32.const 27) (i32.const 25165824) (i32.const 4160) (i32.const 2) (i64.const 0x6161616161616161))))))
    (if (i32.eq (local.get $how) (i32.const 28526)) ;; notify: a thousand of 1 MiB
      (then
        (local.set $block (call $block (i32.const 4176) (i32.const 24) (i32.const 1048576) (i32.const 4160) (i32.const 2) (i64.const 0x6161616161616161)))
        (local.set $at (i32.const 1000))
        (loop $more
          (call $note (local.get $block))
          (local.set $at (i32.sub (local.get $at) (i32.const 1)))
          (br_if $more (local.get $at)))))
    (if (i32.eq (local.get $how) (i32.const 28524)) ;; log: twenty lines of 24 MiB
      (then
        (local.set $block (call $block (i32.const 0) (i32.const 0) (i32.const 25165824) (i32.const 0) (i32.const 0) (i64.const 0x6161616161616161)))
        (local.set $at (i32.const 20))
        (loop $more
          (call $log (local.get $block))
          (local.set $at (i32.sub (local.get $at) (i32.const 1)))
          (br_if $more (local.get $at)))))
    (if (i32.eq (local.get $how) (i32.const 29285)) ;; error: a message of 60 MiB
      (then
        (call $error (call $block (i32.const 0) (i32.const 0) (i32.const 62914560) (i32.const 0) (i32.const 0) (i64.const 0x6161616161616161)))
        (return (i32.const 1))))
    (if (i32.eq (local.get $how) (i32.const 30063)) ;; output: a text of 48 MiB
      (then
        (call $output (call $block (i32.const 4208) (i32.const 35) (i32.const 50331648) (i32.const 4256) (i32.const 4) (i64.const 0x6161616161616161)) (i64.const 50331648))
        (return (i32.const 0))))
    (if (i32.eq (local.get $how) (i32.const 24944)) ;; parts: six million empty objects
      (then
        (call $output (call $block (i32.const 4272) (i32.const 48) (i32.const 25165824) (i32.const 4320) (i32.const 8) (i64.const 0x20202c7d7b2c7d7b)) (i64.const 25165824))
        (return (i32.const 0))))
    (if (i32.eq (local.get $how) (i32.const 25970)) ;; request: a URL of 24 MiB
      (then
        (drop (call $fetch (call $block (i32.const 4336) (i32.const 25) (i32.const 25165824) (i32.const 4160) (i32.const 2) (i64.const 0x6161616161616161)) (i64.const 0)))))
    (if (i32.eq (local.get $how) (i32.const 28514)) ;; body: 32 MiB
      (then
        (drop (call $fetch (call $block (i32.const 4368) (i32.const 45) (i32.const 45) (i32.const 0) (i32.const 0) (i64.const 0x6161616161616161)) (call $block (i32.const 0) (i32.const 0) (i32.const 33554432) (i32.const 0) (i32.const 0) (i64.const 0x6161616161616161))))))
    (if (i32.eq (local.get $how) (i32.const 29537)) ;; ask: a message of 24 MiB
      (then
        (drop (call $ask (call $block (i32.const 4416) (i32.const 12) (i32.const 25165824) (i32.const 4160) (i32.const 2) (i64.const 0x6161616161616161))))))
    (if (i32.eq (local.get $how) (i32.const 28265)) ;; input: a question of 24 MiB
      (then
        (drop (call $input_of (call $block (i32.const 4432) (i32.const 57) (i32.const 25165824) (i32.const 4496) (i32.const 4) (i64.const 0x6161616161616161))))))
    (if (i32.eq (local.get $how) (i32.const 26982)) ;; fits: the largest output that is read
      (then
        (call $output (call $block (i32.const 4208) (i32.const 35) (i32.const 4194304) (i32.const 4256) (i32.const 4) (i64.const 0x6161616161616161)) (i64.const 4194304))
        (return (i32.const 0))))
    (if (i32.eq (local.get $how) (i32.const 26999)) ;; wide: the same where each character takes two bytes of the host
      (then
        (call $output (call $block (i32.const 4640) (i32.const 37) (i32.const 4194304) (i32.const 4256) (i32.const 4) (i64.const 0x6161616161616161)) (i64.const 4194304))
        (return (i32.const 0))))
    (if (i32.eq (local.get $how) (i32.const 29801)) ;; items: as many objects as are parsed
      (then
        (call $output (call $block (i32.const 4272) (i32.const 48) (i32.const 399360) (i32.const 4320) (i32.const 8) (i64.const 0x20202c7d7b2c7d7b)) (i64.const 399360))
        (return (i32.const 0))))
    (if (i32.eq (local.get $how) (i32.const 28516)) ;; down: the largest responses that are read
      (then
        (local.set $block (call $block (i32.const 4688) (i32.const 32) (i32.const 32) (i32.const 0) (i32.const 0) (i64.const 0x6161616161616161)))
        (drop (call $fetch (local.get $block) (i64.const 0)))
        (drop (call $fetch (local.get $block) (i64.const 0)))))
    (if (i32.eq (local.get $how) (i32.const 28789)) ;; up: the largest body that is sent
      (then
        (drop (call $fetch (call $block (i32.const 4736) (i32.const 48) (i32.const 48) (i32.const 0) (i32.const 0) (i64.const 0x6161616161616161)) (call $block (i32.const 0) (i32.const 0) (i32.const 6291456) (i32.const 0) (i32.const 0) (i64.const 0x6161616161616161))))))
    (if (i32.eq (local.get $how) (i32.const 28524)) ;; long: the longest question that is asked
      (then
        (drop (call $ask (call $block (i32.const 4416) (i32.const 12) (i32.const 4194304) (i32.const 4160) (i32.const 2) (i64.const 0x6161616161616161))))))
    (if (i32.eq (local.get $how) (i32.const 25960)) ;; held: a full journal
      (then (call $most)))
    (if (i32.eq (local.get $how) (i32.const 29811)) ;; state: a full journal, then a question
      (then (call $most) (call $go_on)))
    (if (i32.eq (local.get $how) (i32.const 24951)) ;; wait: a full journal in more time than a request may take
      (then (call $most) (call $get (i32.const 4864) (i32.const 36)) (call $get (i32.const 4864) (i32.const 36))))
    (if (i32.eq (local.get $how) (i32.const 28257)) ;; answer: a question
      (then (call $go_on)))
    (if (i32.eq (local.get $how) (i32.const 28261)) ;; end: a task's largest output
      (then (call $largest) (return (i32.const 0))))
    (if (i32.eq (local.get $how) (i32.const 24940)) ;; late: a question, then the largest output
      (then (call $go_on) (call $largest) (return (i32.const 0))))
    (if (i32.eq (local.get $how) (i32.const 26994)) ;; rich: structured content that has to be escaped twice
      (then
        (call $output (call $block (i32.const 4992) (i32.const 30) (i32.const 4194297) (i32.const 5040) (i32.const 3) (i64.const 0x225c225c225c225c)) (i64.const 4194297))
        (return (i32.const 0))))
    (call $say (i32.const 4512) (i32.const 43))
    (i32.const 0)))
