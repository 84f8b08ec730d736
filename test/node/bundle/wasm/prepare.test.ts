import { expect, test } from "vitest";
import { NAMESPACES, SERVLET_EXPORTS } from "../../../../src/tools/bundle/wasm/check.ts";
import { resultOf } from "../../../../src/tools/bundle/wasm/prepare.ts";
import { limits } from "../../../../src/server/kernel/core/limits.ts";
import { assembled } from "./wat-guests.ts";

/** Under which name the result of a preparation is kept. */

test("another set of exports or namespaces makes another result", async () => {
  const plugin = await assembled('(func (export "list_tools") (result i32) (i32.const 0))');
  const path = async () =>
    (await resultOf(plugin, { memoryBytes: limits.memoryBytes }, "cache")).path;
  const before = await path();
  const added = "an_export_of_a_later_dialect";
  (SERVLET_EXPORTS as Set<string>).add(added);
  try {
    expect(await path()).not.toBe(before);
  } finally {
    (SERVLET_EXPORTS as Set<string>).delete(added);
  }
  NAMESPACES[added] = "edge:later";
  try {
    expect(await path()).not.toBe(before);
  } finally {
    delete NAMESPACES[added];
  }
  expect(await path()).toBe(before);
});
