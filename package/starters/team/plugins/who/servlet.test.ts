import { loadServlet } from "edge-servlets/testing";
import { expect, test } from "vitest";

const who = await loadServlet(import.meta.dirname);

test("says who calls", async () => {
  for (const caller of ["ada", "bob"]) {
    const { result } = await who.callTool("who", {}, { caller });
    expect(result.content).toEqual([{ type: "text", text: `You are ${caller}.` }]);
  }
});
