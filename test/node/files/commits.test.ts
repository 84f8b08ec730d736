import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { InitialFiles } from "../../../src/server/kernel/files/file-store.ts";
import { FileStore } from "../../../src/server/kernel/files/file-store.ts";
import type { Files } from "../../../src/server/kernel/files/files.ts";
import { parseMounts } from "../../../src/server/kernel/files/mounts.ts";
import { sealingWith } from "../../../src/server/kernel/files/sealing.ts";
import {
  fileBytesOf,
  putFile,
  rootOfStore,
  treeOf,
} from "../../../src/server/kernel/files/tree.ts";
import { configureLimits } from "../../../src/server/kernel/core/limits.ts";
import { limits } from "../../../src/server/kernel/files/limits.ts";
import { Database, newStore, sealing } from "./database.ts";
import { CREATE, guestWith, TRUNCATE } from "./wasi-guest.ts";

/** A call's changes are committed as a whole or not at all. */

const mounts = parseMounts(["data:/data"]);
const now = 0n;
const { fileOverlayBytes, fileBytes } = limits;

afterEach(() => {
  configureLimits({ fileOverlayBytes, fileBytes });
});

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (given: Uint8Array) => new TextDecoder().decode(given);

/** Everything in a store: texts of files, by path. */
function contents(files: Files, host = "data"): Record<string, string | undefined> {
  const root = rootOfStore(files, host)!;
  return Object.fromEntries(
    [...treeOf(files, root)].map(({ path, kind, node }) => [
      path,
      kind === "file" ? text(fileBytesOf(files, node)) : undefined,
    ]),
  );
}

/** Rows of all tables that hold what calls have staged. */
const stagedRows = (database: Database) =>
  ["nodes", "entries", "blocks", "totals"].reduce(
    (sum, name) => sum + database.count(`file_${name}_staged`),
    0,
  );

/** A call that changes everything that there is to change. */
function change(files: Files): void {
  const { wasi } = guestWith(files);
  wasi.onPath("path_unlink_file", "gone");
  wasi.rename("folder", "moved");
  wasi.write(wasi.open("changed", { oflags: TRUNCATE }).value!, "after");
  const long = wasi.open("long").value!;
  wasi.write(long, "in the middle", 50_000n);
  wasi.call("fd_filestat_set_size", long, 90_000n);
  for (let index = 0; index < 50; index++) {
    wasi.write(wasi.open(`new-${index}`, { oflags: CREATE }).value!, "x".repeat(1000));
  }
}

function begun(database = new Database()) {
  const { store } = newStore(database);
  const files = store.begin(mounts, { now });
  const root = rootOfStore(files, "data")!;
  putFile(files, root, "gone", bytes("to be removed"));
  putFile(files, root, "changed", bytes("before, and longer"));
  putFile(files, root, "folder/inside", bytes("inside"));
  putFile(files, root, "long", bytes("0123456789".repeat(10_000)));
  database.transaction(() => files.commit({ keepsOpen: false }));
  return { database, store };
}

describe.each([
  { overlay: fileOverlayBytes, isStaged: false },
  { overlay: 20_000, isStaged: true },
])("with $overlay bytes of memory", ({ overlay, isStaged }) => {
  test("a call that is committed is there as a whole, for a new object too", () => {
    const { database, store } = begun();
    configureLimits({ fileOverlayBytes: overlay });
    const files = store.begin(mounts, { now });
    change(files);
    expect(stagedRows(database) > 0).toBe(isStaged);
    const seen = contents(files);
    database.transaction(() => files.commit({ keepsOpen: false }));
    expect(stagedRows(database)).toBe(0);
    expect(contents(store.begin(mounts, { now }))).toEqual(seen);
    expect(contents(newStore(database).store.begin(mounts, { now }))).toEqual(seen);
    const long = `${"0123456789".repeat(5000)}in the middle`.padEnd(50_000);
    expect(seen).toMatchObject({ changed: "after", moved: undefined, "moved/inside": "inside" });
    expect(seen["long"]).toHaveLength(90_000);
    expect(seen["long"]!.slice(0, 50_013)).toBe(long);
    expect(seen).not.toHaveProperty("gone");
    expect(Object.keys(seen)).toHaveLength(54);
  });

  test("a call that is dropped has never been", () => {
    const { database, store } = begun();
    const before = contents(store.begin(mounts, { now }));
    const size = store.bytes;
    configureLimits({ fileOverlayBytes: overlay });
    const files = store.begin(mounts, { now });
    change(files);
    expect(files.isChanged).toBe(true);
    files.drop();
    expect(stagedRows(database)).toBe(0);
    expect(contents(store.begin(mounts, { now }))).toEqual(before);
    expect(store.bytes).toBe(size);
  });

  test("a call whose process dies has never been", async () => {
    const folder = await mkdtemp(join(tmpdir(), "files-"));
    const path = join(folder, "database");
    const { database, store } = begun(new Database(path));
    const before = contents(store.begin(mounts, { now }));
    configureLimits({ fileOverlayBytes: overlay });
    change(store.begin(mounts, { now }));
    database.close();

    const reopened = new Database(path);
    expect(stagedRows(reopened) > 0).toBe(isStaged);
    const { store: next } = newStore(reopened);
    expect(contents(next.begin(mounts, { now }))).toEqual(before);
    expect(stagedRows(reopened)).toBe(0);
    reopened.close();
    await rm(folder, { recursive: true });
  });

  test("a transaction that fails leaves the old state", () => {
    const { database, store } = begun();
    const before = contents(store.begin(mounts, { now }));
    configureLimits({ fileOverlayBytes: overlay });
    const files = store.begin(mounts, { now });
    change(files);
    const commit = () =>
      database.transaction(() => {
        files.commit({ keepsOpen: false });
        throw new Error("the memory's pages could not be written");
      });
    expect(commit).toThrow("pages");
    // A later call of the same object stages something too, and finds nothing of that.
    const later = store.begin(mounts, { now });
    expect(contents(later)).toEqual(before);
    putFile(later, rootOfStore(later, "data")!, "large", bytes("x".repeat(overlay * 2)));
    database.transaction(() => later.commit({ keepsOpen: false }));
    const { large, ...others } = contents(newStore(database).store.begin(mounts, { now }));
    expect(large).toHaveLength(overlay * 2);
    expect(others).toEqual(before);
  });
});

test("a call that only reads has nothing to commit", () => {
  const { store } = begun();
  const files = store.begin(mounts, { now });
  contents(files);
  expect(files.isChanged).toBe(false);
});

test("a call that was neither committed nor dropped is dropped by the next", () => {
  const { store } = begun();
  configureLimits({ fileOverlayBytes: 20_000 });
  const left = store.begin(mounts, { now });
  change(left);
  const next = store.begin(mounts, { now });
  expect(contents(next)).toHaveProperty("gone");
  expect(() => left.commit({ keepsOpen: false })).toThrow("has ended");
});

describe("what is stored", () => {
  /** All that the tables hold, as text of one byte a character. */
  const stored = (database: Database) =>
    ["nodes", "entries", "blocks", "totals"]
      .flatMap((name) => database.exec(`SELECT key, value FROM file_${name}`).toArray())
      .map(
        ({ key, value }) => `${String(key)} ${Buffer.from(value as Uint8Array).toString("latin1")}`,
      )
      .join("\n");

  test("is sealed: names, link targets and contents", () => {
    const { database, store } = newStore();
    const files = store.begin(mounts, { now });
    const { wasi } = guestWith(files);
    wasi.write(wasi.open("findable-name", { oflags: CREATE }).value!, "findable-content");
    wasi.symlink("findable-target", "link");
    database.transaction(() => files.commit({ keepsOpen: true }));
    expect(stored(database)).not.toMatch(/findable|link|data/);
    expect(contents(store.begin(mounts, { now }))).toMatchObject({ link: undefined });
  });

  test("cannot be opened with another key", () => {
    const { database } = begun();
    const other = new FileStore(database, sealingWith(new Uint8Array(32).fill(8)));
    expect(() => other.begin(mounts, { now })).toThrow("damaged");
  });

  test("is an error where a block is damaged, for the guest and in the log, until the file is removed", () => {
    const { database, store } = begun();
    const rows = database.exec("SELECT key, value FROM file_blocks ORDER BY key").toArray();
    // The blocks of `long` are the last; the second of them is changed, and the third put in the place of the fourth.
    const [second, third, fourth] = rows.slice(-6, -3) as { key: number; value: Uint8Array }[];
    const damaged = new Uint8Array(second!.value);
    damaged[40]! ^= 1;
    database.exec("UPDATE file_blocks SET value = ? WHERE key = ?", damaged, second!.key);
    database.exec("UPDATE file_blocks SET value = ? WHERE key = ?", third!.value, fourth!.key);

    const files = store.begin(mounts, { now });
    const log = vi.fn<(level: string, text: string) => void>();
    const { wasi } = guestWith(files, { log });
    const fd = wasi.open("long").value!;
    const block = 16_384n;
    expect(text(wasi.read(fd, 5, 0n).value!)).toBe("01234");
    expect(wasi.read(fd, 5, block).errno).toBe(29);
    expect(wasi.read(fd, 5, 2n * block).errno).toBe(0);
    expect(wasi.read(fd, 5, 3n * block).errno).toBe(29);
    expect(wasi.write(fd, "x", block).errno).toBe(29);
    expect(log).toHaveBeenCalledWith("error", expect.stringContaining("damaged"));
    expect(wasi.onPath("path_unlink_file", "long")).toBe(0);
    database.transaction(() => files.commit({ keepsOpen: false }));
    expect(contents(store.begin(mounts, { now }))).not.toHaveProperty("long");
  });

  describe.each([
    ["its row is altered", "UPDATE file_nodes SET value = x'00' WHERE key = ?"],
    [
      "its row is that of another",
      "UPDATE file_nodes SET value = (SELECT value FROM file_nodes LIMIT 1) WHERE key = ?",
    ],
    ["its row is missing", "DELETE FROM file_nodes WHERE key = ?"],
    [
      "its content is altered",
      "UPDATE file_blocks SET value = x'00' WHERE ? > 0 AND key IN (SELECT key FROM file_blocks ORDER BY key DESC LIMIT 3)",
    ],
  ])("a removed file that is still open, where %s", (_what, damage) => {
    /** A scope in whose memory a file of some blocks is open that has no name. */
    const opened = () => {
      const { database, store } = begun();
      const files = store.begin(mounts, { now, continues: true });
      const { wasi } = guestWith(files);
      const fd = wasi.open("long").value!;
      expect(wasi.onPath("path_unlink_file", "long")).toBe(0);
      database.transaction(() => files.commit({ keepsOpen: true }));
      database.exec(damage, files.descriptors.get(fd).node);
      return { database, store, fd };
    };
    /** What a later call of another memory finds, which makes a file. */
    const later = (database: Database, store: FileStore) => {
      const files = store.begin(mounts, { now });
      guestWith(files).wasi.open("later", { oflags: CREATE });
      database.transaction(() => files.commit({ keepsOpen: false }));
      return contents(store.begin(mounts, { now }));
    };

    test("ends with the call", () => {
      const { database, store } = opened();
      const files = store.begin(mounts, { now, continues: true });
      guestWith(files).wasi.open("meanwhile", { oflags: CREATE });
      database.transaction(() => files.commit({ keepsOpen: false }));
      expect(contents(store.begin(mounts, { now }))).toHaveProperty("meanwhile");
      expect(later(database, store)).toHaveProperty("later");
    });

    test("ends with the memory that had it open", () => {
      const { database, store } = opened();
      expect(later(database, store)).toHaveProperty("later");
    });

    test("is closed", () => {
      const { database, store, fd } = opened();
      const files = store.begin(mounts, { now, continues: true });
      expect(guestWith(files).wasi.call("fd_close", fd)).toBe(0);
      database.transaction(() => files.commit({ keepsOpen: true }));
      expect(later(database, store)).toHaveProperty("later");
    });
  });

  test("can be deleted where it cannot be opened", () => {
    const { database, store } = begun();
    database.exec("UPDATE file_totals SET value = x'00'");
    expect(() => store.begin(mounts, { now })).toThrow("damaged");
    database.transaction(() => store.deleteAll());
    expect(contents(store.begin(mounts, { now }))).toEqual({});
  });
});

describe("files that a folder begins with", () => {
  const initial = (
    digest: string,
    files: Record<string, string>,
  ): Record<string, InitialFiles> => ({
    data: {
      digest,
      files: () => Object.entries(files).map(([path, given]) => ({ path, bytes: bytes(given) })),
    },
  });
  const first = initial("1", { a: "a", "f/g/b": "b" });
  const second = initial("2", { a: "A", c: "c" });
  const readOnly = parseMounts(["ro:data:/data"]);

  test("are there in the first call, and stay as the guest leaves them", () => {
    const { database, store } = newStore();
    const files = store.begin(mounts, { now, initial: first });
    expect(contents(files)).toEqual({ a: "a", f: undefined, "f/g": undefined, "f/g/b": "b" });
    guestWith(files).wasi.onPath("path_unlink_file", "a");
    database.transaction(() => files.commit({ keepsOpen: false }));
    const later = contents(store.begin(mounts, { now, initial: second }));
    expect(later).toEqual({ f: undefined, "f/g": undefined, "f/g/b": "b" });
  });

  test("are there again where the first call failed", () => {
    const { store } = newStore();
    store.begin(mounts, { now, initial: first }).drop();
    expect(contents(store.begin(mounts, { now, initial: first }))).toHaveProperty("a");
  });

  test("are those of the newest build where nobody may write", () => {
    const { database, store } = newStore();
    const files = store.begin(readOnly, { now, initial: first });
    database.transaction(() => files.commit({ keepsOpen: false }));
    const next = store.begin(readOnly, { now, initial: second });
    expect(contents(next)).toEqual({ a: "A", c: "c" });
    database.transaction(() => next.commit({ keepsOpen: false }));
    const last = store.begin(readOnly, { now, initial: second });
    expect(contents(last)).toEqual({ a: "A", c: "c" });
    expect(last.isChanged).toBe(false);
    expect(database.count("file_blocks")).toBe(2);
  });

  test("that are too large are refused with their folder's name", () => {
    const { store } = newStore();
    configureLimits({ fileBytes: 5000 });
    const large = initial("1", { a: "x".repeat(10_000) });
    expect(() => store.begin(mounts, { now, initial: large })).toThrow(
      "The files of `data` cannot be stored: there is no room for them.",
    );
  });
});

test("what is sealed twice differs, and opens only for what it was sealed for", () => {
  const sealed = sealing.seal(bytes("a"), "one");
  expect(sealing.seal(bytes("a"), "one")).not.toEqual(sealed);
  expect(text(sealing.open(sealed, "one"))).toBe("a");
  expect(() => sealing.open(sealed, "two")).toThrow();
  expect(() => sealing.open(sealed.subarray(0, 10), "one")).toThrow();
  expect(sealing.tag("a", "1")).toMatch(/^[0-9a-f]{32}$/);
  expect(sealing.tag("a", "1")).not.toBe(sealing.tag("a", "2"));
});

test.each([fileOverlayBytes, 20_000])(
  "a commit after a seal only writes, as many bytes as the seal has said: %d",
  (overlay) => {
    configureLimits({ fileOverlayBytes: overlay });
    const database = new Database();
    const seal = vi.fn<typeof sealing.seal>(sealing.seal);
    const store = new FileStore(database, { ...sealing, seal });
    const files = store.begin(mounts, { now });
    putFile(files, rootOfStore(files, "data")!, "large", new Uint8Array(300_000).fill(1));
    files.seal({ keepsOpen: false });
    const { length } = seal.mock.calls;
    database.transaction(() => files.commit({ keepsOpen: false }));
    expect(seal.mock.calls.length).toBe(length);
    const stored = ["nodes", "entries", "blocks", "totals"].flatMap((name) =>
      database.exec(`SELECT length(value) AS bytes FROM file_${name}`).toArray(),
    );
    const written = stored.reduce((sum, row) => sum + Number(row["bytes"]), 0);
    expect(files.bytesToWrite).toBeGreaterThanOrEqual(written);
  },
);
