import { loadServlet } from "edge-servlets/testing";
import { expect, test } from "vitest";

const servlet = await loadServlet(import.meta.dirname);

test("counts words, lines and characters", async () => {
  const text = "One two\nthree";
  const { result } = await servlet.callTool("my_servlet_count", { text });
  expect(result.structuredContent).toEqual({ words: 3, lines: 2, characters: 13 });
});

test("says what is wrong with a call", async () => {
  const { result } = await servlet.callTool("my_servlet_count", {});
  expect(result.isError).toBe(true);
});
