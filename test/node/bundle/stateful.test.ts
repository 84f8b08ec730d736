import { expect, test } from "vitest";
import { bundleSource, moduleChanges, newBuilds } from "../../../src/tools/bundle/bundle-module.ts";
import { bundling } from "./bundling.ts";
import { lists } from "./modules.ts";

/** The bundle step for servlets that keep state. */
const { bundle } = bundling();

const STATE = '{"state": "caller"}';
const NOTIFIES = '(import "extism:host/user" "notify_tool_list_changed" (func))';
const telling = lists("t").replace("(module", `(module ${NOTIFIES}`);

test("one that says when its lists change is asked for them in each state", async () => {
  const servlets = { "a/a.wat": telling, "b/b.wat": lists("u"), "c/c.wat": telling };
  const members = await bundle({
    ...servlets,
    "a/servlet.json": STATE,
    "b/servlet.json": STATE,
    "c/servlet.json": '{"prefix": "c"}',
  });
  expect(members.map(({ found, lists: listed }) => [found.name, listed === undefined])).toEqual([
    ["a", true],
    ["b", false],
    ["c", false],
  ]);
});

test("one is asked when the bundle is made if it says so", async () => {
  const baked = '{"state": "caller", "lists": "baked"}';
  const [member] = await bundle({ "a/a.wat": telling, "a/servlet.json": baked });
  expect(member!.lists?.tools).toMatchObject([{ name: "t" }]);
});

test("another build of one that keeps state is named; others begin anew anyway", async () => {
  const make = (tool: string) =>
    bundle({
      "a/a.wat": lists(tool),
      "a/servlet.json": STATE,
      "b/b.wat": lists(`${tool}_b`),
      "c/c.wat": lists("c"),
      "c/servlet.json": STATE,
    });
  const before = bundleSource(await make("one"), "src/bundle.gen.ts");
  expect(newBuilds(await make("two"), before)).toEqual(["a"]);
  expect(newBuilds(await make("one"), before)).toEqual([]);
  expect(newBuilds(await make("one"), "")).toEqual([]);
});

test("the servlets that differ from those of an earlier module are named", async () => {
  const sourceOf = async (files: Record<string, string>) =>
    bundleSource(await bundle(files), "src/bundle.gen.ts");
  const before = await sourceOf({ "b/b.wat": lists("b"), "c/c.wat": lists("c") });
  expect(moduleChanges(before, before)).toBeUndefined();
  // The files of those behind it have other numbers.
  const more = await sourceOf({ "a/a.wat": lists("a") });
  expect(moduleChanges(more, before)).toBe("a is new");
  const other = await sourceOf({ "b/servlet.json": '{"prefix": "x"}', "c/c.wat": lists("d") });
  expect(moduleChanges(other, more)).toBe("b has changed, c has changed");
  expect(moduleChanges(before, more)).toBe("a is gone");
});
