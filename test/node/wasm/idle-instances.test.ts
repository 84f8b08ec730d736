import { beforeEach, expect, test } from "vitest";
import { limits } from "../../../src/core/limits.ts";
import type { Program } from "../../../src/wasm/call.ts";
import { idleInstances } from "../../../src/wasm/pool.ts";
import { liveWorld } from "../../../src/wasm/world.ts";
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
  Object.assign(limits, { idleBytes: 2 * 65536 });
  await callGuest(small!, "");
  Object.assign(limits, { idleBytes });
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
