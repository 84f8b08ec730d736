// faulty: a tool for each way in which a servlet can fail.
import { fail, output } from "../../../../plugins/lib/assembly/extism";
import { Call, result, text } from "../../../../plugins/lib/assembly/hyper";
import { block } from "../../../../plugins/lib/assembly/extism";
import {
  alloc,
  error_set as raw_error_set,
  http_request,
  output_set as raw_output_set,
  poll_oneoff,
  store_u64,
} from "../../../../plugins/lib/assembly/host";
import { fd_write, log_info, random_get, var_get, var_set } from "../../host";

const NAMES: string[] = [
  "fine",
  "trap",
  "recurse",
  "refuse",
  "code_only",
  "error_without_code",
  "no_output",
  "not_json",
  "not_an_object",
  "not_a_result",
  "own_error",
  "reserved_error",
  "output_beyond_memory",
  "error_beyond_memory",
  "forbidden_host",
  "local_host",
  "not_http",
  "exhaust_memory",
  "out_of_bounds",
  "throw",
  "bad_structure",
  "bad_notification",
  "forged_text",
  "forged_json",
  "forged_value",
  "forged_error",
  "forged_free_list",
  "forged_vectors",
  "forged_subscriptions",
  "forged_range",
];

export function list_tools(): i32 {
  let tools = "";
  for (let at = 0; at < NAMES.length; at++) {
    const schema =
      NAMES[at] == "bad_structure"
        ? ',"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}'
        : "";
    tools += `${at == 0 ? "" : ","}{"name":"${NAMES[at]}","description":"Fails on purpose","inputSchema":{"type":"object"}${schema}}`;
  }
  return output(`{"tools":[${tools}]}`);
}

export function read_resource(): i32 {
  return fail("no such thing");
}

export function call_tool(): i32 {
  const name = new Call().name;
  if (name == "fine") return result(text("fine"));
  if (name == "trap") unreachable();
  if (name == "recurse") return recurse(1);
  if (name == "refuse") return fail("the moon is in the wrong phase");
  if (name == "code_only") return 7;
  if (name == "error_without_code") {
    fail("said, but returned 0");
    return 0;
  }
  if (name == "no_output") return 0;
  if (name == "not_json") return output("{not json");
  if (name == "not_an_object") return output("[1, 2]");
  if (name == "not_a_result") return output('{"answer": 42}');
  if (name == "own_error") return output('{"error":{"code":1234,"message":"mine","data":{"a":1}}}');
  if (name == "reserved_error") return output('{"error":{"code":-32050,"message":"not mine"}}');
  if (name == "output_beyond_memory") {
    raw_output_set(4096, 0xfffffff0);
    return 0;
  }
  if (name == "error_beyond_memory") {
    raw_error_set(0xfffffff0);
    return 1;
  }
  if (name == "forbidden_host") return get("https://forbidden.example/?token=hush");
  if (name == "local_host") return get("http://127.0.0.1:1/");
  if (name == "not_http") return get("file:///etc/passwd");
  if (name == "exhaust_memory") return exhaust();
  if (name == "out_of_bounds") return load<u8>(0x7fffffff);
  if (name == "throw") throw new Error("thrown on purpose");
  if (name == "bad_structure") return output('{"content":[],"structuredContent":{"n":"one"}}');
  if (name == "bad_notification") {
    http_request(block("not json"), 0);
    return 0;
  }
  if (name == "forged_text") log_info(forgedBlock());
  if (name == "forged_json") http_request(forgedBlock(), 0);
  if (name == "forged_value") var_set(block("key"), forgedBlock());
  if (name == "forged_error") raw_error_set(forgedBlock());
  if (name == "forged_free_list") readAcrossTheEnd();
  // Counts whose product with the size of an entry is small in 32 bits.
  if (name == "forged_vectors") fd_write(1, 0xfffffff0, 16, 0);
  if (name == "forged_subscriptions") poll_oneoff(0xfffffff0, 0, 4, 0);
  if (name == "forged_range") random_get(0xfffffff0, 0x20);
  return 0;
}

/** A block whose header claims 16 MB, more than the kernel's memory has. */
function forgedBlock(): u64 {
  const made = alloc(64);
  store_u64(made - 8, 0x01000001_00fffff0);
  return made;
}

/** Lets the host's next block begin four bytes before the end of the kernel's memory. */
function readAcrossTheEnd(): void {
  const key = block("key");
  var_set(key, block("12345678"));
  store_u64(65528, 16);
  store_u64(32, 65532);
  var_get(key);
}

function recurse(depth: i32): i32 {
  return depth + recurse(depth + 1);
}

function get(url: string): i32 {
  http_request(block(`{"url":"${url}","method":"GET"}`), 0);
  return result(text("reached"));
}

function exhaust(): i32 {
  while (memory.grow(16) != -1) {}
  unreachable();
  return 0;
}
