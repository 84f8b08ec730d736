//! Keeps things as plugins of a long-lived host do: a count in a static, a map on the heap, tools that callers
//! add, Extism's variables, memory that grows, and files. Dialect hyper-v2. `build.sh` builds it.

mod files;
mod host;
mod json;

use json::{quoted, Json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

static CALLS: AtomicU64 = AtomicU64::new(0);
static NOTES: Mutex<Option<BTreeMap<String, String>>> = Mutex::new(None);
static ADDED: Mutex<Vec<String>> = Mutex::new(Vec::new());
static BLOCKS: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

const TOOLS: [&str; 10] = [
    "count", "remember", "recall", "forget", "add_tool", "set_variable", "get_variable", "grow",
    "count_then_trap", "count_then_fail",
];

#[no_mangle]
pub extern "C" fn list_tools() -> i32 {
    let added = ADDED.lock().unwrap();
    let names = TOOLS.iter().chain(&files::TOOLS).copied().chain(added.iter().map(String::as_str));
    let tools: Vec<String> =
        names.map(|name| format!(r#"{{"name":{},"inputSchema":{{"type":"object"}}}}"#, quoted(name))).collect();
    host::output(&format!(r#"{{"tools":[{}]}}"#, tools.join(",")));
    0
}

#[no_mangle]
pub extern "C" fn call_tool() -> i32 {
    let input = Json::parse(&host::input());
    let request = input.get("request");
    let (tool, given) = (request.get("name").text(), request.get("arguments"));
    let (answer, failed) = match keep(tool, given) {
        Some(Err(message)) => {
            host::fail(message);
            return 1;
        }
        Some(Ok(answer)) => (answer, false),
        None => match files::run(tool, given) {
            Ok(answer) => (answer, false),
            // Older standard libraries find by themselves, and with no number, that no folder has a path: 44.
            Err(error) => (format!(r#"{{"code":{}}}"#, error.raw_os_error().unwrap_or(44)), true),
        },
    };
    let text = quoted(&answer);
    host::output(&format!(r#"{{"content":[{{"type":"text","text":{text}}}],"isError":{failed}}}"#));
    0
}

/// What a tool answers that is not about files.
fn keep(tool: &str, given: &Json) -> Option<Result<String, &'static str>> {
    let text = |key: &str| given.get(key).text().to_string();
    let value = |value: Option<String>| {
        format!(r#"{{"value":{}}}"#, value.map_or("null".to_string(), |text| quoted(&text)))
    };
    Some(Ok(match tool {
        "count" => format!(r#"{{"calls":{}}}"#, CALLS.fetch_add(1, Ordering::SeqCst) + 1),
        "remember" => {
            let mut kept = NOTES.lock().unwrap();
            let notes = kept.get_or_insert_with(BTreeMap::new);
            notes.insert(text("key"), text("value"));
            format!(r#"{{"kept":{}}}"#, notes.len())
        }
        "recall" => value(NOTES.lock().unwrap().as_ref().and_then(|notes| notes.get(&text("key")).cloned())),
        "forget" => {
            *NOTES.lock().unwrap() = None;
            BLOCKS.lock().unwrap().clear();
            r#"{"kept":0}"#.to_string()
        }
        "add_tool" => {
            let mut added = ADDED.lock().unwrap();
            added.push(text("name"));
            host::tools_changed();
            format!(r#"{{"added":{}}}"#, added.len())
        }
        "set_variable" => {
            host::set_variable(&text("name"), &text("value"));
            format!(r#"{{"set":{}}}"#, quoted(&text("name")))
        }
        "get_variable" => value(host::variable(&text("name"))),
        "grow" => {
            let mut blocks = BLOCKS.lock().unwrap();
            blocks.push(vec![7; given.get("megabytes").number() as usize * 1024 * 1024]);
            format!(r#"{{"bytes":{}}}"#, blocks.iter().map(Vec::len).sum::<usize>())
        }
        "count_then_trap" => {
            CALLS.fetch_add(1, Ordering::SeqCst);
            core::arch::wasm32::unreachable()
        }
        "count_then_fail" => {
            CALLS.fetch_add(1, Ordering::SeqCst);
            return Some(Err("failed on purpose"));
        }
        added if ADDED.lock().unwrap().iter().any(|name| name == added) => {
            format!(r#"{{"added_tool":{}}}"#, quoted(added))
        }
        _ => return None,
    }))
}
