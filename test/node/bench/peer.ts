/** The measure of things: the official SDK's handler with the same tool in plain TypeScript. */
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: "peer", version: "1.0.0" });
  server.registerTool(
    "greet",
    {
      description: "Greets a person by name.",
      inputSchema: z.object({ name: z.string().describe("Who to greet") }),
    },
    ({ name }) => ({ content: [{ type: "text", text: `Hello, ${name}!` }] }),
  );
  return server;
});

export default { fetch: (request: Request) => handler.fetch(request) };
