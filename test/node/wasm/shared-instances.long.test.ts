import { beforeAll, expect, test } from "vitest";
import { Guest } from "../../../src/server/kernel/wasm/guest.ts";
import { growTo, memoryOf } from "../../../src/server/kernel/wasm/image.ts";
import { Journal } from "../../../src/server/kernel/wasm/journal.ts";
import { instantiate } from "../../../src/server/kernel/wasm/link.ts";
import { applyPatch, encodePatch } from "../../../src/server/kernel/wasm/patch.ts";
import { idleInstances, nobody, type Program } from "../../../src/server/kernel/wasm/pool.ts";
import { startWorld } from "../../../src/server/kernel/wasm/world.ts";
import { Chance } from "../fuzz/chance.ts";
import { assembled, callGuest, programOf } from "../bundle/wasm/wat-guests.ts";

/**
 * An interpreter whose servlets share its instances: each call must find exactly the state of its own servlet. Its
 * code says who the servlet is, unless something else is found than the servlet has.
 */
const INTERPRETER = `
  (import "extism:host/env" "input_load_u8" (func $input (param i64) (result i32)))
  (memory (export "memory") 6)
  (global $who (mut i32) (i32.const 0))
  (func $is (param $at i32) (result i32)
    (i32.eq (i32.load8_u (local.get $at)) (global.get $who)))
  (func (export "call") (result i32) (local $found i32)
    (local.set $found
      (select (global.get $who) (i32.const 99)
        (i32.and (call $is (i32.const 9000))
          (i32.and (call $is (i32.const 200000)) (i32.eq (i32.load8_u (i32.const 9001)) (i32.const 7))))))
    (block $3 (block $2 (block $1 (block $0
      (br_table $0 $1 $2 $3 (i32.sub (call $input (i64.const 0)) (i32.const 48))))
    (return (local.get $found)))
    ;; Overwrites everything, grows, and takes the name of another.
    (drop (memory.grow (i32.const 3)))
    (memory.fill (i32.const 0) (i32.const 85) (i32.mul (memory.size) (i32.const 65536)))
    (global.set $who (i32.const 42))
    (return (local.get $found)))
    ;; Overwrites what differs from servlet to servlet, and ends in a trap.
    (i32.store8 (i32.const 9000) (i32.const 11))
    (i32.store8 (i32.const 200000) (i32.const 22))
    (unreachable))
    ;; Overwrites what all share, at the border of a block.
    (i64.store (i32.const 4092) (i64.const -1))
    (i32.store8 (i32.const 9001) (i32.const 0))
    (local.get $found))`;

let interpreter: Program;
let servlets: { who: number; program: Program }[];

/** The patch that these writes make, on an interpreter with this base; it has so many pages then. */
function patchOf(writes: [at: number, byte: number][], pages = 6, base?: ArrayBuffer): ArrayBuffer {
  const nothing = new Journal({ hash: "", input: "" }, startWorld, undefined);
  const instance = instantiate(interpreter, new Guest(nobody, nothing));
  if (base !== undefined) applyPatch(instance, base);
  const before = memoryOf(instance.exports).slice();
  growTo(instance.exports, pages);
  const memory = memoryOf(instance.exports);
  for (const [at, byte] of writes) {
    memory[at] = byte;
    if (at === 9000) (instance.exports["edge_global_0"] as WebAssembly.Global).value = byte;
  }
  return encodePatch(instance.exports, before).buffer;
}

beforeAll(async () => {
  interpreter = await programOf(await assembled(INTERPRETER));
  const base = patchOf([
    [4095, 5],
    [9001, 7],
    [300_000, 9],
  ]);
  const own: [number, number][] = [
    [11, 6],
    [22, 8],
    [33, 7],
  ];
  servlets = own.map(([who, pages]) => {
    const last = pages * 65536 - 1;
    const writes: [number, number][] = [
      [9000, who],
      [200_000, who],
      [300_000, who & 1],
      [last, who],
    ];
    return { who, program: { ...interpreter, base, patch: patchOf(writes, pages, base) } };
  });
});

test.each([1, 2, 3, 4])("servlets that share an instance, in turns of seed %i", async (seed) => {
  const chance = new Chance(seed);
  for (let turn = 0; turn < 150; turn++) {
    const { who, program } = chance.pick(servlets);
    // As often as makes it worth to keep an image of this servlet.
    for (let times = chance.below(4); times >= 0; times--) {
      const what = chance.below(4);
      const ending = await callGuest(program, String(what));
      const said = "message" in ending ? ending.message : "";
      expect(said).toContain(what === 2 ? "crashed" : `code ${who} `);
      expect(idleInstances(program)).toBe(1);
    }
  }
});
