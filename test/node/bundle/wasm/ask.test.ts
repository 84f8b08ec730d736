import { expect, test } from "vitest";
import { bundling } from "../bundling.ts";
import { lists, servlet } from "../modules.ts";

/** Servlets are asked what they list while a bundle is made. */

const { bundle } = bundling();

test("all whose lists cannot be had are refused together, each with its reason", async () => {
  const call = '(func (export "call_tool") (result i32) (i32.const 0))';
  const wats = {
    good: lists("t"),
    crashing: `(module (func (export "list_tools") (result i32) unreachable) ${call})`,
    endless: `(module (func (export "list_tools") (result i32) (loop $l (br $l)) (i32.const 0)) ${call})`,
    wrong: servlet("{not json"),
  };
  const files = Object.entries(wats).flatMap(([name, wat]) => [
    [`${name}/${name}.wat`, wat],
    [`${name}/servlet.json`, '{ "compute_limit": 0.05 }'],
  ]);
  await expect(bundle(Object.fromEntries(files))).rejects.toThrow(
    /unreachable[^]*computed for too long[^]*not JSON/,
  );
});
