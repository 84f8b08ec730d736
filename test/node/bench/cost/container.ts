/** What costs are measured beside: the official SDK's server on Node, as it is in a container that is always on. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { addTools } from "./tools.ts";

const [port, url] = process.argv.slice(2);
const sessions = new Map<string, StreamableHTTPServerTransport>();

async function begun(): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true,
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  const server = new McpServer({ name: "peer", version: "1.0.0" });
  let count = 0;
  addTools(server, { url: url!, next: () => ++count });
  await server.connect(transport);
  return transport;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url !== "/mcp") return void response.end();
  const known = sessions.get(String(request.headers["mcp-session-id"]));
  await (known ?? (await begun())).handleRequest(request, response);
}

createServer((request, response) => void answer(request, response)).listen(
  Number(port),
  "127.0.0.1",
);
