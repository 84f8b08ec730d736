/** A server for the official SDK, as its author has it: its module scope reads the environment. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const greeting = process.env["ARRIVED_GREETING"];
/** The clock stands still where the image is made. */
const place = Date.now() === 0 ? "image" : "call";
let calls = 0;

const server = new McpServer({ name: "arrived", version: "1.0.0" });

server.registerTool(
  "arrived_greet",
  { description: "Greets somebody.", inputSchema: { name: z.string() } },
  async ({ name }) => ({
    content: [{ type: "text", text: `${greeting} ${name}, ${place}, call ${++calls}` }],
  }),
);

server.registerTool(
  "arrived_ask",
  { description: "Asks who is there.", inputSchema: {} },
  async () => {
    const answer = await server.server.elicitInput({
      message: "Who is there?",
      requestedSchema: { type: "object", properties: { name: { type: "string" } } },
    });
    const { name } = answer.content ?? {};
    return {
      content: [{ type: "text", text: `${greeting} ${String(name)}, ${answer.action}` }],
    };
  },
);

server.registerTool(
  "arrived_session",
  { description: "Names the session.", inputSchema: {} },
  async (_args, { sessionId }) => ({ content: [{ type: "text", text: String(sessionId) }] }),
);

async function main() {
  await server.connect(new StdioServerTransport());
}

void main();
