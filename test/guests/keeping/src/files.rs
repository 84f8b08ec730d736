//! A tool for each thing that `std::fs` can do under WASI preview 1.

use crate::json::{quoted, Json};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::wasi::io::AsRawFd;

pub const TOOLS: [&str; 22] = [
    "write", "create_new", "append", "read", "read_at", "write_at", "truncate", "seek_and_read",
    "stat", "list", "make_folder", "make_folders", "remove_folder", "remove_folders", "remove",
    "rename", "hard_link", "copy", "sync", "fill", "checksum", "many",
];

extern "C" {
    fn pread(file: i32, to: *mut u8, length: usize, offset: i64) -> isize;
    fn pwrite(file: i32, from: *const u8, length: usize, offset: i64) -> isize;
}

/// An answer, as JSON with its keys in order.
pub fn run(tool: &str, given: &Json) -> io::Result<String> {
    let (path, to, text) = (given.get("path").text(), given.get("to").text(), given.get("text").text());
    let (offset, length) = (given.get("offset").number(), given.get("length").number());
    let bytes = |count: usize| format!(r#"{{"bytes":{count}}}"#);
    let size = |size: u64| format!(r#"{{"size":{size}}}"#);
    let texts = |text: &str| format!(r#"{{"text":{}}}"#, quoted(text));
    match tool {
        "write" => fs::write(path, text).map(|()| bytes(text.len())),
        "create_new" => {
            let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
            file.write_all(text.as_bytes()).map(|()| bytes(text.len()))
        }
        "append" => {
            let mut file = OpenOptions::new().append(true).create(true).open(path)?;
            file.write_all(text.as_bytes())?;
            Ok(size(fs::metadata(path)?.len()))
        }
        "read" => fs::read_to_string(path).map(|text| texts(&text)),
        "read_at" => {
            let file = File::open(path)?;
            let mut found = vec![0; length as usize];
            let read = unsafe { pread(file.as_raw_fd() as i32, found.as_mut_ptr(), found.len(), offset as i64) };
            found.truncate(counted(read)?);
            Ok(texts(&String::from_utf8_lossy(&found)))
        }
        "write_at" => {
            let file = OpenOptions::new().write(true).open(path)?;
            let written = unsafe { pwrite(file.as_raw_fd() as i32, text.as_ptr(), text.len(), offset as i64) };
            counted(written).map(bytes)
        }
        "truncate" => {
            OpenOptions::new().write(true).open(path)?.set_len(length)?;
            Ok(size(fs::metadata(path)?.len()))
        }
        "seek_and_read" => {
            let mut file = File::open(path)?;
            let at = file.seek(SeekFrom::End(-(length as i64)))?;
            let mut rest = String::new();
            file.read_to_string(&mut rest)?;
            let position = file.stream_position()?;
            Ok(format!(r#"{{"at":{at},"position":{position},"text":{}}}"#, quoted(&rest)))
        }
        "stat" => {
            let about = fs::symlink_metadata(path)?;
            let (file, folder, times) = (about.is_file(), about.is_dir(), about.modified().is_ok());
            let size = if file { about.len() } else { 0 };
            Ok(format!(r#"{{"file":{file},"folder":{folder},"has_times":{times},"size":{size}}}"#))
        }
        "list" => {
            let mut names = Vec::new();
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                let kind = if entry.file_type()?.is_dir() { "/" } else { "" };
                names.push(quoted(&format!("{}{kind}", entry.file_name().to_string_lossy())));
            }
            names.sort();
            let count = names.len();
            names.truncate(100);
            Ok(format!(r#"{{"count":{count},"entries":[{}]}}"#, names.join(",")))
        }
        "make_folder" => done(fs::create_dir(path)),
        "make_folders" => done(fs::create_dir_all(path)),
        "remove_folder" => done(fs::remove_dir(path)),
        "remove_folders" => done(fs::remove_dir_all(path)),
        "remove" => done(fs::remove_file(path)),
        "rename" => done(fs::rename(path, to)),
        "hard_link" => done(fs::hard_link(path, to)),
        "copy" => fs::copy(path, to).map(|count| bytes(count as usize)),
        "sync" => {
            let file = OpenOptions::new().write(true).open(path)?;
            done(file.sync_data().and_then(|()| file.sync_all()))
        }
        // Byte i is i * 31 % 251.
        "fill" => {
            let mut file = File::create(path)?;
            for from in (0..length).step_by(65_536) {
                let block: Vec<u8> = (from..length.min(from + 65_536)).map(|at| (at * 31 % 251) as u8).collect();
                file.write_all(&block)?;
            }
            Ok(size(length))
        }
        "checksum" => {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(offset))?;
            let mut part = Vec::new();
            file.take(length).read_to_end(&mut part)?;
            let sum = part.iter().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add((*byte).into()));
            Ok(format!(r#"{{"read":{},"sum":"{sum}"}}"#, part.len()))
        }
        "many" => {
            fs::create_dir_all(path)?;
            for nth in 0..length {
                fs::write(format!("{path}/file-{nth:05}.txt"), nth.to_string())?;
            }
            Ok(format!(r#"{{"written":{length}}}"#))
        }
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn done(result: io::Result<()>) -> io::Result<String> {
    result.map(|()| "{}".to_string())
}

fn counted(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
