import { describe, expect, test } from "vitest";
import { concatenate } from "../../../../src/server/kernel/wasm/image.ts";
import { MARKS_EXPORT } from "../../../../src/server/kernel/wasm/marks.ts";
import { idleInstances } from "../../../../src/server/kernel/wasm/pool.ts";
import { text } from "../../../../src/tools/bundle/wasm/bytes.ts";
import { assembled, callGuest, programOf } from "./wat-guests.ts";

/** A plugin cannot name what the bundle step adds, whatever it exports and imports. */
const MEMORY = '(memory (export "memory") 6)';
const call = (body: string) => `(func (export "call") (result i32) ${body})`;
const nothing = call("(i32.const 0)");

describe("a plugin that has what the bundle step adds", () => {
  test("exports of the same names are its own affair, and the marks and the size stay ours", async () => {
    const plugin = await assembled(`
      (memory (export "memory") (export "edge_marks") (export "${MARKS_EXPORT}") (export "edge_memory") 6)
      (global (export "edge_pages") (export "edge_fuel") (export "edge_global_1") (mut i32) (i32.const 5))
      (func (export "edge_start_0") (export "edge_alloc") (export "edge_input")
        (global.set 0 (i32.const 99))
        (i32.store (i32.const 20000) (i32.const 1))
        (memory.fill (i32.const 0) (i32.const 0) (i32.const 10000)))
      ${call("(call 0) (i32.mul (memory.size) (global.get 0))")}`);
    const program = await programOf(plugin);
    const {
      [MARKS_EXPORT]: marks,
      edge_memory,
      edge_pages,
      memory,
    } = new WebAssembly.Instance(program.module).exports as Record<
      string,
      WebAssembly.Memory & WebAssembly.Global
    >;
    expect(new Set([marks, edge_memory, memory]).size).toBe(3);
    expect(edge_pages!.value).toBe(6);
    for (let round = 0; round < 3; round++) {
      expect(await callGuest(program, "")).toMatchObject({
        message: expect.stringContaining("594"),
      });
      expect(idleInstances(program)).toBe(1);
    }
  });

  test.each<[string, string, RegExp]>([
    [
      "a memory of its own for them",
      `${MEMORY} (memory 1) (memory 1) ${nothing}`,
      /more than one memory/,
    ],
    [
      "an imported memory",
      `(import "guest" "${MARKS_EXPORT}" (memory 1)) ${nothing}`,
      /imports the memory/,
    ],
    [
      "an imported size",
      `(import "extism:host/env" "edge_pages" (global (mut i32))) ${MEMORY} ${nothing}`,
      /imports the global/,
    ],
    [
      "the kernel's functions for the host",
      `(import "extism:host/env" "edge_alloc" (func (param i32) (result i32))) ${MEMORY} ${nothing}`,
      /edge_alloc, which is not offered/,
    ],
    [
      "the start of the prepared servlet",
      `(import "edge:start" "edge_start" (func)) ${MEMORY} ${nothing}`,
      /edge_start, which is not offered/,
    ],
  ])("%s: refused", async (_name, fields, message) => {
    await expect(assembled(fields).then(programOf)).rejects.toThrow(message);
  });

  test("an instruction that names a memory which is not there: refused", async () => {
    const plugin = await assembled(
      `${MEMORY} (memory 1) (memory 1) ${call("(i32.store8 2 (i32.const 3) (i32.const 0)) (i32.const 0)")}`,
    );
    // The same with one memory: `i32.store8` names the third all the same.
    const three = Uint8Array.from([5, 7, 3, 0, 6, 0, 1, 0, 1]);
    const at = Buffer.from(plugin).indexOf(three);
    expect(at).toBeGreaterThan(0);
    const one = new Uint8Array(
      concatenate([plugin.subarray(0, at), [5, 3, 1, 0, 6], plugin.subarray(at + three.length)]),
    );
    await expect(programOf(one)).rejects.toThrow(/not valid WebAssembly.*memory index/);
  });
});

describe("instructions that are not tracked", () => {
  const body = (code: string) => `${MEMORY} ${call(`${code} (i32.const 0)`)}`;
  /** The section that a compiler writes for these features: without it, binaryen itself refuses them. */
  const told = (features: string[]) => {
    const names = features.flatMap((name) => [0x2b, ...text(name)]);
    const section = [...text("target_features"), features.length, ...names];
    return [0, section.length, ...section];
  };

  test.each([
    ["threads", "atomics", "(i32.atomic.store (i32.const 8) (i32.const 1))"],
    [
      "threads",
      "atomics",
      "(drop (i64.atomic.rmw8.cmpxchg_u (i32.const 8) (i64.const 1) (i64.const 2)))",
    ],
    ["threads", "atomics", "(drop (memory.atomic.notify (i32.const 8) (i32.const 1)))"],
    [
      "relaxed-simd",
      "relaxed-simd",
      "(drop (i8x16.relaxed_swizzle (v128.const i64x2 0 0) (v128.const i64x2 0 0)))",
    ],
  ])("are refused (%s, %s: %s)", async (feature, name, code) => {
    const plugin = await assembled(body(code), feature);
    const message = /it has the instruction 0xf[de].*build it without threads \(atomics\)/;
    await expect(programOf(plugin)).rejects.toThrow(message);
    const withNames = new Uint8Array(concatenate([plugin, told([name, "simd128"])]));
    await expect(programOf(withNames)).rejects.toThrow(message);
  });
});
