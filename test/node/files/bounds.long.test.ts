import { afterEach, describe, expect, test, vi } from "vitest";
import { parseMounts } from "../../../src/server/kernel/files/mounts.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import {
  fileBytesOf,
  putFile,
  removeTree,
  rootOfStore,
  treeOf,
} from "../../../src/server/kernel/files/tree.ts";
import { findPath } from "../../../src/server/kernel/files/guest-paths.ts";
import { newStore } from "./database.ts";
import { CREATE, DIRECTORY, guestWith, READ, TRUNCATE } from "./wasi-guest.ts";

/** How much a guest can keep and use. Numbers are those of WASI's errno. */

const OK = 0;
const NOSPC = 51;
const mounts = parseMounts(["/data"]);
const { fileBytes, folderEntries } = limits;

afterEach(() => {
  configureLimits({ fileBytes, folderEntries });
});

function guest(store = newStore()) {
  const files = store.store.begin(mounts, { now: 0n });
  const commit = () => store.database.transaction(() => files.commit({ keepsOpen: false }));
  return { ...guestWith(files), files, commit, store };
}

describe("bytes of all files", () => {
  test("have an end: a write is cut there, and the next one fails", () => {
    configureLimits({ fileBytes: 200_000 });
    const { wasi, commit, store } = guest();
    const fd = wasi.open("a", { oflags: CREATE }).value!;
    let size = 0;
    for (let errno = OK; errno === OK;) {
      const written = wasi.write(fd, new Uint8Array(50_000));
      ({ errno } = written);
      size += written.value ?? 0;
    }
    expect(size).toBeGreaterThan(limits.fileBytes - 2 * 16_384);
    expect(wasi.statOf(fd).value?.size).toBe(size);
    expect(wasi.onPath("path_create_directory", "f")).toBe(OK);
    commit();
    expect(store.store.bytes).toBeLessThanOrEqual(limits.fileBytes);

    const { wasi: later } = guest(store);
    const file = later.open("a").value!;
    expect(later.write(file, new Uint8Array(20_000), BigInt(size)).errno).toBe(NOSPC);
    expect(later.write(file, "x", 0n).errno).toBe(OK);
    expect(later.onPath("path_unlink_file", "a")).toBe(OK);
    expect(later.write(later.open("b", { oflags: CREATE }).value!, "x").errno).toBe(OK);
  });

  test("are given back by what is cut and removed, to the last one", () => {
    const { commit, store } = guest();
    commit();
    const empty = store.store.bytes;
    const second = guest(store);
    const fd = second.wasi.open("a", { oflags: CREATE }).value!;
    second.wasi.write(fd, new Uint8Array(100_000).fill(1));
    second.wasi.write(fd, "far", 1_000_000n);
    second.wasi.link("a", "b");
    second.wasi.onPath("path_create_directory", "f");
    second.wasi.symlink("a", "f/l");
    second.commit();
    expect(store.store.bytes - empty).toBeGreaterThan(100_000);

    const third = guest(store);
    const file = third.wasi.open("a").value!;
    third.wasi.call("fd_filestat_set_size", file, 50_000n);
    third.wasi.call("fd_filestat_set_size", file, 0n);
    for (const path of ["a", "b", "f/l"]) third.wasi.onPath("path_unlink_file", path);
    third.wasi.onPath("path_remove_directory", "f");
    third.commit();
    expect(store.store.bytes).toBe(empty);
    expect(store.database.count("file_blocks")).toBe(0);
  });

  test("count empty files and names too", () => {
    configureLimits({ fileBytes: 100_000 });
    const { wasi } = guest();
    let made = 0;
    for (; made < 1000; made++) {
      const { errno, value } = wasi.open(`f${made}`, { oflags: CREATE });
      if (errno !== OK) break;
      wasi.call("fd_close", value!);
    }
    expect(made).toBeLessThan(200);
    expect(wasi.open("one-more", { oflags: CREATE }).errno).toBe(NOSPC);
    expect(wasi.onPath("path_create_directory", "one-more")).toBe(NOSPC);
    expect(wasi.symlink("f0", "one-more")).toBe(NOSPC);
    expect(wasi.rename("f0", "renamed")).toBe(OK);
    expect(wasi.stat("one-more").errno).toBe(44);
  });

  test("do not count holes", () => {
    const { wasi, commit, store } = guest();
    const fd = wasi.open("a", { oflags: CREATE }).value!;
    const far = 10n * 2n ** 30n;
    expect(wasi.write(fd, "end", far).errno).toBe(OK);
    expect(wasi.read(fd, 100, far / 2n).value).toEqual(new Uint8Array(100));
    commit();
    expect(store.store.bytes).toBeLessThan(100_000);
    const { wasi: later } = guest(store);
    const file = later.open("a").value!;
    expect(new TextDecoder().decode(later.read(file, 100, far).value)).toBe("end");
    expect(later.call("fd_filestat_set_size", file, 5n)).toBe(OK);
    expect(later.read(file, 100, 0n).value).toEqual(new Uint8Array(5));
  });
});

test("entries of a folder have an end", () => {
  configureLimits({ folderEntries: 10 });
  const { wasi } = guest();
  for (let index = 0; index < 10; index++) {
    expect(wasi.onPath("path_create_directory", `f${index}`)).toBe(OK);
  }
  expect(wasi.onPath("path_create_directory", "g")).toBe(NOSPC);
  expect(wasi.open("g", { oflags: CREATE }).errno).toBe(NOSPC);
  expect(wasi.rename("f0", "g")).toBe(OK);
  expect(wasi.onPath("path_create_directory", "f1/g")).toBe(OK);
  expect(wasi.rename("f1/g", "h")).toBe(NOSPC);
  expect(wasi.rename("f1/g", "f2")).toBe(OK);
});

test("work is paid for: what a guest makes the host seal, open and look up", () => {
  const { wasi, guest: caller } = guest();
  const fd = wasi.open("a", { oflags: CREATE }).value!;
  const costOf = (run: () => void) => {
    const before = caller.fuelMeter!.used;
    run();
    return caller.fuelMeter!.used - before;
  };
  const written = costOf(() => void wasi.write(fd, new Uint8Array(500_000)));
  expect(written).toBeGreaterThan(500_000 * limits.byteFuel);
  expect(costOf(() => void wasi.stat("none"))).toBeGreaterThan(limits.fileStepFuel);
});

test("work is paid for where its rows are in memory too: names, lists, depths and counts of blocks", () => {
  const { wasi, guest: caller, commit, store } = guest();
  const costOf = (run: () => number, of = caller) => {
    const before = of.fuelMeter!.used;
    expect(run()).toBe(OK);
    return of.fuelMeter!.used - before;
  };
  wasi.onPath("path_create_directory", "d");
  wasi.onPath("path_create_directory", "b");
  const names = 500;
  // Each symbolic link leads through as many names, and to the link before.
  wasi.symlink("d/../".repeat(names) + "d", "link0");
  for (let nth = 1; nth < 20; nth++) {
    wasi.symlink(`${"d/../".repeat(names)}link${nth - 1}`, `link${nth}`);
  }
  expect(costOf(() => wasi.stat("link19").errno)).toBeGreaterThan(20 * names * limits.fileStepFuel);

  const depth = 300;
  let fd = 3;
  for (let nth = 0; nth < depth; nth++) {
    wasi.onPath("path_create_directory", "d", fd);
    fd = wasi.open("d", { oflags: DIRECTORY, fd }).value!;
  }
  expect(costOf(() => wasi.rename("b", "c", 3, fd))).toBeGreaterThan(depth * limits.lookUpFuel);

  const sparse = wasi.open("sparse", { oflags: CREATE }).value!;
  const blocks = 200;
  for (let nth = 0; nth < blocks; nth++) wasi.write(sparse, "x", BigInt(nth * 2 * 16_384));
  commit();
  const later = guest(store);
  const file = later.wasi.open("sparse").value!;
  expect(
    costOf(() => later.wasi.call("fd_filestat_set_size", file, 6_000_000n), later.guest),
  ).toBeGreaterThan((blocks / 2) * limits.lookUpFuel);
});

describe("what a call remembers is paid for where it is passed over:", () => {
  /** Fuel of one operation that succeeds. */
  function costIn({ guest: caller }: ReturnType<typeof guest>, run: () => number): number {
    const before = caller.fuelMeter!.used;
    expect(run()).toBe(OK);
    return caller.fuelMeter!.used - before;
  }
  const names = 2000;
  const full = (commits: boolean) => {
    const first = guest();
    for (let nth = 0; nth < names; nth++) first.wasi.onPath("path_create_directory", `f${nth}`);
    if (!commits) return first;
    first.commit();
    return guest(first.store);
  };

  test.each([
    ["stored before", true],
    ["made in this call", false],
  ])("names that are gone, %s", (_which, commits) => {
    const call = full(commits);
    for (let nth = 0; nth < names; nth++) call.wasi.onPath("path_remove_directory", `f${nth}`);
    for (const repeat of [1, 2, 3]) {
      const cost = costIn(call, () => call.wasi.page(3, 0n, 100).errno);
      expect(cost, `list ${repeat}`).toBeGreaterThan(names * limits.lookUpFuel);
    }
    expect(call.wasi.list(".").value).toEqual([]);
  });

  test("names that are gone are passed over once for each page, not for each name", () => {
    const call = full(true);
    for (let nth = 0; nth < names; nth += 2) call.wasi.onPath("path_remove_directory", `f${nth}`);
    const steps = call.files.work.lookUps;
    expect(call.wasi.list(".").value).toHaveLength(names / 2);
    expect(call.files.work.lookUps - steps).toBeLessThan(5 * names);
  });

  /** A file with so many holes that the call knows. */
  function holes(count: number, call = guest()) {
    const fd = call.wasi.open("sparse", { oflags: CREATE }).value!;
    call.wasi.call("fd_filestat_set_size", fd, BigInt(count * 16_384));
    for (let nth = 0; nth < count; nth++) call.wasi.read(fd, 2, BigInt(nth * 16_384));
    const resize = (file: number, size: number) =>
      call.wasi.call("fd_filestat_set_size", file, BigInt(size));
    return { ...call, fd, resize };
  }

  test("holes of a file that is cut", () => {
    const call = holes(3000);
    call.wasi.write(call.fd, "x", 0n);
    call.resize(call.fd, 2 ** 33);
    const cost = costIn(call, () => call.resize(call.fd, 2 ** 32));
    expect(cost).toBeGreaterThan(3000 * limits.lookUpFuel);
  });

  test("holes of other files are not passed over", () => {
    const costs = [0, 3000].map((count) => {
      const call = holes(count);
      const other = call.wasi.open("other", { oflags: CREATE }).value!;
      call.wasi.write(other, new Uint8Array(100_000).fill(1));
      return costIn(call, () => call.resize(other, 20_000));
    });
    expect(costs[1]).toBe(costs[0]);
  });

  test("what is used again stays where it is in memory: V8 walks over the places that a key has had", () => {
    const { wasi, fd } = holes(300);
    const write = () => expect(wasi.write(fd, "x", 5n * 16_384n).errno).toBe(OK);
    write();
    const deletes = [vi.spyOn(Map.prototype, "delete"), vi.spyOn(Set.prototype, "delete")];
    for (let nth = 0; nth < 10; nth++) write();
    const counts = deletes.map(({ mock }) => mock.calls.length);
    vi.restoreAllMocks();
    expect(counts).toEqual([0, 0]);
  });

  test("blocks of files of earlier calls that are cut one after the other", () => {
    const first = guest();
    const files = 1002;
    for (let nth = 0; nth < files; nth++) {
      const fd = first.wasi.open(`f${nth}`, { oflags: CREATE }).value!;
      for (let block = 0; block < 3; block++) first.wasi.write(fd, "x", BigInt(block * 16_384));
      first.wasi.call("fd_close", fd);
    }
    first.commit();
    const { wasi, files: own } = guest(first.store);
    let most = 0;
    for (let nth = 0; nth < files; nth++) {
      const before = own.work.lookUps;
      const { value } = wasi.open(`f${nth}`, { oflags: TRUNCATE });
      wasi.call("fd_close", value!);
      most = Math.max(most, own.work.lookUps - before);
    }
    // One of them stages the deletion of all that were cut before.
    expect(most).toBeGreaterThan(3 * 1000);
  });

  test.each([
    ["`.`", "./"],
    ["`..`", "d/../"],
    ["slashes", ".///////"],
  ])("a path of %s, and each link that leads through one", (_what, part) => {
    const call = guest();
    const { wasi } = call;
    wasi.onPath("path_create_directory", "d");
    const long = part.repeat(Math.floor(4000 / part.length));
    wasi.symlink(`${long}d`, "link0");
    for (let nth = 1; nth < 20; nth++) wasi.symlink(`${long}link${nth - 1}`, `link${nth}`);
    for (const [path, count] of [
      [`${long}d`, 1],
      ["link19", 20],
    ] as const) {
      const cost = costIn(call, () => wasi.stat(path).errno);
      expect(cost).toBeGreaterThan(count * 4000 * limits.byteFuel);
    }
  });

  test("a path that is too long is not taken apart", () => {
    const { files } = guest();
    const path = "./".repeat(500_000);
    expect(() => findPath(files, path, true)).toThrow("nametoolong");
    expect(() => files.walk(1, path, true)).toThrow("nametoolong");
    expect(files.work.bytes).toBeLessThan(100_000);
  });
});

describe("above the quota, which a deployment has lowered,", () => {
  function overfull() {
    const { store, database } = newStore();
    const first = store.begin(mounts, { now: 0n });
    const { wasi } = guestWith(first);
    for (const name of ["f", "g"]) wasi.onPath("path_create_directory", name);
    for (const name of ["a", "b", "f/c"]) {
      wasi.write(wasi.open(name, { oflags: CREATE }).value!, new Uint8Array(20_000).fill(1));
    }
    database.transaction(() => first.commit({ keepsOpen: false }));
    const files = store.begin(mounts, { now: 0n, most: first.bytes - 1000 });
    return { files, ...guestWith(files) };
  }
  test.each([
    ["within a folder", "a", "z"],
    ["into another folder", "a", "f/z"],
    ["over a file", "a", "f/c"],
    ["of a folder", "f", "g/f"],
  ])("a rename %s takes no room, and loses no name", (_what, from, to) => {
    const { wasi } = overfull();
    const { value } = wasi.stat(from);
    expect(wasi.rename(from, to)).toBe(OK);
    expect(wasi.stat(to).value?.node).toBe(value?.node);
    expect(wasi.stat(from).errno).toBe(44);
  });

  test("what takes room fails and changes nothing, what gives some does not fail", () => {
    const { wasi, files } = overfull();
    const { bytes } = files;
    expect(wasi.link("a", "z")).toBe(NOSPC);
    expect(wasi.symlink("a", "z")).toBe(NOSPC);
    expect(wasi.open("z", { oflags: CREATE }).errno).toBe(NOSPC);
    expect(wasi.stat("a").value?.links).toBe(1);
    expect(files.bytes).toBe(bytes);
    const fd = wasi.open("a").value!;
    expect(wasi.call("fd_filestat_set_size", fd, 10n)).toBe(OK);
    expect(wasi.onPath("path_unlink_file", "f/c")).toBe(OK);
    expect(wasi.onPath("path_remove_directory", "f")).toBe(OK);
  });

  test("a folder that is full takes no name from another, which stays there", () => {
    configureLimits({ folderEntries: 2 });
    const { wasi } = guest();
    for (const name of ["a", "f"]) wasi.onPath("path_create_directory", name);
    for (const name of ["f/a", "f/b"]) wasi.onPath("path_create_directory", name);
    expect(wasi.rename("a", "f/c")).toBe(NOSPC);
    expect(wasi.stat("a").errno).toBe(OK);
    expect(wasi.rename("f/a", "f/c")).toBe(OK);
  });
});

test("of a write whose later vector fails, the earlier one is told", () => {
  const { wasi } = guest();
  const fd = wasi.open("a", { oflags: CREATE }).value!;
  // The end of the largest file lies between its two vectors.
  const at = 2n ** 34n - 5n;
  expect(wasi.write(fd, "0123456789", at)).toMatchObject({ errno: OK, value: 5 });
  expect(wasi.statOf(fd).value?.size).toBe(2 ** 34);
});

test("a servlet of the kit whose write finds no room has still what it would have replaced", () => {
  const { store, database } = newStore();
  const first = store.begin(mounts, { now: 0n });
  putFile(first, rootOfStore(first, "/data")!, "a", new Uint8Array(30_000).fill(1));
  database.transaction(() => first.commit({ keepsOpen: false }));
  const files = store.begin(mounts, { now: 0n, most: first.bytes + 2000 });
  const before = [...treeOf(files, rootOfStore(files, "/data")!)];
  const place = (path: string) => files.walk(rootOfStore(files, "/data")!, path, true);
  const large = new Uint8Array(50_000).fill(2);
  expect(() => files.put(place("a"), large)).toThrow("nospc");
  expect(() => files.put(place("a"), large, { isAppended: true })).toThrow("nospc");
  expect(() => files.put(place("new"), large)).toThrow("nospc");
  expect([...treeOf(files, rootOfStore(files, "/data")!)]).toEqual(before);
  expect(fileBytesOf(files, place("a").node!)).toEqual(new Uint8Array(30_000).fill(1));
  files.put(place("a"), new Uint8Array(31_000).fill(3));
  expect(fileBytesOf(files, place("a").node!)).toEqual(new Uint8Array(31_000).fill(3));
});

test("what the host holds for a call's files counts in its budget", () => {
  const { wasi, guest: caller, files } = guest();
  const fd = wasi.open("a", { oflags: CREATE }).value!;
  for (let index = 0; index < 20; index++) wasi.write(fd, new Uint8Array(500_000).fill(index));
  expect(caller.budget.heldBytes).toBeGreaterThan(limits.fileOverlayBytes / 4);
  expect(caller.budget.heldBytes).toBeLessThanOrEqual(files.heldBytes);
  expect(files.heldBytes).toBeLessThan(limits.fileOverlayBytes + 50_000);
});

test("a file of 50 MB is read and written at random within the memory of a call", () => {
  const store = newStore();
  const size = 50 * 2 ** 20;
  const piece = 512 * 1024;
  const first = guest(store);
  const fd = first.wasi.open("a", { oflags: CREATE }).value!;
  for (let at = 0; at < size; at += piece) {
    first.wasi.write(fd, new Uint8Array(piece).fill(at / piece));
    expect(first.files.heldBytes).toBeLessThan(limits.fileOverlayBytes + 50_000);
  }
  first.commit();

  const { wasi, files, commit } = guest(store);
  const file = wasi.open("a").value!;
  const { bytes: opened } = files.work;
  expect(wasi.read(file, 100, BigInt(size / 2)).value).toEqual(
    new Uint8Array(100).fill(size / 2 / piece),
  );
  expect(files.work.bytes - opened).toBeLessThan(2 * 16_384);
  for (let index = 0; index < 1000; index++) {
    const at = (index * 7_654_321) % (size - 10);
    expect(wasi.write(file, `<${index}>`.padEnd(6), BigInt(at)).errno).toBe(OK);
    expect(files.heldBytes).toBeLessThan(limits.fileOverlayBytes + 50_000);
  }
  commit();
  const { wasi: last } = guest(store);
  const again = last.open("a", { rights: READ }).value!;
  const at = (999 * 7_654_321) % (size - 10);
  expect(new TextDecoder().decode(last.read(again, 6, BigInt(at)).value)).toBe("<999> ");
  expect(last.statOf(again).value?.size).toBe(size);
});

test("folders of any depth are shown and removed", () => {
  const { files } = guest();
  const { root } = files.inodes.totals.stores[0]!;
  // A function that calls itself for each folder fails at less than 6000.
  const depth = 8000;
  let folder = root;
  for (let at = 0; at < depth; at++) {
    const place = { folder, name: "f", node: undefined, isForFolder: false };
    folder = files.create(place, "folder");
  }
  let count = 0;
  for (const { kind } of treeOf(files, root)) if (kind === "folder") count++;
  expect(count).toBe(depth);
  removeTree(files, root);
  expect([...treeOf(files, root)]).toEqual([]);
});
