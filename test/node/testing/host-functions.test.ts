import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadServlet } from "../../../src/tools/testing/index.ts";

const SERVLET = `import { defineServlet } from "edge-servlets/servlet";
const host = globalThis as unknown as { __host: { call(name: string, payload: string): string } };
export default defineServlet({ tools: { asks: {
  description: "Asks a feature of the server",
  handler: () => host.__host.call("call_host", JSON.stringify({ name: "test.echo", payload: { a: 1 } })),
} } });
`;

test("functions of the server's features are answered by the script, and are unknown without", async () => {
  await mkdir(".bundle", { recursive: true });
  const folder = await mkdtemp(join(".bundle", "host-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "servlet.ts"), SERVLET);
  const servlet = await loadServlet(folder);
  const said = async (script: Parameters<typeof servlet.callTool>[2]) => {
    const { result } = await servlet.callTool("asks", {}, script);
    return JSON.parse((result.content[0] as { text: string }).text) as unknown;
  };
  const hostFunctions = { "test.echo": (payload: unknown) => ({ given: payload }) };
  expect(await said({ hostFunctions })).toEqual({ result: { given: { a: 1 } } });
  expect(await said({ hostFunctions, alwaysReplay: true })).toEqual({
    result: { given: { a: 1 } },
  });
  expect(await said({})).toEqual({ failed: expect.stringContaining("test.echo") });
});
