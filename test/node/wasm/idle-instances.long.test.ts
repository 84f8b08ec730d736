import { expect, test } from "vitest";
import { limits } from "../../../src/limits.ts";
import type { Program } from "../../../src/wasm/call.ts";
import { idleInstances } from "../../../src/wasm/pool.ts";
import { liveWorld } from "../../../src/wasm/world.ts";
import { assembled, callGuest, programOf } from "../bundle/wasm/wat-guests.ts";

/** A guest with so many pages of memory, which waits in each call. */
const waiting = (pages: number, name: number) => `
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") ${pages})
  (func (export "call") (result i32)
    (i32.store (i32.const 100) (i32.const ${name}))
    (i64.store (i32.const 24) (i64.const 1000000))
    (call $poll (i32.const 0) (i32.const 200) (i32.const 1) (i32.const 300)))`;

test("instances of a large servlet do not push out those of many small ones", async () => {
  const largePages = limits.idleBytes / 65536 / 2;
  const programs = await Promise.all(
    [...Array.from({ length: 12 }, () => 1), largePages].map(
      async (pages, name): Promise<Program> => ({
        ...(await programOf(await assembled(waiting(pages, name)))),
        checked: false,
      }),
    ),
  );
  const small = programs.slice(0, -1);
  const large = programs.at(-1)!;
  for (const one of small) await callGuest(one, "");
  // Their instances are in their calls at the same time: more memory than idle instances may take.
  const world = { ...liveWorld, sleep: () => new Promise<void>((on) => void setTimeout(on, 50)) };
  for (let round = 0; round < 5; round++) {
    await Promise.all(Array.from({ length: 3 }, () => callGuest(large, "", { world })));
    // One of the small ones is in use now and then, the others never again.
    await callGuest(small[0]!, "");
  }
  expect(small.map((one) => idleInstances(one))).toEqual(small.map(() => 1));
  expect(idleInstances(large)).toBe(1);
});
