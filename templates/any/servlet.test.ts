import { loadServlet } from "edge-servlets/testing";
import { expect, test } from "vitest";

const servlet = await loadServlet(import.meta.dirname);

test("greets by name", async () => {
  const { result } = await servlet.callTool("my_servlet_greet", { name: 'Ada "Countess" ☕\n' });
  expect(result.content).toEqual([{ type: "text", text: 'Hello, Ada "Countess" ☕\n!' }]);
});

test("says what is wrong with a call", async () => {
  const { result } = await servlet.callTool("my_servlet_greet", {});
  expect(result.isError).toBe(true);
});
