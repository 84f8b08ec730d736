import { expect, test } from "vitest";
import { makeBundle } from "../../../../src/bundle/bundle.ts";
import { bundling } from "../bundling.ts";
import { lists, servlet } from "../modules.ts";

/** Servlets answer in Node, where tests ask them, as in workerd, where bundles are made. */

const { at, bundle } = bundling();

test("the guests of the tests list and begin the same", async () => {
  // The bundle of the tests has asked them in workerd.
  const made = (inNode: boolean) =>
    makeBundle({
      folders: ["test/guests"],
      cache: ".bundle",
      progress: () => {},
      optimise: false,
      inNode,
    });
  const [here, there] = [await made(true), await made(false)];
  expect(here.length).toBeGreaterThan(20);
  expect(here).toEqual(there);
});

test("what is refused is refused with the same words", async () => {
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
  // Without the lines of stack traces that are of the host.
  const messageOf = async (making: Promise<unknown>) =>
    (await making.then(() => "", String)).replaceAll(/^ +at (?!wasm:).*\n/gm, "");
  const here = await messageOf(bundle(Object.fromEntries(files)));
  expect(here).toMatch(/unreachable[^]*computed for too long[^]*not JSON/);
  const options = { cache: ".bundle", progress: () => {}, optimise: false };
  expect(await messageOf(makeBundle({ ...options, folders: [at(".")] }))).toBe(here);
});
