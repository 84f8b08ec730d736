import { expect, test } from "vitest";
import { loadServlet } from "../../../src/tools/testing/index.ts";

test("a tool has its view, its hints and who may call it", async () => {
  const servlet = await loadServlet("test/node/python/servlets/views");
  const { tools, resources } = await servlet.list();
  const [view] = resources;
  expect(view).toMatchObject({ title: "Board", mimeType: "text/html;profile=mcp-app" });
  expect(tools).toEqual([
    expect.objectContaining({
      name: "tasks",
      title: "Tasks",
      description: "Lists tasks.",
      annotations: { readOnlyHint: true },
      _meta: expect.objectContaining({ a: 1, ui: { resourceUri: view!.uri } }),
    }),
    expect.objectContaining({
      name: "move",
      execution: { taskSupport: "optional" },
      _meta: { ui: { visibility: ["app"] } },
    }),
  ]);
});
