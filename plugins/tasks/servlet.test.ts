import { loadServlet, type ServletUnderTest } from "edge-servlets/testing";
import { beforeEach, expect, test } from "vitest";

let tasks: ServletUnderTest;
beforeEach(async () => {
  tasks = await loadServlet(import.meta.dirname);
});

async function call(name: string, args = {}, caller = "ada") {
  const { result } = await tasks.callTool(name, args, { caller });
  const [block] = result.content;
  const value = result.structuredContent as { tasks: { id: number; column: string }[] } | undefined;
  return {
    text: block?.type === "text" ? block.text : "",
    order: value?.tasks.map(({ id, column }) => `${id} ${column}`),
    isError: result.isError === true,
  };
}

test("keeps a board for each caller, which a model reads as text", async () => {
  await call("add_task", { text: "Water the plants" });
  const { text } = await call("add_task", { text: "Call Bob", column: "doing" });
  expect(text).toBe("Added 2.\nto do:\n  1. Water the plants\ndoing:\n  2. Call Bob\ndone:");
  expect((await call("list_tasks")).order).toEqual(["1 to do", "2 doing"]);
  expect((await call("list_tasks", {}, "bob")).order).toEqual([]);
});

test("moves a task below the others of a column, or above one", async () => {
  for (const text of ["a", "b", "c"]) await call("add_task", { text });
  expect((await call("move_task", { id: 1, column: "to do" })).order).toEqual([
    "2 to do",
    "3 to do",
    "1 to do",
  ]);
  expect((await call("move_task", { id: 1, column: "to do", before: 3 })).order).toEqual([
    "2 to do",
    "1 to do",
    "3 to do",
  ]);
  expect((await call("move_task", { id: 2, column: "done", before: 2 })).order).toEqual([
    "1 to do",
    "3 to do",
    "2 done",
  ]);
  expect(await call("move_task", { id: 9, column: "done" })).toMatchObject({
    isError: true,
    text: "There is no task 9. See list_tasks.",
  });
});

test("removes a task, and has room for so many only", async () => {
  for (let count = 0; count < 3; count++) await call("add_task", { text: "x".repeat(500) });
  expect(await call("remove_task", { id: 2 })).toMatchObject({ order: ["1 to do", "3 to do"] });
  expect(await call("remove_task", { id: 2 })).toMatchObject({ isError: true });
});
