import { afterEach, expect, test } from "vitest";
import { configureLimits } from "../../../src/server/kernel/core/limits.ts";
import { limits } from "../../../src/server/kernel/files/limits.ts";
import { liveWorld } from "../../../src/server/kernel/wasm/world.ts";
import { FailingStore, play, seen, StorageFailed } from "./failing-steps.ts";
import { CREATE, guestWith, TRUNCATE } from "./wasi-guest.ts";

const { fileOverlayBytes } = limits;
afterEach(() => {
  configureLimits({ fileOverlayBytes });
});

test.each([fileOverlayBytes, 20_000, 2000])(
  "every call happens or does not, whichever step of it fails, with %i bytes of memory",
  (overlay) => {
    configureLimits({ fileOverlayBytes: overlay });
    const count = { done: 0, failed: 0 };
    for (let seed = 1; seed <= 12; seed++) expect(play(seed, count)).toBeUndefined();
    expect(count.done).toBeGreaterThan(100);
    expect(count.failed).toBeGreaterThan(100);
  },
);

test.each([318256851, 724520185])(
  "a file that the kit writes is never written in part, also where a row cannot be opened midway or at the beginning (%i)",
  (seed) => {
    for (const overlay of [fileOverlayBytes, 20_000, 2000]) {
      configureLimits({ fileOverlayBytes: overlay });
      expect(play(seed, { done: 0, failed: 0 })).toBeUndefined();
    }
  },
);

test("a process that dies in the middle of any call leaves what was there before it", () => {
  const count = { done: 0, failed: 0 };
  configureLimits({ fileOverlayBytes: 2000 });
  for (let seed = 101; seed <= 106; seed++) expect(play(seed, count, true)).toBeUndefined();
  expect(count.failed).toBeGreaterThan(50);
});

test("a commit that fails at any statement has changed nothing", () => {
  configureLimits({ fileOverlayBytes: 20_000 });
  let failed = 0;
  for (let statement = 0; ; statement++) {
    const store = new FailingStore();
    const model = new FailingStore();
    for (const one of [store, model]) {
      const { wasi } = guestWith(one.files, { world: { ...liveWorld, now: () => 1 } });
      for (const name of ["a", "b"]) {
        const fd = wasi.open(name, { oflags: CREATE }).value!;
        wasi.write(fd, new Uint8Array(50_000).fill(7));
      }
      one.goOn();
    }
    const { wasi } = guestWith(store.files);
    wasi.onPath("path_unlink_file", "a");
    wasi.open("b", { oflags: TRUNCATE });
    for (let nth = 0; nth < 30; nth++) wasi.onPath("path_create_directory", `f${nth}`);
    store.statementsLeft = statement;
    let error: unknown;
    try {
      store.commit();
    } catch (thrown) {
      error = thrown;
    }
    store.recover();
    if (error === undefined) break;
    expect(error).toBeInstanceOf(StorageFailed);
    failed++;
    store.goBack();
    expect(seen(store.files), `statement ${statement}`).toEqual(seen(model.files));
  }
  expect(failed).toBeGreaterThan(10);
});
