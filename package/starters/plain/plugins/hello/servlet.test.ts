import { loadServlet } from "edge-servlets/testing";
import { expect, test } from "vitest";

const hello = await loadServlet(import.meta.dirname);

test("greets by name", async () => {
  const { result } = await hello.callTool("greet", { name: "Ada" });
  expect(result.content).toEqual([{ type: "text", text: "Hello, Ada!" }]);
});

test("says what is wrong with a call", async () => {
  const { result } = await hello.callTool("greet", {});
  expect(result.isError).toBe(true);
});
