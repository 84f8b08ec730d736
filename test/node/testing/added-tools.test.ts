import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadServlet } from "../../../src/tools/testing/index.ts";

test("a tool that a call adds is listed and can be called; the guest has no start function", async () => {
  const folder = await mkdtemp(join(tmpdir(), "adding-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await cp("test/guests/keeping/plugin.wasm", join(folder, "plugin.wasm"));
  await writeFile(
    join(folder, "servlet.json"),
    JSON.stringify({ state: "caller", lists: "dynamic" }),
  );
  const adding = await loadServlet(folder);
  const before = await adding.list();
  const { notifications } = await adding.callTool("add_tool", { name: "extra" });
  expect(notifications).toMatchObject([{ method: "notifications/tools/list_changed" }]);
  const { tools } = await adding.list();
  expect(tools.map(({ name }) => name)).toEqual([...before.tools.map(({ name }) => name), "extra"]);
  const { result } = await adding.callTool("extra");
  expect(result.content).toMatchObject([{ text: '{"added_tool":"extra"}' }]);
});
