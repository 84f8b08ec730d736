import { describe, expect, test } from "vitest";
import { parseMounts } from "../../../src/server/kernel/files/mounts.ts";
import { liveWorld } from "../../../src/server/kernel/wasm/world.ts";
import { newStore } from "./database.ts";
import { CREATE, DIRECTORY, EXCLUSIVE, guestWith, READ, TRUNCATE, WRITE } from "./wasi-guest.ts";

/** How paths resolve, and which changes they allow. Numbers are those of WASI's errno. */

const OK = 0;
const EXIST = 20;
const ILSEQ = 25;
const INVAL = 28;
const LOOP = 32;
const NAMETOOLONG = 37;
const NOENT = 44;
const NOTDIR = 54;
const PERM = 63;
const XDEV = 75;

const START = Date.UTC(2026, 0, 1);

function guest(allowedPaths = ["/data"], nowMs = START) {
  const { store, database } = newStore();
  const files = store.begin(parseMounts(allowedPaths), {
    now: 0n,
    initial: {
      files: {
        digest: "1",
        files: () => [{ path: "deep/r.txt", bytes: new TextEncoder().encode("readme") }],
      },
    },
  });
  const world = { ...liveWorld, now: () => nowMs };
  return { ...guestWith(files, { world }), files, store, database };
}

type Wasi = ReturnType<typeof guest>["wasi"];

function put(wasi: Wasi, path: string, text = path, fd = 3): void {
  const { value } = wasi.open(path, { oflags: CREATE | TRUNCATE, fd });
  wasi.write(value!, text);
  wasi.call("fd_close", value!);
}

function textOf(wasi: Wasi, path: string, fd = 3): string | number {
  const { errno, value } = wasi.open(path, { rights: READ, fd });
  return value === undefined ? errno : new TextDecoder().decode(wasi.read(value, 100).value);
}

describe("a path cannot leave its folder", () => {
  const { wasi } = guest();
  wasi.onPath("path_create_directory", "f");
  wasi.onPath("path_create_directory", "f/g");
  put(wasi, "a");
  wasi.symlink("../..", "f/out");
  wasi.symlink("../a", "f/in");
  const { value: f } = wasi.open("f", { oflags: DIRECTORY, rights: READ });

  test.each([
    ["..", PERM],
    ["../data/a", PERM],
    ["f/../../a", PERM],
    ["f/out/a", PERM],
    ["/a", PERM],
    ["/data/a", PERM],
    ["none/../a", NOENT],
    ["a/../a", NOTDIR],
    ["f/../a", "a"],
    ["f/g/../../a", "a"],
    ["f/in", "a"],
    ["./f/.//in", "a"],
  ])("%s", (path, expected) => {
    expect(textOf(wasi, path)).toBe(expected);
  });

  test("an open folder is the border for what is opened from it", () => {
    expect(textOf(wasi, "../a", f)).toBe(PERM);
    expect(textOf(wasi, "in", f)).toBe(PERM);
    expect(wasi.rename("../a", "b", f)).toBe(PERM);
    expect(wasi.symlink("/etc/passwd", "absolute")).toBe(PERM);
  });
});

describe("symbolic links", () => {
  const { wasi } = guest();
  put(wasi, "a");
  wasi.onPath("path_create_directory", "f");

  test("are followed, but for the last where it is asked for itself", () => {
    expect(wasi.symlink("a", "l")).toBe(OK);
    expect(wasi.symlink("x", "l")).toBe(EXIST);
    expect(wasi.readlink("l").value).toBe("a");
    expect(wasi.stat("l").value).toMatchObject({ kind: "file" });
    expect(wasi.stat("l", false).value).toMatchObject({ kind: "link", size: 1 });
    expect(wasi.open("l", { follows: false }).errno).toBe(LOOP);
    expect(wasi.readlink("a").errno).toBe(INVAL);
  });

  test("may lead to folders and to nothing yet", () => {
    wasi.symlink("../later", "f/soon");
    expect(textOf(wasi, "f/soon")).toBe(NOENT);
    put(wasi, "f/soon", "made");
    expect(textOf(wasi, "later")).toBe("made");
    wasi.symlink("f/", "folder");
    expect(textOf(wasi, "folder/soon")).toBe("made");
    expect(wasi.list("folder").value).toEqual(["soon"]);
    expect(wasi.open("f/soon", { oflags: CREATE | EXCLUSIVE }).errno).toBe(EXIST);
  });

  test("are removed and moved themselves", () => {
    wasi.symlink("a", "m");
    expect(wasi.rename("m", "n")).toBe(OK);
    expect(wasi.onPath("path_unlink_file", "n")).toBe(OK);
    expect(textOf(wasi, "a")).toBe("a");
  });

  test("that lead to each other end", () => {
    wasi.symlink("two", "one");
    wasi.symlink("one", "two");
    expect(textOf(wasi, "one")).toBe(LOOP);
    for (let depth = 0; depth <= 41; depth++) {
      wasi.symlink(depth === 0 ? "a" : `chain${depth - 1}`, `chain${depth}`);
    }
    expect(textOf(wasi, "chain39")).toBe("a");
    expect(textOf(wasi, "chain40")).toBe(LOOP);
  });
});

describe("a read-only folder", () => {
  const { wasi } = guest(["data:/data", "ro:files:/readonly", "files2:/other"]);
  const ro = 4;
  put(wasi, "a");

  test("is read", () => {
    expect(textOf(wasi, "deep/r.txt", ro)).toBe("readme");
    expect(wasi.stat("deep", true, ro).value).toMatchObject({ kind: "folder" });
  });

  test("cannot be changed in any way", () => {
    const open = (path: string, oflags: number, rights: bigint) =>
      wasi.open(path, { oflags, rights, fd: ro }).errno;
    expect(open("deep/r.txt", 0, READ | WRITE)).toBe(PERM);
    expect(open("deep/r.txt", TRUNCATE, READ)).toBe(PERM);
    expect(open("new", CREATE, READ)).toBe(PERM);
    expect(wasi.onPath("path_create_directory", "new", ro)).toBe(PERM);
    expect(wasi.onPath("path_unlink_file", "deep/r.txt", ro)).toBe(PERM);
    expect(wasi.onPath("path_remove_directory", "deep", ro)).toBe(PERM);
    expect(wasi.rename("deep/r.txt", "deep/s.txt", ro)).toBe(PERM);
    expect(wasi.rename("deep/r.txt", "r.txt", ro, 3)).toBe(PERM);
    expect(wasi.rename("a", "a", 3, ro)).toBe(PERM);
    expect(wasi.link("deep/r.txt", "deep/s.txt", ro)).toBe(PERM);
    expect(wasi.symlink("deep", "d", ro)).toBe(PERM);
    const file = wasi.open("deep/r.txt", { rights: READ, fd: ro }).value!;
    expect(wasi.write(file, "x").errno).toBe(8);
    expect(wasi.call("fd_filestat_set_size", file, 0n)).toBe(8);
    expect(wasi.call("fd_filestat_set_times", file, 0n, 0n, 5)).toBe(PERM);
    expect(textOf(wasi, "deep/r.txt", ro)).toBe("readme");
  });

  test("nothing moves between folders of different stores", () => {
    expect(wasi.rename("a", "a", 3, 5)).toBe(XDEV);
    expect(wasi.link("a", "a", 3, 5)).toBe(XDEV);
  });
});

test("two folders of one host show the same files", () => {
  const { wasi } = guest(["files:/data", "ro:files:/view"]);
  put(wasi, "deep/r.txt", "written");
  expect(textOf(wasi, "deep/r.txt", 4)).toBe("written");
  expect(wasi.open("deep/r.txt", { fd: 4 }).errno).toBe(PERM);
});

describe("names", () => {
  const { wasi } = guest();

  test("may have 255 bytes, and paths 4096", () => {
    expect(wasi.open("n".repeat(255), { oflags: CREATE }).errno).toBe(OK);
    expect(wasi.open("n".repeat(256), { oflags: CREATE }).errno).toBe(NAMETOOLONG);
    expect(wasi.open("ü".repeat(128), { oflags: CREATE }).errno).toBe(NAMETOOLONG);
    expect(wasi.open("n".repeat(10_000), { oflags: CREATE }).errno).toBe(NAMETOOLONG);
    expect(wasi.stat("./".repeat(2047) + "n").errno).toBe(NOENT);
    expect(wasi.stat("./".repeat(2048) + "n").errno).toBe(NAMETOOLONG);
  });

  test("are UTF-8 without NUL, and kept as they are", () => {
    expect(wasi.open(new Uint8Array([0xc3, 0x28]), { oflags: CREATE }).errno).toBe(ILSEQ);
    expect(wasi.open("a\0b", { oflags: CREATE }).errno).toBe(INVAL);
    const names = ["__proto__", "\u{feff}bom", "constructor", "e\u0301", "é", "日本 語"];
    for (const name of names) expect(wasi.open(name, { oflags: CREATE }).errno).toBe(OK);
    const listed = wasi.list(".").value!.filter((name) => name.length < 255);
    expect(listed).toEqual(names.toSorted());
  });
});

test("times are those of the call's clock, or as they are set", () => {
  const { wasi, files, database, store } = guest();
  const start = BigInt(START) * 1_000_000n;
  put(wasi, "a");
  expect(wasi.stat("a").value).toMatchObject({ modified: start, accessed: start });
  expect(wasi.stat(".").value).toMatchObject({ modified: start });
  expect(wasi.setTimes("a", 123n, 456_789_012_345_678_901n, 1 | 4)).toBe(OK);
  expect(wasi.stat("a").value).toMatchObject({
    accessed: 123n,
    modified: 456_789_012_345_678_901n,
  });
  expect(wasi.setTimes("a", 0n, 0n, 1 | 2)).toBe(INVAL);
  database.transaction(() => files.commit({ keepsOpen: false }));

  const later = store.begin(parseMounts(["/data"]), { now: 0n });
  const world = { ...liveWorld, now: () => START + 1000 };
  const { wasi: next } = guestWith(later, { world });
  expect(next.stat("a").value).toMatchObject({ modified: 456_789_012_345_678_901n });
  put(next, "b");
  expect(next.stat("a").value).toMatchObject({ modified: 456_789_012_345_678_901n });
  expect(next.stat(".").value).toMatchObject({ modified: start + 1_000_000_000n });
  expect(next.setTimes("a", 0n, 0n, 8)).toBe(OK);
  expect(next.stat("a").value).toMatchObject({ accessed: 123n, modified: start + 1_000_000_000n });
});

test("without folders every path is missing, and none can be made", () => {
  const { wasi } = guestWith(undefined);
  expect(wasi.call("fd_prestat_get", 3, 100)).toBe(8);
  expect(wasi.open("a").errno).toBe(NOENT);
  expect(wasi.onPath("path_create_directory", "a")).toBe(76);
});
