import { describe, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { parseMounts } from "../../../src/server/kernel/files/mounts.ts";
import { newStore } from "./database.ts";
import { APPEND, CREATE, DIRECTORY, guestWith, READ, WRITE } from "./wasi-guest.ts";

/** Open descriptors. Numbers are those of WASI's errno. */

const OK = 0;
const BADF = 8;
const INVAL = 28;
const MFILE = 33;
const NOENT = 44;
const NOTCAPABLE = 76;

const mounts = parseMounts(["/data", "ro:/other"]);

function guest() {
  const { store, database } = newStore();
  const files = store.begin(mounts, { now: 0n });
  return { ...guestWith(files), files, store, database };
}

const text = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);

test("each folder is open from the beginning, by its name", () => {
  const { wasi } = guest();
  for (const [fd, name] of [
    [3, "/data"],
    [4, "/other"],
  ] as const) {
    expect(wasi.call("fd_prestat_get", fd, 500)).toBe(OK);
    expect([...wasi.bytes(500, 8)]).toEqual([0, 0, 0, 0, name.length, 0, 0, 0]);
    expect(wasi.call("fd_prestat_dir_name", fd, 500, name.length)).toBe(OK);
    expect(text(wasi.bytes(500, name.length))).toBe(name);
    expect(wasi.call("fd_prestat_dir_name", fd, 500, name.length - 1)).toBe(37);
  }
  expect(wasi.call("fd_prestat_get", 5, 500)).toBe(BADF);
  const { value: opened } = wasi.open(".", { oflags: DIRECTORY, rights: READ });
  expect(opened).toBe(5);
  expect(wasi.call("fd_prestat_get", 5, 500)).toBe(BADF);
});

test("standard output is not a file, whatever else is open", () => {
  const { wasi } = guest();
  expect(wasi.write(1, "x")).toEqual({ errno: OK, value: 1 });
  expect(wasi.seek(1, 0n, 0).errno).toBe(70);
  expect(wasi.statOf(1).errno).toBe(OK);
});

test("flags and rights are reported as they were given, and rights can be given up", () => {
  const { wasi } = guest();
  const { value: fd = 0 } = wasi.open("a", { oflags: CREATE, flags: APPEND });
  expect(wasi.call("fd_fdstat_get", fd, 504)).toBe(OK);
  expect([...wasi.bytes(504, 4)]).toEqual([4, 0, APPEND, 0]);
  wasi.write(fd, "ab");
  wasi.seek(fd, 0n, 0);
  wasi.write(fd, "c");
  expect(wasi.call("fd_fdstat_set_flags", fd, 0)).toBe(OK);
  wasi.seek(fd, 0n, 0);
  wasi.write(fd, "X");
  expect(text(wasi.read(fd, 10, 0n).value)).toBe("Xbc");
  expect(wasi.call("fd_fdstat_set_rights", fd, READ, 0n)).toBe(OK);
  expect(wasi.write(fd, "c").errno).toBe(BADF);
  expect(wasi.call("fd_fdstat_set_rights", fd, READ | WRITE, 0n)).toBe(NOTCAPABLE);
});

test("a number is taken from another descriptor", () => {
  const { wasi } = guest();
  const a = wasi.open("a", { oflags: CREATE }).value!;
  const b = wasi.open("b", { oflags: CREATE }).value!;
  wasi.write(b, "b");
  expect(wasi.call("fd_renumber", b, a)).toBe(OK);
  expect(wasi.tell(b).errno).toBe(BADF);
  expect(wasi.tell(a).value).toBe(1n);
  expect(wasi.call("fd_renumber", a, b)).toBe(BADF);
  expect(wasi.call("fd_renumber", a, a)).toBe(OK);
  expect(wasi.call("fd_close", a)).toBe(OK);
  expect(wasi.call("fd_close", a)).toBe(BADF);
  expect(wasi.open("c", { oflags: CREATE }).value).toBe(a);
});

test("a file is extended by what is allocated, and never cut", () => {
  const { wasi } = guest();
  const fd = wasi.open("a", { oflags: CREATE }).value!;
  expect(wasi.call("fd_allocate", fd, 10n, 90n)).toBe(OK);
  expect(wasi.call("fd_allocate", fd, 0n, 5n)).toBe(OK);
  expect(wasi.statOf(fd).value?.size).toBe(100);
  expect(wasi.read(fd, 200).value).toEqual(new Uint8Array(100));
  expect(wasi.call("fd_allocate", fd, 0n, 0n)).toBe(INVAL);
  expect(wasi.call("fd_allocate", fd, 0n, BigInt(limits.fileBytes))).toBe(51);
  expect(wasi.call("fd_advise", fd, 0n, 0n, 0)).toBe(OK);
  expect(wasi.call("fd_sync", fd)).toBe(OK);
  expect(wasi.call("fd_datasync", fd)).toBe(OK);
});

test("positions beyond any file are refused", () => {
  const { wasi } = guest();
  const fd = wasi.open("a", { oflags: CREATE }).value!;
  expect(wasi.seek(fd, -1n, 1).errno).toBe(INVAL);
  expect(wasi.seek(fd, 0n, 3).errno).toBe(INVAL);
  expect(wasi.seek(fd, 2n ** 62n, 0).errno).toBe(INVAL);
  expect(wasi.write(fd, "x", -1n).errno).toBe(INVAL);
  expect(wasi.write(fd, "x", 2n ** 40n).errno).toBe(22);
  expect(wasi.call("fd_filestat_set_size", fd, -1n)).toBe(INVAL);
  expect(wasi.call("fd_filestat_set_size", fd, 2n ** 40n)).toBe(22);
  expect(wasi.read(fd, 10, 2n ** 50n).value).toHaveLength(0);
  expect(wasi.statOf(fd).value?.size).toBe(0);
});

test("only so many files are open at once", () => {
  const { wasi } = guest();
  const opened = Array.from(
    { length: limits.openFiles - 1 },
    () => wasi.open("a", { oflags: CREATE }).errno,
  );
  expect(opened.filter((errno) => errno !== OK)).toEqual([MFILE]);
});

describe("a file without a name", () => {
  test("is there while it is open", () => {
    const { wasi, files, database, store } = guest();
    const fd = wasi.open("a", { oflags: CREATE }).value!;
    wasi.write(fd, "still here");
    wasi.onPath("path_unlink_file", "a");
    expect(wasi.open("a").errno).toBe(NOENT);
    expect(text(wasi.read(fd, 100, 0n).value)).toBe("still here");
    expect(wasi.statOf(fd).value?.links).toBe(0);
    const before = store.bytes;
    database.transaction(() => files.commit({ keepsOpen: false }));
    expect(store.bytes - before).toBe(2 * 512);
    expect(database.count("file_blocks")).toBe(0);
  });

  test("is there for the next call where its memory is", () => {
    const { wasi, files, database, store } = guest();
    const fd = wasi.open("a", { oflags: CREATE }).value!;
    wasi.write(fd, "kept open");
    wasi.seek(fd, 5n, 0);
    wasi.onPath("path_unlink_file", "a");
    database.transaction(() => files.commit({ keepsOpen: true }));

    const second = store.begin(mounts, { now: 0n, continues: true });
    const { wasi: next } = guestWith(second);
    expect(text(next.read(fd, 100).value)).toBe("open");
    expect(next.list(".").value).toEqual([]);
    database.transaction(() => second.commit({ keepsOpen: true }));

    const third = store.begin(mounts, { now: 0n, continues: true });
    const { wasi: last } = guestWith(third);
    expect(last.tell(fd).value).toBe(9n);
    last.call("fd_close", fd);
    database.transaction(() => third.commit({ keepsOpen: true }));
    expect(database.count("file_blocks")).toBe(0);
  });

  test("is deleted where the memory that has it open is gone", () => {
    const { wasi, files, database, store } = guest();
    const fd = wasi.open("a", { oflags: CREATE }).value!;
    wasi.write(fd, "forgotten");
    wasi.onPath("path_unlink_file", "a");
    database.transaction(() => files.commit({ keepsOpen: true }));
    const next = store.begin(mounts, { now: 0n });
    expect(guestWith(next).wasi.tell(fd).errno).toBe(BADF);
    database.transaction(() => next.commit({ keepsOpen: false }));
    expect(database.count("file_blocks")).toBe(0);
    expect(database.count("file_nodes")).toBe(2);
  });
});

test("a folder that is no longer mounted is not open in a memory that goes on", () => {
  const { wasi, files, database, store } = guest();
  const fd = wasi.open(".", { oflags: DIRECTORY, rights: READ, fd: 4 }).value!;
  database.transaction(() => files.commit({ keepsOpen: true }));
  const next = store.begin(mounts.slice(0, 1), { now: 0n, continues: true });
  const { wasi: later } = guestWith(next);
  expect(later.stat(".").errno).toBe(OK);
  expect(later.stat(".", true, 4).errno).toBe(BADF);
  expect(later.stat(".", true, fd).errno).toBe(BADF);
});

describe("a folder is listed", () => {
  const names = Array.from({ length: 300 }, (_, index) => `file-${index}`);
  const full = () => {
    const { wasi } = guest();
    for (const name of names) wasi.call("fd_close", wasi.open(name, { oflags: CREATE }).value!);
    return wasi;
  };

  test.each([60, 100, 1000, 100_000])("with room for %i bytes at a time", (room) => {
    expect(full().list(".", room).value).toEqual(names.toSorted());
  });

  test("with `.` and `..`, and cut names where the room ends", () => {
    const wasi = full();
    const fd = wasi.open(".", { oflags: DIRECTORY, rights: READ }).value!;
    const first = wasi.page(fd, 0n, 60).value!;
    expect(first.names).toEqual([".", ".."]);
    expect(first.isLast).toBe(false);
    const again = wasi.page(fd, first.next, 100_000).value!;
    expect(again.names).toHaveLength(300);
    expect(wasi.page(fd, again.next, 100).value).toEqual({
      names: [],
      next: again.next,
      isLast: true,
    });
    expect(wasi.call("fd_close", fd)).toBe(OK);
  });

  test("while its files are removed and others are made", () => {
    const wasi = full();
    const fd = wasi.open(".", { oflags: DIRECTORY, rights: READ }).value!;
    const seen = new Set<string>();
    for (let cookie = 0n, isLast = false; !isLast;) {
      const page = wasi.page(fd, cookie, 500).value!;
      for (const name of page.names.filter((one) => names.includes(one))) {
        expect(seen).not.toContain(name);
        seen.add(name);
        wasi.onPath("path_unlink_file", name);
      }
      wasi.call("fd_close", wasi.open(`new-${cookie}`, { oflags: CREATE }).value!);
      ({ next: cookie, isLast } = page);
    }
    expect([...seen].toSorted()).toEqual(names.toSorted());
  });
});
