//! A component for tests: every kind of value, and the parts of WASI 0.2 that are offered.
wit_bindgen::generate!({ world: "component" });

use exports::test::shapes::shapes::{Color, Perms, Point, Shape};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wasip2::http::outgoing_handler;
use wasip2::http::types::{Fields, Method, OutgoingBody, OutgoingRequest, Scheme};

struct Component;

impl exports::test::shapes::shapes::Guest for Component {
    fn describe(
        s: String, l: Vec<u32>, o: Option<String>, sh: Shape, c: Color, p: Perms, t: (i8, u64), ch: char, b: bool,
    ) -> String {
        let name = match c { Color::Red => "red", Color::Green => "green", Color::Blue => "blue" };
        format!("{s} {l:?} {o:?} {sh:?} {name} {:03b} {t:?} {ch} {b}", p.bits())
    }
    fn turn(p: Point) -> Point { Point { x: p.y, y: p.x } }
    fn reverse(mut l: Vec<Shape>) -> Vec<Shape> { l.reverse(); l }
    fn same(n: u64, m: i64, f: f32) -> (u64, i64, f32) { (n, m, f) }
    fn wide(
        a: Vec<u8>, b: String, c: (u64, u64, u64, u64), d: Vec<String>, e: (i16, i16, i16, i16, i16, i16, i16),
    ) -> String { format!("{a:?} {b} {c:?} {d:?} {e:?}") }
    fn divide(a: u32, b: u32) -> Result<u32, String> { a.checked_div(b).ok_or_else(|| "divided by zero".into()) }
    fn nested(r: Result<Vec<u8>, Color>) -> Result<Vec<u8>, Color> { r }
    fn maybe(a: Option<Option<u32>>) -> Option<Option<u32>> { a }
    fn invert(p: Perms) -> Perms { !p }
    fn nothing() {}
}

static CALLS: AtomicU32 = AtomicU32::new(0);

fn text<E: std::fmt::Debug>(error: E) -> String { format!("{error:?}") }

impl Guest for Component {
    fn variable(name: String) -> Option<String> { std::env::var(name).ok() }
    fn spin() { loop { std::hint::black_box(()); } }
    fn repeat(text: String, times: u32) -> String { text.repeat(times as usize) }
    fn now() -> u64 { SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64 }
    fn roll() -> u64 { RandomState::new().hash_one(1) }
    fn sleep(ms: u64) -> u64 { std::thread::sleep(Duration::from_millis(ms)); Self::now() }
    fn count() -> u32 { CALLS.fetch_add(1, Ordering::Relaxed) + 1 }
    fn save(path: String, content: String) -> Result<Vec<String>, String> {
        std::fs::write(&path, content).map_err(text)?;
        let mut found = vec![std::fs::read_to_string(&path).map_err(text)?];
        for entry in std::fs::read_dir(std::path::Path::new(&path).parent().unwrap()).map_err(text)? {
            let entry = entry.map_err(text)?;
            found.push(format!("{:?} {}", entry.file_name(), entry.metadata().map_err(text)?.len()));
        }
        Ok(found)
    }
    fn fetch(host: String, path: String, body: String) -> Result<String, String> {
        let twice = [("X-One", "1"), ("x-one", "2"), ("Cookie", "a=1"), ("cookie", "b=2")];
        let headers = Fields::from_list(&twice.map(|(name, value)| (name.into(), value.into()))).map_err(text)?;
        let request = OutgoingRequest::new(headers);
        request.set_scheme(Some(&Scheme::Https)).unwrap();
        request.set_authority(Some(&host)).unwrap();
        request.set_path_with_query(Some(&path)).unwrap();
        request.set_method(if body.is_empty() { &Method::Get } else { &Method::Post }).unwrap();
        let outgoing = request.body().unwrap();
        let future = outgoing_handler::handle(request, None).map_err(text)?;
        if !body.is_empty() {
            let stream = outgoing.write().unwrap();
            stream.blocking_write_and_flush(body.as_bytes()).map_err(text)?;
        }
        OutgoingBody::finish(outgoing, None).map_err(text)?;
        future.subscribe().block();
        let response = future.get().unwrap().unwrap().map_err(text)?;
        let kind = response.headers().get("content-type");
        let incoming = response.consume().unwrap();
        let stream = incoming.stream().unwrap();
        let mut read = Vec::new();
        while let Ok(part) = stream.blocking_read(65536) { read.extend(part); }
        Ok(format!("{} {:?} {}", response.status(), kind.first().map(|one| String::from_utf8_lossy(one)), String::from_utf8_lossy(&read)))
    }
}

export!(Component);
