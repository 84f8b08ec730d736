//! Extism's functions, as they are: no package is needed to build this.

#[link(wasm_import_module = "extism:host/env")]
extern "C" {
    fn alloc(length: u64) -> u64;
    fn length(offset: u64) -> u64;
    fn load_u8(offset: u64) -> u32;
    fn store_u8(offset: u64, byte: u32);
    fn input_length() -> u64;
    fn input_load_u8(offset: u64) -> u32;
    fn output_set(offset: u64, length: u64);
    fn error_set(offset: u64);
    fn var_get(key: u64) -> u64;
    fn var_set(key: u64, value: u64);
}

#[link(wasm_import_module = "extism:host/user")]
extern "C" {
    fn notify_tool_list_changed();
}

fn block(text: &str) -> u64 {
    unsafe {
        let offset = alloc(text.len() as u64);
        for (at, byte) in text.bytes().enumerate() {
            store_u8(offset + at as u64, byte.into());
        }
        offset
    }
}

pub fn input() -> String {
    let bytes = unsafe { (0..input_length()).map(|at| input_load_u8(at) as u8).collect() };
    String::from_utf8(bytes).unwrap()
}

pub fn output(text: &str) {
    unsafe { output_set(block(text), text.len() as u64) }
}

pub fn fail(message: &str) {
    unsafe { error_set(block(message)) }
}

pub fn variable(name: &str) -> Option<String> {
    unsafe {
        let value = var_get(block(name));
        let bytes = (value..value + length(value)).map(|at| load_u8(at) as u8).collect();
        (value != 0).then(|| String::from_utf8(bytes).unwrap())
    }
}

pub fn set_variable(name: &str, value: &str) {
    unsafe { var_set(block(name), block(value)) }
}

pub fn tools_changed() {
    unsafe { notify_tool_list_changed() }
}
