/** Starts the server in its container, and an HTTP bridge to Redis for its servlet. Both count as the server's. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { connectRedis } from "./redis.ts";
import type { Command } from "./tools.ts";

const {
  API_SERVICE_URL = "http://mcp-api-service:8100",
  REDIS_URL = "redis://mcp-redis:6379",
  SERVER_TYPE = "edge-servlets",
  PORT = "8099",
} = process.env;
/** Nobody outside of the container reaches it. */
const BRIDGE = 6390;

const { hostname, port } = new URL(REDIS_URL);
const redis = await connectRedis(Number(port || 6379), hostname);
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const commands = (await json(request)) as Command[];
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(await redis(commands)));
}
const failed = (response: ServerResponse) => (error: Error) =>
  void response.writeHead(502).end(error.message);
const bridge = createServer(
  (request, response) => void answer(request, response).catch(failed(response)),
);
await once(bridge.listen(BRIDGE, "127.0.0.1"), "listening");

const variables = {
  SHOP_API: API_SERVICE_URL,
  SHOP_REDIS: `http://127.0.0.1:${BRIDGE}`,
  SHOP_TYPE: SERVER_TYPE,
};
const options = "--worker worker --storage data --host 0.0.0.0 --private-network".split(" ");
const names = Object.keys(variables).flatMap((name) => ["--from-env", name]);
const server = spawn(process.execPath, ["start.js", ...options, "--port", PORT, ...names], {
  stdio: "inherit",
  env: { ...process.env, ...variables },
});
for (const signal of ["SIGTERM", "SIGINT"] as const)
  process.on(signal, () => void server.kill(signal));
server.on("exit", (code) => process.exit(code ?? 1));
