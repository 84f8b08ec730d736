import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { assemble } from "../../../../src/tools/bundle/wasm/binaryen.ts";
import { rewrite } from "../../../../src/tools/bundle/wasm/binary.ts";
import { prepare } from "../../../../src/tools/bundle/wasm/prepare.ts";
import { limits } from "../../../../src/tools/bundle/limits.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tables-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function assembled(parts: string) {
  const path = join(folder, "in.wat");
  await writeFile(path, `(module ${parts})`);
  return assemble(path);
}

/** Calls the export `call` with this body, in a module whose tables are bounded. */
async function call(parts: string, body: string): Promise<number> {
  const plugin = await assembled(`${parts} (func (export "call") (result i32) ${body})`);
  const bounded = rewrite(plugin, { maximumTableEntries: limits.tableEntries });
  const { instance } = await WebAssembly.instantiate(new Uint8Array(bounded));
  return (instance.exports as { call(): number }).call();
}

const tables = (count: number, rest: string) =>
  Array.from({ length: count }, (_, at) => `(table $t${at} ${rest})`).join(" ");

/** Grows each of so many tables until it answers -1; gives the entries of all. */
const growAll = (count: number) =>
  Array.from(
    { length: count },
    (_, at) =>
      `(loop $more (br_if $more (i32.ge_s (table.grow $t${at} (ref.null func) (i32.const 64)) (i32.const 0)))) (table.size $t${at})`,
  ).join(" ") + "(i32.add)".repeat(count - 1);

describe("tables", () => {
  test.each([1, 10, 100])("%i of them grow to the limit together, no further", async (count) => {
    const result = await call(tables(count, "0 funcref"), growAll(count));
    expect(result).toBeGreaterThan(limits.tableEntries / 2);
    expect(result).toBeLessThanOrEqual(limits.tableEntries);
  });

  test("growing beyond the limit at once answers -1", async () => {
    const grow = `(table.grow $t0 (ref.null func) (i32.const ${limits.tableEntries}))`;
    expect(await call(tables(1, "1 funcref"), grow)).toBe(-1);
    expect(await call(tables(1, "1 funcref"), grow.replace(/\d+\)\)$/, "-1))"))).toBe(-1);
  });

  test("a maximum below the limit stays", async () => {
    const grow = "(table.grow $t0 (ref.null func) (i32.const 4))";
    expect(await call(tables(1, "1 4 funcref"), grow)).toBe(-1);
    expect(await call(tables(1, "1 5 funcref"), grow)).toBe(1);
  });

  test("one whose size is fixed can be called through", async () => {
    const parts = "(type $f (func (result i32))) (table $t 1 1 funcref) (elem (i32.const 0) $f)";
    const f = "(func $f (result i32) (i32.const 7))";
    expect(await call(`${parts} ${f}`, "(call_indirect (type $f) (i32.const 0))")).toBe(7);
  });

  test.each<[string, string, RegExp]>([
    ["a huge table", tables(1, "1000000 funcref"), /1000016 entries.*100000/],
    ["many that are huge together", tables(20, "10000 funcref"), /200320 entries.*100000/],
    ["very many empty ones", tables(10_000, "0 funcref"), /160000 entries.*100000/],
    ["one of exceptions", tables(1, "1 exnref"), /exnref.*in a table/],
    ["a global that holds an exception", "(global (mut exnref) (ref.null exn))", /exception/],
    ["an exception with many values", `(tag (param ${"i64 ".repeat(100)}))`, /100 values.*8/],
    [
      "very many globals",
      "(global (mut i32) (i32.const 0))".repeat(20_000),
      /20000 mutable globals.*10000/,
    ],
  ])("%s: refused", async (_name, parts, message) => {
    const servlet = `${parts} (func (export "call") (result i32) (i32.const 0))`;
    const plugin = await assembled(servlet);
    await expect(
      prepare(plugin, { memoryBytes: limits.memoryBytes }, folder, () => {}),
    ).rejects.toThrow(message);
  });
});
