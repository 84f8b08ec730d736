/**
 * The shop with the official TypeScript SDK on Node: without sessions, on Express, in a cluster of four processes, as the
 * neutral benchmark has it.
 */
import cluster from "node:cluster";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { connectRedis } from "./redis.ts";
import { newServer } from "./sdk-server.ts";
import { redisAt, type Stores } from "./tools.ts";

const PROCESSES = 4;

/** What the SDK's Express app hands over: this project has no types of Express. */
type Handler = (
  request: IncomingMessage & { body?: unknown },
  response: ServerResponse,
) => void | Promise<void>;
interface App {
  post(path: string, handler: Handler): void;
  delete(path: string, handler: Handler): void;
  listen(port: number, host: string): void;
}

/** Without sessions the SDK wants a server and a transport for each request. */
async function answer(stores: Stores, ...[request, response]: Parameters<Handler>): Promise<void> {
  const server = newServer(stores);
  const transport = new StreamableHTTPServerTransport({});
  response.on("close", () => void server.close());
  await server.connect(transport as never);
  await transport.handleRequest(request, response, request.body);
}

async function work(): Promise<void> {
  const { API: api = "", REDIS: address = "", PORT: port } = process.env;
  const redis = address.startsWith("http")
    ? redisAt(address)
    : await connectRedis(Number(new URL(address).port));
  const app = createMcpExpressApp() as App;
  app.post("/mcp", (request, response) => answer({ api, redis }, request, response));
  app.delete("/mcp", (_request, response) => void response.writeHead(405).end());
  app.listen(Number(port), "127.0.0.1");
}

if (cluster.isPrimary) for (let nth = 0; nth < PROCESSES; nth++) cluster.fork();
else await work();
