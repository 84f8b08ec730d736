// Another MCP server, for this machine: npm run local
import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import * as z from "zod";

function tides() {
  const server = new McpServer({ name: "tides", title: "Tides", version: "1.0.0" });
  server.registerTool(
    "next_tide",
    {
      description: "Says when the next high tide is at a port.",
      inputSchema: { port: z.enum(["Dover", "Brest"]) },
      annotations: { readOnlyHint: true },
    },
    ({ port }) => {
      const [hours, first] = [12.42, { Dover: 3, Brest: 8 }[port]];
      const now = Date.now() / 3_600_000;
      const next = first + hours * Math.ceil((now - first) / hours);
      const text = `High tide at ${port}: ${new Date(next * 3_600_000).toISOString()}`;
      return { content: [{ type: "text", text }] };
    },
  );
  return server;
}

/** Answers by a server that is made for the request: it keeps nothing from one to the next. */
async function answer(request, response) {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  await tides().connect(transport);
  await transport.handleRequest(request, response);
}

createServer((request, response) => {
  void answer(request, response).catch((error) => response.destroy(error));
}).listen(8788, "localhost", () =>
  console.log("The other server answers at http://localhost:8788/mcp"),
);
