import { describe, expect, test } from "vitest";
import { offeredFunctions } from "../../../../src/tools/bundle/wasm/check.ts";
import {
  importTypes,
  kernelTypes,
  mismatch,
} from "../../../../src/tools/bundle/wasm/import-types.ts";
import { bundling } from "../bundling.ts";
import { plugin } from "../modules.ts";

const { bundle } = bundling();

describe("imports of another type than the host's", () => {
  test.each([
    [
      "(param i32) (result i32)",
      "extism:host/user",
      "create_message",
      "(i32) -> (i32)",
      "(i64) -> (i64)",
    ],
    ["(result i64)", "extism:host/env", "config_get", "() -> (i64)", "(i64) -> (i64)"],
    ["(param i64) (result i32)", "extism:host/env", "alloc", "(i64) -> (i32)", "(i64) -> (i64)"],
    ["(param i64) (result i64)", "extism:host/env", "log_info", "(i64) -> (i64)", "(i64) -> ()"],
    ["(param f64)", "wasi_snapshot_preview1", "proc_exit", "(f64) -> ()", "(i32) -> ()"],
    [
      "(param i32 i32 i32 i32 f32)",
      "env",
      "abort",
      "(i32, i32, i32, i32, f32) -> ()",
      "(i32, i32, i32, i32) -> ()",
    ],
  ])("%s", async (type, module, name, found, expected) => {
    const source = plugin(`(import "${module}" "${name}" (func ${type}))`);
    await expect(bundle({ "a.wat": source })).rejects.toThrow(
      `it imports ${module}.${name} as a function ${found}, and here it is ${expected}`,
    );
  });

  test("unused parameters and results make no difference", () => {
    for (const found of ["7e->7e", "7e->", "7e,7e->7e"])
      expect(mismatch("l->l", found)).toBeUndefined();
    for (const found of ["->7e", "7e->7f", "7f->7e"]) expect(mismatch("l->l", found)).toBeDefined();
  });

  test("there is a type for each function that is offered", async () => {
    for (const [namespace, functions] of Object.entries(offeredFunctions)) {
      expect(Object.keys(importTypes[namespace]!).toSorted()).toEqual(
        Object.keys(functions).toSorted(),
      );
    }
    expect((await kernelTypes("src/tools/bundle/wasm/kernel.wat")).get("store_u8")).toBe("li->");
  });
});
