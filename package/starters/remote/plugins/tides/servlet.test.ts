import { loadServlet, type Script } from "edge-servlets/testing";
import { expect, test } from "vitest";
import remote from "./remote.json";

const servlet = await loadServlet(import.meta.dirname);

test("lists what the server offered", async () => {
  const { tools } = await servlet.list();
  expect(tools).toHaveLength(remote.tools.length);
});

test("passes a call on", async () => {
  const methods: string[] = [];
  const script: Script = {
    fetch: async (request) => {
      const { id, method } = (await request.json()) as { id?: number; method: string };
      methods.push(method);
      if (id === undefined) return new Response(null, { status: 202 });
      const result = {
        resultType: "complete",
        protocolVersion: "2025-11-25",
        content: [{ type: "text", text: "ok" }],
      };
      const headers = {};
      return Response.json({ jsonrpc: "2.0", id, result }, { headers });
    },
  };
  const { result } = await servlet.callTool("tides-next_tide", { port: "Dover" }, script);
  expect(methods).toEqual(["tools/call"]);
  expect(result.content).toEqual([{ type: "text", text: "ok" }]);
});
