import { loadServlet } from "edge-servlets/testing";
import { expect, test } from "vitest";

const servlet = await loadServlet(import.meta.dirname);

test("counts words, the most frequent first", async () => {
  const { result } = await servlet.callTool("my_servlet_words", { text: "One two two" });
  expect(result.structuredContent).toEqual({
    words: [
      { word: "two", count: 2 },
      { word: "one", count: 1 },
    ],
  });
});

test("has a view, which may count other texts", async () => {
  const view = await servlet.view("words");
  expect(view.html).toContain("<title>Words</title>");
  const { result } = await view.call("my_servlet_words", { text: "three" });
  expect(result.structuredContent).toEqual({ words: [{ word: "three", count: 1 }] });
});
