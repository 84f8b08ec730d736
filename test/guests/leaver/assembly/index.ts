// leaver: leaves a mark wherever it can, and looks for marks that others have left.
import { block, output } from "../../../../plugins/lib/assembly/extism";
import { Call, result, text } from "../../../../plugins/lib/assembly/hyper";
import {
  alloc,
  block_length,
  input_length,
  load_u64,
  output_set,
  store_u64,
} from "../../../../plugins/lib/assembly/host";
import { sleep } from "../../../../plugins/lib/assembly/wasi";
import { http_request } from "../../../../plugins/lib/assembly/host";
import { raw_free, var_get, var_set } from "../../host";

const NAMES: string[] = [
  "hide",
  "hide_trap",
  "hide_grow",
  "hide_refuse",
  "hide_throw",
  "hide_sleep",
  "hide_unread",
  "seek",
];

let secret: u64 = 0;
let kept: StaticArray<u64> = new StaticArray<u64>(4);

/** Made anew where it is needed, so that it stands in no memory by itself. */
function mark(): u64 {
  return input_length() * 0 + (0x0123456789abcdef ^ 0x5a5a5a5a5a5a5a5a);
}

export function list_tools(): i32 {
  let tools = "";
  for (let at = 0; at < NAMES.length; at++) {
    tools += `${at == 0 ? "" : ","}{"name":"${NAMES[at]}","description":"Leaves or finds marks","inputSchema":{"type":"object"}}`;
  }
  return output(`{"tools":[${tools}]}`);
}

export function call_tool(): i32 {
  const name = new Call().name;
  if (name == "seek") return seek();
  hide();
  if (name == "hide_trap") unreachable();
  if (name == "hide_refuse") return 3;
  if (name == "hide_throw") http_request(block("no json"), 0);
  if (name == "hide_sleep") sleep(60_000);
  if (name == "hide_grow") {
    const pages = memory.grow(3);
    store<u64>((pages + 2) << 16, mark());
  }
  if (name == "hide_unread") {
    const left = alloc(4096);
    for (let at: u64 = 0; at < 4096; at += 8) store_u64(left + at, mark());
    output_set(left, 4096);
    return 0;
  }
  return result(text("hidden"));
}

function hide(): void {
  secret = mark();
  kept[0] = mark();
  store<u64>((memory.size() << 16) - 8, mark());
  store<u64>(memory.data(8), mark());
  const made = alloc(64);
  for (let at: u64 = 0; at < 64; at += 8) store_u64(made + at, mark());
  const freed = alloc(64);
  for (let at: u64 = 0; at < 64; at += 8) store_u64(freed + at, mark());
  raw_free(freed);
  store_u64(65528, mark());
  var_set(block("mark"), block("mark"));
}

function seek(): i32 {
  let found = "";
  if (secret != 0) found += "global ";
  const end = memory.size() << 16;
  for (let at = 0; at < end; at += 8) {
    if (load<u64>(at) == mark()) found += `memory ${at} `;
  }
  for (let at: u64 = 0; at < 65536; at += 8) {
    if (load_u64(at) == mark()) found += `kernel ${at} `;
  }
  if (block_length(var_get(block("mark"))) > 0) found += "variable ";
  return result(text(found == "" ? "nothing" : found));
}
