// probe: tells what it sees of its host.
import { block, input, output, read } from "../../../../plugins/lib/assembly/extism";
import {
  alloc as raw_alloc,
  block_length as raw_length,
  http_headers,
  http_request,
  http_status_code,
  load_u64 as raw_load_u64,
  output_set as raw_output_set,
  poll_oneoff,
  store_u64 as raw_store_u64,
} from "../../../../plugins/lib/assembly/host";
import { Call, log, result, text } from "../../../../plugins/lib/assembly/hyper";
import { quote } from "../../../../plugins/lib/assembly/json";
import { now, sleep } from "../../../../plugins/lib/assembly/wasi";
import {
  args_sizes_get,
  config_get,
  config_get_json,
  environ_sizes_get,
  fd_prestat_get,
  fd_write,
  get_keyring_secret,
  get_log_level,
  list_roots,
  log_debug,
  log_info,
  path_open,
  proc_exit,
  random_get,
  raw_free,
  var_get,
  var_set,
} from "../../host";

const NAMES: string[] = [
  "echo_input",
  "config",
  "old_config",
  "secret",
  "random",
  "time",
  "environment",
  "files",
  "print",
  "logs",
  "level",
  "variables",
  "million_blocks",
  "big_blocks",
  "short_output",
  "block_lengths",
  "fetch",
  "roots",
  "exit",
  "poll",
  "doze",
  "remember",
  "chatter",
];

let calls = 0;

/** In two pages. */
export function list_tools(): i32 {
  const isSecond = new Call().request.get("cursor").string() == "more";
  const half = NAMES.length / 2;
  let tools = "";
  const end = isSecond ? NAMES.length : half;
  for (let at = isSecond ? half : 0; at < end; at++) {
    tools += `${tools == "" ? "" : ","}{"name":"${NAMES[at]}","description":"Looks around","inputSchema":{"type":"object"}}`;
  }
  return output(`{"tools":[${tools}]${isSecond ? "" : ',"nextCursor":"more"'}}`);
}

export function call_tool(): i32 {
  const given = input();
  const call = new Call();
  const name = call.name;
  if (name == "echo_input") return result(text(given));
  if (name == "config") return say(read(config_get(block(call.argument("key").string()))));
  if (name == "old_config") return say(read(config_get_json(block(call.argument("key").string()))));
  if (name == "secret") return say(read(get_keyring_secret(block(call.argument("of").raw))));
  if (name == "random") return random();
  if (name == "time") return say(now().toString());
  if (name == "environment") return environment();
  if (name == "files") return files();
  if (name == "print") return print(call.argument("text").string());
  if (name == "logs") {
    log_debug(block("too detailed"));
    log_info(block("worth knowing"));
    return say("logged");
  }
  if (name == "level") return say(get_log_level().toString());
  if (name == "variables") return variables(call.argument("size").exists);
  if (name == "million_blocks") return millionBlocks();
  if (name == "big_blocks") return bigBlocks();
  if (name == "short_output") {
    raw_output_set(block('{"content":[]}and what comes after'), 14);
    return 0;
  }
  if (name == "block_lengths") return blockLengths();
  if (name == "fetch") return fetch(call.argument("request").raw, call.argument("body").string());
  if (name == "roots") return say(read(list_roots()));
  if (name == "exit") {
    output('{"content":[{"type":"text","text":"before the end"}]}');
    proc_exit(<u32>parseInt(call.argument("code").raw));
  }
  if (name == "poll") return poll();
  if (name == "doze") {
    sleep(60_000);
    return say("awake");
  }
  if (name == "remember") return say((++calls).toString());
  if (name == "chatter") {
    for (let at = 0; at < 3; at++) {
      call.progress((at * 10).toString(), "20", "");
      call.progress("5", "20", "backwards");
      log(at == 0 ? "debug" : "warning", "probe", at.toString());
    }
    return say("said");
  }
  return 1;
}

/** Tells the client which roots it has now. */
export function on_roots_list_changed(): i32 {
  log("notice", "probe", read(list_roots()));
  return 0;
}

function say(said: string): i32 {
  return result(text(said));
}

function random(): i32 {
  const at = memory.data(16);
  random_get(at, 16);
  return say(load<u64>(at).toString() + load<u64>(at, 8).toString());
}

function environment(): i32 {
  const at = memory.data(16);
  args_sizes_get(at, at + 4);
  environ_sizes_get(at + 8, at + 12);
  return say(`${load<u32>(at)} ${load<u32>(at, 4)} ${load<u32>(at, 8)} ${load<u32>(at, 12)}`);
}

function files(): i32 {
  const at = memory.data(64);
  return say(`${fd_prestat_get(3, at)} ${path_open(3, 0, at, 1, 0, 0, 0, 0, at)}`);
}

function print(said: string): i32 {
  const bytes = String.UTF8.encode(said);
  const vectors = memory.data(12);
  store<u32>(vectors, changetype<usize>(bytes));
  store<u32>(vectors, bytes.byteLength, 4);
  fd_write(1, vectors, 1, vectors + 8);
  fd_write(2, vectors, 1, vectors + 8);
  return say(load<u32>(vectors, 8).toString());
}

function variables(tooLarge: bool): i32 {
  const key = block("key");
  if (tooLarge) var_set(key, raw_alloc(2_000_000));
  const before = read(var_get(key));
  var_set(key, block("value"));
  const between = read(var_get(key));
  var_set(key, 0);
  return say(`[${before}] [${between}] [${read(var_get(key))}]`);
}

/** A million blocks, half of them freed on the way, the last of them still whole. */
function millionBlocks(): i32 {
  let last: u64 = 0;
  for (let at: u64 = 0; at < 1_000_000; at++) {
    const made = raw_alloc(8 + (at % 24));
    raw_store_u64(made, at);
    if (at % 2 == 0) raw_free(made);
    else last = made;
  }
  return say(`${raw_load_u64(last)} ${raw_length(last)}`);
}

/** Blocks of a megabyte, freed and taken again, fit into the memory for ever. */
function bigBlocks(): i32 {
  for (let at: u64 = 0; at < 1000; at++) {
    const made = raw_alloc(1_000_000 + at);
    raw_store_u64(made, at);
    raw_free(made);
  }
  return say("fits");
}

function blockLengths(): i32 {
  const made = raw_alloc(100);
  const inside = raw_length(made + 8);
  const whole = raw_length(made);
  raw_free(made);
  raw_free(made);
  return say(`${whole} ${inside} ${raw_length(made)} ${raw_length(0)} ${raw_alloc(0)}`);
}

function fetch(request: string, body: string): i32 {
  const response = read(http_request(block(request), body == "" ? 0 : block(body)));
  return say(
    `{"status":${http_status_code()},"headers":${read(http_headers())},"body":${quote(response)}}`,
  );
}

/** Two clocks and standard output: the file is ready at once, the clocks are not. */
function poll(): i32 {
  const from = memory.data(144);
  memory.fill(from, 0, 144);
  store<u64>(from, 1);
  store<u64>(from, 60_000_000_000, 24);
  store<u64>(from, 2, 48);
  store<u8>(from, 2, 56);
  store<u32>(from, 1, 64);
  store<u64>(from, 3, 96);
  store<u64>(from, 50_000_000_000, 120);
  const to = memory.data(96);
  const ready = memory.data(4);
  poll_oneoff(from, to, 3, ready);
  return say(`${load<u32>(ready)} ${load<u64>(to)} ${load<u8>(to, 10)}`);
}
