/** The host functions that `npm run bench -- fuel` measures: all that reach nobody. */
import { offeredFunctions } from "../../../src/tools/bundle/wasm/check.ts";
import { importTypes } from "../../../src/tools/bundle/wasm/import-types.ts";
import { one, type Row } from "./fuel-rows.ts";

/** Where a plugin imports what a prepared servlet imports from here. */
const PLUGIN_NAMESPACES: Record<string, string> = {
  "edge:host": "extism:host/env",
  "edge:user": "extism:host/user",
  "edge:wasi": "wasi_snapshot_preview1",
};

/** Functions that end the call, so that they cannot be called in a loop. */
const ENDING = new Set(["edge:wasi.proc_exit", "edge:env.abort"]);
/** Functions that send HTTP requests, and that wait for their answers. */
const SENDING = new Set(["edge:host.http_request", "edge:user.get_access_token"]);

/** Blocks that the servlet makes before its loop. */
const BLOCKS = {
  key: "key",
  text: "x".repeat(250),
  large: "x".repeat(16_000),
  json: JSON.stringify({
    level: "info",
    uri: "a:b",
    progress: 1,
    service: "s",
    user: "u",
    data: 1,
  }),
  asks: JSON.stringify({ a: { method: "roots/list" }, b: { method: "roots/list" } }),
  form: JSON.stringify({
    message: "Name?",
    requestedSchema: { type: "object", properties: { name: { type: "string" } } },
  }),
  digest: JSON.stringify({ what: "digest", hash: "SHA-512" }),
  sign: JSON.stringify({ what: "sign", hash: "SHA-512", key: 64 }),
  sjis: JSON.stringify({ label: "shift_jis" }),
  /** Of a host that the servlet may not reach. */
  request: JSON.stringify({ url: "https://example.com/" }),
  call: JSON.stringify({ name: "tool", arguments: {} }),
};
const block = (name: keyof typeof BLOCKS) => `(global.get $${name})`;
const i32s = (...numbers: number[]) => numbers.map((number) => `(i32.const ${number})`).join(" ");

/** The arguments in one or several ways. Those of the other functions are all 1. */
const logs = [block("key"), block("text"), block("large")];
const notifies = [block("json")];

const USES: Record<string, string[]> = {
  "edge:host.config_get": [block("key"), block("text"), block("large")],
  "edge:host.var_get": [block("key"), block("text")],
  "edge:host.var_set": [
    `${block("key")} ${block("text")}`,
    `${block("text")} ${block("large")}`,
    `${block("key")} (i64.const 0)`,
  ],
  "edge:host.log_trace": logs,
  "edge:host.log_debug": logs,
  "edge:host.log_info": logs,
  "edge:host.log_warn": logs,
  "edge:host.log_error": logs,
  "edge:user.notify_logging_message": notifies,
  "edge:user.notify_progress": notifies,
  "edge:user.notify_resource_updated": notifies,
  "edge:user.notify_url_elicitation_completed": notifies,
  "edge:user.get_keyring_secret": [block("json")],
  "edge:user.config_get": [block("key"), block("text")],
  "edge:user.create_elicitation": [block("form")],
  "edge:user.create_message": [block("json")],
  "edge:user.request_input": [block("asks")],
  "edge:user.ask_client": [block("asks")],
  // Of a servlet that may call none.
  "edge:user.call_tool": [block("call")],
  // Of a server without such a function.
  "edge:user.call_host": [block("call")],
  "edge:user.http_fetch": [`${block("request")} (i64.const 0)`],
  // Of a call without folders.
  "edge:user.file_call": [`${block("json")} (i64.const 0)`],
  "edge:user.crypto_call": [
    `${block("digest")} ${block("large")}`,
    `${block("sign")} ${block("text")}`,
  ],
  "edge:user.decode_text": [
    `${block("sjis")} ${block("large")}`,
    `${block("sjis")} ${block("key")}`,
  ],
  // A clock that is at its time.
  "edge:wasi.poll_oneoff": [i32s(0x80000, 0x90000, 1, 4096), i32s(0x80000, 0x90000, 1000, 4096)],
  "edge:wasi.clock_time_get": ["(i32.const 0) (i64.const 0) (i32.const 4096)"],
  "edge:wasi.random_get": [i32s(4096, 1), i32s(4096, 256), i32s(4096, 60_000)],
  "edge:wasi.fd_write": [1, 100, 2000].flatMap((count) => [
    i32s(1, 8192, count, 0),
    i32s(1, 65536, count, 0),
  ]),
};

/** The host functions that are measured, in the names of a prepared servlet. */
export const hostFunctions = Object.entries(offeredFunctions).flatMap(([namespace, functions]) =>
  Object.keys(functions)
    .map((name) => ({ namespace, name, full: `${namespace}.${name}` }))
    .filter(({ full }) => !ENDING.has(full) && !SENDING.has(full)),
);

/** The types of a host function's parameters and results, and its arguments in one or several ways. */
function useOf({ namespace, name, full }: (typeof hostFunctions)[number]) {
  const types = (letters: string) =>
    letters.split("").map((letter) => (letter === "l" ? "i64" : "i32"));
  const [params, results] = importTypes[namespace]![name]!.split("->").map(types);
  if (USES[full] === undefined && namespace !== "edge:wasi" && params!.length > 0)
    throw new Error(`the host function ${full} is not measured: add it to USES`);
  const ways = USES[full] ?? [params!.map((type) => `(${type}.const 1)`).join(" ")];
  return { params: params!, results: results!, ways };
}

const blocks = Object.keys(BLOCKS) as (keyof typeof BLOCKS)[];
const texts = Object.values(BLOCKS);
const TEXTS_AT = 100_000;
const textAt = (at: number) => TEXTS_AT + texts.slice(0, at).join("").length;

export const hostDeclarations = `
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "free" (func $free (param i64)))
  (import "extism:host/env" "length" (func $length (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
  (import "extism:host/env" "store_u64" (func $store64 (param i64 i64)))
  (import "extism:host/env" "load_u64" (func $load64 (param i64) (result i64)))
  ${hostFunctions
    .map((imported) => {
      const { params, results } = useOf(imported);
      return `(import "${PLUGIN_NAMESPACES[imported.namespace]}" "${imported.name}" (func $${imported.full} (param ${params.join(" ")}) (result ${results.join(" ")})))`;
    })
    .join("\n")}
  ${blocks.map((name) => `(global $${name} (mut i64) (i64.const 0))`).join("\n")}
  (data (i32.const ${TEXTS_AT}) "${texts.join("").replaceAll('"', '\\"')}")
  ;; At 8192 vectors of nothing, at 65536 of eight bytes each.
  ${Array.from({ length: 2000 }, (_, at) => `(data (i32.const ${65536 + at * 8}) "\\00\\90\\00\\00\\08\\00\\00\\00")`).join("")}
  (data (i32.const 0x9000) "abcdefgh")
  (func $block (param $at i32) (param $length i32) (result i64) (local $block i64) (local $i i32)
    (local.set $block (call $alloc (i64.extend_i32_u (local.get $length))))
    (loop $more
      (call $store (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))
        (i32.load8_u (i32.add (local.get $at) (local.get $i))))
      (br_if $more (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $length))))
    (local.get $block))`;

/** Code that makes the blocks; it runs before each row. */
export const hostSetup = blocks
  .map((name, at) => `(global.set $${name} (call $block ${i32s(textAt(at), texts[at]!.length)}))`)
  .join("\n");

export const hostRows: Row[] = [
  ...hostFunctions.flatMap((imported) => {
    const { results, ways } = useOf(imported);
    const call = (args: string) => `(call $${imported.full} ${args})`;
    return ways.map((args) =>
      one(
        `${imported.full} ${args.replaceAll(/[()]|global\.get|i32\.const|i64\.const/g, "").replaceAll(/ +/g, " ")}`.trim(),
        results.length === 0 ? call(args) : `(drop ${call(args)})`,
        { times: [1] },
      ),
    );
  }),
  one("alloc free", "(call $free (call $alloc (i64.const 100)))", { times: [1, 20] }),
  one("alloc", "(drop (call $alloc (i64.const 100)))", { times: [1, 20] }),
  one("length", `(drop (call $length ${block("key")}))`, { times: [1, 100] }),
  one("store_u64 load_u64", `(call $store64 ${block("key")} (call $load64 ${block("text")}))`, {
    times: [1, 100],
  }),
];
