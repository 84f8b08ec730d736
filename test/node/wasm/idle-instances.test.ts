import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import type { Program } from "../../../src/server/kernel/wasm/call.ts";
import { idleInstances } from "../../../src/server/kernel/wasm/pool.ts";
import { processor } from "../../../src/server/kernel/wasm/processor.ts";
import { liveWorld } from "../../../src/server/kernel/wasm/world.ts";
import { assembled, callGuest, programOf } from "../bundle/wasm/wat-guests.ts";

/** A guest with so many pages of memory, which waits in each call. */
const waiting = (pages: number) => `
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") ${pages})
  (func (export "call") (result i32)
    (i64.store (i32.const 24) (i64.const 1000000))
    (call $poll (i32.const 0) (i32.const 200) (i32.const 1) (i32.const 300)))`;

/** So many programs of a guest, each with instances of its own. */
async function programs(pages: number, count: number): Promise<Program[]> {
  const one = await programOf(await assembled(waiting(pages)));
  const all = Array.from({ length: count }, () => structuredClone(one.module));
  return all.map((module) => ({ ...one, module, checked: false }));
}

/** A world in which calls wait until so many of them do. */
function together(count: number) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let waits = 0;
  return {
    ...liveWorld,
    sleep: () => {
      if (++waits === count) resolve();
      return promise;
    },
  };
}

/** Instances of other tests' servlets wait for nobody any more. */
beforeEach(async () => {
  const { idleBytes } = limits;
  const [small] = await programs(1, 1);
  configureLimits({ idleBytes: 2 * 65536 });
  await callGuest(small!, "");
  configureLimits({ idleBytes });
});

afterEach(() => {
  vi.restoreAllMocks();
});

test("instances of a large servlet do not push out those of many small ones", async () => {
  const small = await programs(1, 12);
  const [large] = await programs(limits.idleBytes / 65536 / 2, 1);
  for (const one of small) await callGuest(one, "");
  for (let round = 0; round < 5; round++) {
    // More memory than idle instances may take.
    const world = together(3);
    await Promise.all(Array.from({ length: 3 }, () => callGuest(large!, "", { world })));
    // One of the small ones is in use now and then, the others never again.
    await callGuest(small[0]!, "");
  }
  expect(small.map((one) => idleInstances(one))).toEqual(small.map(() => 1));
  expect(idleInstances(large!)).toBe(1);
});

/** Writes all of as much memory as its input has bytes in MiB. */
const swelling = `
  (import "extism:host/env" "input_length" (func $length (result i64)))
  (memory (export "memory") 4)
  (func (export "call") (result i32)
    (local $pages i32)
    (local.set $pages (i32.shl (i32.wrap_i64 (call $length)) (i32.const 4)))
    (if (i32.eq (memory.grow (local.get $pages)) (i32.const -1)) (then (unreachable)))
    (memory.fill (i32.const 262144) (i32.const 1) (i32.shl (local.get $pages) (i32.const 16)))
    (i32.const 0))`;

test("a large instance serves the next call", async () => {
  const one = await programOf(await assembled(swelling));
  const made = vi.spyOn(WebAssembly, "Instance");
  const large = "m".repeat(limits.idleBytes / 2 ** 20 + 8);
  for (let nth = 0; nth < 3; nth++) {
    expect(await callGuest(one, large)).toMatchObject({ kind: "returned" });
    expect(idleInstances(one)).toBe(1);
  }
  // What it is compared with is another.
  expect(made).toHaveBeenCalledTimes(2);
  const [small] = await programs(1, 1);
  await callGuest(small!, "");
  expect([idleInstances(one), idleInstances(small!)]).toEqual([1, 1]);
});

test("calls that wait for their turn have no instances", async () => {
  const one = await programOf(await assembled(swelling));
  await callGuest(one, "m");
  const made = vi.spyOn(WebAssembly, "Instance");
  processor.spend("somebody", 100_000_000);
  const calls = Array.from({ length: 20 }, () => callGuest(one, "m"));
  for (const call of calls) expect(await call).toMatchObject({ kind: "returned" });
  expect(made).not.toHaveBeenCalled();
});
