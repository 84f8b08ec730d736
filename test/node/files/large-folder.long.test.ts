import { expect, test } from "vitest";
import { parseMounts } from "../../../src/files/mounts.ts";
import { limits } from "../../../src/limits.ts";
import { newStore } from "./database.ts";
import { CREATE, guestWith } from "./wasi-guest.ts";

/** Numbers of WASI's errno. */
const OK = 0;
const NOSPC = 51;
const mounts = parseMounts(["/data"]);

function guest(store: ReturnType<typeof newStore>) {
  const files = store.store.begin(mounts, { now: 0n });
  const commit = () => store.database.transaction(() => files.commit({ keepsOpen: false }));
  return { ...guestWith(files), files, commit };
}

test(
  "a folder of 100,000 entries is filled, listed, and emptied within the memory of a call",
  { timeout: 600_000 },
  () => {
    const store = newStore();
    const { wasi, files, commit } = guest(store);
    wasi.call("fd_close", wasi.open("e0", { oflags: CREATE }).value!);
    const failed = Array.from({ length: limits.folderEntries - 1 }, (_, index) =>
      wasi.link("e0", `e${index + 1}`),
    ).filter((errno) => errno !== OK);
    expect(failed).toEqual([]);
    expect(wasi.link("e0", "one-more")).toBe(NOSPC);
    expect(files.heldBytes).toBeLessThan(limits.fileOverlayBytes + 50_000);
    commit();

    const second = guest(store);
    const names = second.wasi.list(".", 100_000).value!;
    expect(new Set(names).size).toBe(limits.folderEntries);
    expect(second.files.heldBytes).toBeLessThan(limits.fileOverlayBytes);
    expect(second.wasi.stat("e99999").value).toMatchObject({ links: limits.folderEntries });
    for (const name of names) second.wasi.onPath("path_unlink_file", name);
    expect(second.wasi.list(".").value).toEqual([]);
    expect(second.files.heldBytes).toBeLessThan(limits.fileOverlayBytes + 50_000);
    second.commit();
    expect(store.database.count("file_entries")).toBe(0);
    expect(store.database.count("file_nodes")).toBe(1);
  },
);
