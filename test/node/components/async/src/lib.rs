//! A component for tests: functions that wait, and the parts of WASI 0.3 that are offered.
wit_bindgen::generate!({ world: "component", generate_all });

use exports::test::waits::waits::{Guest as Waits, Shape};
use futures::future::{join, join_all, select, Either};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use wasip3::clocks::monotonic_clock::{now, wait_for, wait_until};
use wasip3::filesystem::types::{Descriptor, DescriptorFlags, OpenFlags, PathFlags};
use wasip3::http::client;
use wasip3::http::types::{ErrorCode, Fields, Method, Request, RequestOptions, Response, Scheme};
use wit_bindgen::{StreamReader, StreamResult};

struct Component;
export!(Component);

const MS: u64 = 1_000_000;

fn text<E: std::fmt::Debug>(error: E) -> String { format!("{error:?}") }

impl Waits for Component {
    async fn echo(s: Shape) -> Shape { s }
    async fn pair(a: u64, b: String, c: bool) -> (u64, String, bool) { (a, b, c) }
    async fn wide(
        a: Vec<u8>, b: String, c: (u64, u64, u64, u64), d: Vec<String>, e: (i16, i16, i16, i16, i16, i16, i16),
    ) -> (Vec<u8>, String, (u64, u64, u64, u64), Vec<String>, (i16, i16, i16, i16, i16, i16, i16)) { (a, b, c, d, e) }
    async fn nothing() {}
    async fn check(n: u32) -> Result<(), String> { if n == 0 { Err("no".into()) } else { Ok(()) } }
}

static CALLS: AtomicU32 = AtomicU32::new(0);

/// A request with a body that is written while it is sent.
async fn ask(host: &str, path: &str, body: Vec<String>) -> Result<Response, ErrorCode> {
    let headers = Fields::from_list(&[("X-One".into(), b"1".into()), ("x-one".into(), b"2".into())]).unwrap();
    let (trailers, after) = wasip3::wit_future::new(|| Ok(None));
    let has_body = !body.is_empty();
    let (mut writer, reader) = wasip3::wit_stream::new();
    let (request, sent) = Request::new(headers, has_body.then_some(reader), after, None);
    if has_body { request.set_method(&Method::Post).unwrap(); }
    request.set_scheme(Some(&Scheme::Https)).unwrap();
    request.set_authority(Some(host)).unwrap();
    request.set_path_with_query(Some(path)).unwrap();
    let write = async {
        for part in body {
            wait_for(10 * MS).await;
            writer.write_all(part.into_bytes()).await;
        }
        drop(writer);
        let _ = trailers.write(Ok(None)).await;
    };
    let (response, ()) = join(client::send(request), write).await;
    let outcome = sent.await;
    assert_eq!(outcome.is_ok(), response.is_ok());
    response
}

async fn body_of(response: Response) -> String {
    let (_done, done) = wasip3::wit_future::new(|| Ok(()));
    let (body, trailers) = Response::consume_body(response, done);
    let all = body.collect().await;
    assert!(trailers.await.unwrap().is_none());
    String::from_utf8_lossy(&all).into()
}

fn folder() -> Result<Descriptor, String> {
    wasip3::filesystem::preopens::get_directories().into_iter().next().map(|(one, _)| one).ok_or("no folder".into())
}

impl Guest for Component {
    fn add(a: u32, b: u32) -> u32 { a + b }
    fn blocking(ms: u64) -> u64 {
        let before = now();
        wit_bindgen::block_on(wait_for(ms * MS));
        (now() - before) / MS
    }
    /// Waits for several times at once, and tells when each was over.
    async fn sleep(ms: Vec<u64>) -> Vec<u64> {
        let before = now();
        join_all(ms.into_iter().enumerate().map(|(at, one)| async move {
            if at % 2 == 0 { wait_for(one * MS).await } else { wait_until(before + one * MS).await }
            (now() - before) / MS
        })).await
    }
    /// Returns the first of a response and a timer, and cancels the other.
    async fn first(host: String, ms: u64) -> String {
        let request = pin!(async { wait_for(20 * MS).await; ask(&host, "/slow", vec![]).await });
        let time = pin!(wait_for(ms * MS));
        match select(request, time).await {
            Either::Left((response, _)) => format!("response {}", response.unwrap().get_status_code()),
            Either::Right(_) => "time".into(),
        }
    }
    /// Goes on after it has given its result.
    async fn late(ms: u64) -> String {
        wit_bindgen::spawn_local(async move {
            wait_for(ms * MS).await;
            print("after the result\n").await.unwrap();
        });
        "early".into()
    }
    async fn fetch(host: String, path: String, body: Vec<String>) -> Result<String, String> {
        let response = ask(&host, &path, body).await.map_err(text)?;
        let status = response.get_status_code();
        let kind = response.get_headers().get("content-type").into_iter().next().map(|one| String::from_utf8(one).unwrap());
        Ok(format!("{status} {kind:?} {}", body_of(response).await))
    }
    async fn both(host: String, paths: Vec<String>) -> Vec<String> {
        join_all(paths.iter().map(|path| async {
            match ask(&host, path, vec![]).await { Ok(one) => body_of(one).await, Err(error) => text(error) }
        })).await
    }
    /// Sends the body of one response as that of a request, as proxies do.
    async fn forward(host: String, path: String) -> Result<String, String> {
        let response = ask(&host, &path, vec![]).await.map_err(text)?;
        let (_done, done) = wasip3::wit_future::new(|| Ok(()));
        let (body, trailers) = Response::consume_body(response, done);
        let (request, _sent) = Request::new(Fields::new(), Some(body), trailers, None);
        request.set_method(&Method::Put).unwrap();
        request.set_authority(Some(&host)).unwrap();
        let told = (request.get_method(), request.get_authority(), request.get_path_with_query());
        let answer = client::send(request).await.map_err(text)?;
        Ok(format!("{told:?} {}", body_of(answer).await))
    }
    /// Writes a stream and reads it, in small parts.
    async fn pipe(parts: Vec<String>) -> String {
        let (mut writer, mut reader) = wasip3::wit_stream::new();
        let write = async {
            for part in parts { assert!(writer.write_all(part.into_bytes()).await.is_empty()); }
            drop(writer);
        };
        let read = async {
            let mut all = String::new();
            loop {
                let (result, part) = reader.read(Vec::with_capacity(4)).await;
                all += &format!("[{}]", String::from_utf8_lossy(&part));
                if let StreamResult::Dropped = result { return all; }
            }
        };
        join(read, write).await.0
    }
    async fn say(text: String) -> Result<(), String> { print(&text).await }
    async fn save(path: String, parts: Vec<String>) -> Result<Vec<String>, String> {
        let folder = folder()?;
        let flags = DescriptorFlags::READ | DescriptorFlags::WRITE;
        let file = folder.open_at(PathFlags::empty(), path.clone(), OpenFlags::CREATE | OpenFlags::TRUNCATE, flags).await.map_err(text)?;
        let (mut writer, reader) = wasip3::wit_stream::new();
        let written = file.write_via_stream(reader, 0);
        for part in parts { writer.write_all(part.into_bytes()).await; }
        drop(writer);
        written.await.map_err(text)?;
        let (mut writer, reader) = wasip3::wit_stream::new();
        let appended = file.append_via_stream(reader);
        writer.write_all(b"!".to_vec()).await;
        drop(writer);
        appended.await.map_err(text)?;
        let (content, read) = file.read_via_stream(1);
        let mut found = vec![String::from_utf8_lossy(&content.collect().await).into()];
        read.await.map_err(text)?;
        let (entries, listed) = folder.read_directory();
        for entry in entries.collect().await { found.push(format!("{:?} {}", entry.type_, entry.name)); }
        listed.await.map_err(text)?;
        Ok(found)
    }
    async fn look(path: String) -> Result<String, String> {
        let folder = folder()?;
        let flags = PathFlags::empty();
        let stat = folder.stat_at(flags, path.clone()).await.map_err(text)?;
        let file = folder.open_at(flags, path.clone(), OpenFlags::empty(), DescriptorFlags::READ).await.map_err(text)?;
        let own = (file.get_type().await.map_err(text)?, file.get_flags().await.map_err(text)?);
        let same = file.is_same_object(&folder).await;
        let link = folder.symlink_at("a".into(), "b".into()).await;
        let times = stat.data_modification_timestamp.is_some();
        Ok(format!("{:?} {} {own:?} {same} {link:?} {times}", stat.type_, stat.size))
    }
    /// A request that is cancelled after a second, for which a body must be open; and the outcome of sending it.
    async fn timeout(host: String, is_open: bool) -> String {
        let (_trailers, after) = wasip3::wit_future::new(|| Ok(None));
        let (writer, reader) = wasip3::wit_stream::new();
        let (request, sent) = Request::new(Fields::new(), Some(reader), after, None);
        request.set_authority(Some(&host)).unwrap();
        let writer = is_open.then_some(writer);
        let answer = match select(Box::pin(client::send(request)), pin!(wait_for(1000 * MS))).await {
            Either::Left((response, _)) => response.unwrap().get_status_code().to_string(),
            Either::Right((_, sending)) => { drop(sending); "time".into() }
        };
        let outcome = sent.await.is_ok();
        drop(writer);
        format!("{answer} {outcome}")
    }
    /// The outcome of a request that is dropped, of one that is cancelled, and what is left of the body of each.
    async fn unsent(host: String) -> Vec<String> {
        let mut all = vec![];
        for cancels in [false, true] {
            let (_trailers, after) = wasip3::wit_future::new(|| Ok(None));
            let (mut writer, reader) = wasip3::wit_stream::new();
            let (request, sent) = Request::new(Fields::new(), Some(reader), after, None);
            request.set_authority(Some(&host)).unwrap();
            if cancels { select(pin!(client::send(request)), pin!(wait_for(MS))).await; } else { drop(request); }
            all.push(format!("{:?} {}", sent.await, writer.write_all(b"rest".to_vec()).await.len()));
        }
        all
    }
    /// Sends a request whose body may fail before its end, as its trailers say then.
    async fn half(host: String, fails: bool) -> Result<u16, String> {
        let (trailers, after) = wasip3::wit_future::new(|| Ok(None));
        let (mut writer, reader) = wasip3::wit_stream::new();
        let (request, sent) = Request::new(Fields::new(), Some(reader), after, None);
        request.set_method(&Method::Post).unwrap();
        request.set_authority(Some(&host)).unwrap();
        let write = async {
            writer.write_all(b"half".to_vec()).await;
            wait_for(MS).await;
            trailers.write(if fails { Err(ErrorCode::InternalError(None)) } else { Ok(None) }).await.unwrap();
            drop(writer);
        };
        let (response, ()) = join(client::send(request), write).await;
        assert_eq!(sent.await.is_ok(), response.is_ok());
        Ok(response.map_err(text)?.get_status_code())
    }
    fn options() -> String {
        let options = RequestOptions::new();
        options.set_connect_timeout(Some(5 * MS)).unwrap();
        options.set_between_bytes_timeout(Some(u64::MAX)).unwrap();
        let clone = options.clone();
        options.set_connect_timeout(None).unwrap();
        format!("{:?} {:?} {:?} {:?}", options.get_connect_timeout(), clone.get_connect_timeout(),
            clone.get_first_byte_timeout(), clone.get_between_bytes_timeout())
    }
    /// Uses streams of files whose descriptors are dropped, while another file is open.
    async fn outlive() -> Result<Vec<String>, String> {
        let folder = folder()?;
        let open = async |path: &str| {
            let flags = DescriptorFlags::READ | DescriptorFlags::WRITE;
            folder.open_at(PathFlags::empty(), path.into(), OpenFlags::CREATE, flags).await.map_err(text)
        };
        let first = open("first").await?;
        let (mut writer, reader) = wasip3::wit_stream::new();
        let written = first.write_via_stream(reader, 0);
        let (content, read) = first.read_via_stream(0);
        drop(first);
        let second = open("second").await?;
        writer.write_all(b"first".to_vec()).await;
        drop(writer);
        written.await.map_err(text)?;
        let mut found = vec![String::from_utf8(content.collect().await).unwrap()];
        read.await.map_err(text)?;
        let (content, read) = second.read_via_stream(0);
        drop(second);
        found.push(String::from_utf8(content.collect().await).unwrap());
        read.await.map_err(text)?;
        let (entries, listed) = self::folder()?.open_at(PathFlags::empty(), ".".into(), OpenFlags::DIRECTORY, DescriptorFlags::READ).await.map_err(text)?.read_directory();
        found.extend(entries.collect().await.into_iter().map(|entry| entry.name));
        listed.await.map_err(text)?;
        Ok(found)
    }
    /// Writes to a file that is open to be read.
    async fn scribble(path: String) -> String {
        let folder = folder().unwrap();
        let file = folder.open_at(PathFlags::empty(), path, OpenFlags::empty(), DescriptorFlags::READ).await.unwrap();
        let (mut writer, reader) = wasip3::wit_stream::new();
        let written = file.write_via_stream(reader, 0);
        let left = writer.write_all(b"x".to_vec()).await;
        format!("{} {:?}", left.len(), written.await)
    }
    async fn input() -> String {
        let (mut bytes, outcome) = wasip3::cli::stdin::read_via_stream();
        let (result, _) = bytes.read(Vec::with_capacity(8)).await;
        format!("{result:?} {:?}", outcome.await)
    }
    async fn stuck() -> u32 {
        let (_writer, mut reader) = wasip3::wit_stream::new::<u8>();
        reader.next().await.map_or(0, u32::from)
    }
    async fn spin() { loop { wit_bindgen::yield_async().await; } }
    async fn count() -> u32 { CALLS.fetch_add(1, Ordering::Relaxed) + 1 }
    async fn streams(s: StreamReader<u8>) -> u32 { s.collect().await.len() as u32 }
}

async fn print(line: &str) -> Result<(), String> {
    let (mut writer, reader) = wasip3::wit_stream::new();
    let written = wasip3::cli::stdout::write_via_stream(reader);
    writer.write_all(line.as_bytes().to_vec()).await;
    drop(writer);
    written.await.map_err(text)
}
