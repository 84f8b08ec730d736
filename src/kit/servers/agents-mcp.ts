/** `agents/mcp` and `agents/mcp/server` of Cloudflare. */
export { getMcpAuthContext, McpAgent } from "./agents.ts";
export { createMcpHandler } from "./handlers.ts";
export { createMcpHandler as experimental_createMcpHandler } from "./handlers.ts";
export { WorkerTransport } from "./transports.ts";
