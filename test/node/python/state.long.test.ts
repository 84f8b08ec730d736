import { beforeAll, expect, test } from "vitest";
import { loadServlet, type ServletUnderTest } from "../../../src/tools/testing/index.ts";

/** What lasts from call to call, and what does not. */
let servlet: ServletUnderTest;
beforeAll(async () => {
  servlet = await loadServlet("test/node/python/servlets/state");
});

const called = async (name: string, args: Record<string, unknown>, caller: string) => {
  const { result } = await servlet.callTool(name, args, { caller });
  return (result.structuredContent as { result: unknown } | undefined)?.result ?? result;
};

test("variables of the module last for their caller", async () => {
  expect(await called("counted", {}, "ada")).toBe(1);
  expect(await called("counted", {}, "ada")).toBe(2);
  expect(await called("counted", {}, "bob")).toBe(1);
});

test("locks of the module work in each call", async () => {
  expect(await called("note", { text: "a" }, "eve")).toEqual(["a"]);
  expect(await called("note", { text: "b" }, "eve")).toEqual(["a", "b"]);
});

test("what a call discards is undone, and what it resets is forgotten", async () => {
  await called("note", { text: "a" }, "dan");
  await called("undoes", {}, "dan");
  expect(await called("note", { text: "b" }, "dan")).toEqual(["a", "b"]);
  await called("forgets", {}, "dan");
  expect(await called("note", { text: "c" }, "dan")).toEqual(["c"]);
});

test("files last", async () => {
  const { result } = await servlet.callTool("writes", { text: "one" }, { caller: "ada" });
  expect(result.content).toEqual([{ type: "text", text: "one\n" }]);
  expect(await servlet.files({ caller: "ada" })).toEqual({ "/data/diary.txt": "one\n" });
  const { result: outside } = await servlet.callTool("outside", {}, { caller: "ada" });
  expect(outside.content).toEqual([{ type: "text", text: expect.stringMatching(/Error$/) }]);
});

test("context variables do not last", async () => {
  expect(await called("sets", { name: "ada" }, "ada")).toEqual({
    content: [{ type: "text", text: "nobody" }],
  });
  expect(await called("sets", { name: "bob" }, "ada")).toEqual({
    content: [{ type: "text", text: "nobody" }],
  });
});

test("tasks are over with their call, if Python ends in one", async () => {
  expect(await called("exits", {}, "tim")).toMatchObject({ isError: true });
  expect(await called("counts_tasks", {}, "tim")).toBe(1);
  expect(await called("note", { text: "a" }, "tim")).toEqual(["ended", "a"]);
});

test("a loop that is stopped serves the next call", async () => {
  expect(await called("stops", {}, "sam")).toMatchObject({
    content: [{ text: "The event loop was stopped, and the handler has not ended." }],
  });
  expect(await called("stops_and_ends", {}, "sam")).toMatchObject({
    content: [{ text: "stopped" }],
  });
  expect(await called("counts_tasks", {}, "sam")).toBe(1);
});

test("finalizers close files while garbage is collected, and reach nothing else", async () => {
  for (const _ of [1, 2])
    expect(await called("leaves_garbage", {}, "gil")).toEqual({
      content: [{ type: "text", text: "left" }],
    });
  expect(await called("chance", {}, "gil")).toHaveLength(3);
});

test("chance differs from call to call", async () => {
  const first = (await called("chance", {}, "ada")) as string[];
  const second = (await called("chance", {}, "ada")) as string[];
  first.forEach((value, nth) => expect(value).not.toBe(second[nth]));
});
